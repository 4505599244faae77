"""Where a text stands in lines that are laid out, also where it is wrapped over two or more of them. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from stepwell.app.present import Line, Role, Span, clean, line_cells
from stepwell.core.search import MARKS, folds_case, needle, readings

PADDING = 22
"""The most blanks between a name in a table and its value, which stands in the same column in each row."""

OLD = 200
"""The most characters of an old value that stands before a new one."""


class Part(NamedTuple):
    """Of an occurrence: characters `start` to `end` of line `row`."""

    row: int
    start: int
    end: int


class _Piece(NamedTuple):
    """What a line contributes: its text from character `offset` on, which is behind its indentation."""

    row: int
    offset: int
    text: str


def occurrences(lines: Iterable[Line], mark: str, width: int) -> Iterator[tuple[Part, ...]]:
    """For each line the parts of the occurrences that end in it, in order; those begun above it as well.

    Case is folded as by a search. `width`: cells of the document, to tell which lines go on in the next.
    """
    pattern, longest = _pattern(mark)
    above: list[_Piece] = []
    for row, line in enumerate(lines):
        piece = _piece(row, line)
        before = "".join([each.text for each in above])
        joined = before + piece.text
        pieces = [*above, piece]
        yield tuple(
            part
            for match in pattern.finditer(joined)
            if match.end() > len(before)
            for part in _parts(pieces, *match.span())
        )
        above = _kept(pieces, longest) if _goes_on(piece.text, line, width) else []


@lru_cache(maxsize=8)
def _pattern(mark: str) -> tuple[re.Pattern[str], int]:
    """What finds a text as it reads and as JSON spells it, also as a part of JSON, and the most characters of that."""
    spelled = dict.fromkeys((clean(mark), clean(needle(mark))))
    read = [
        [_token_pattern(token, after) for token, after in pairwise((*each, ""))] for each in readings(mark)
    ]
    pattern = "|".join([*map(re.escape, spelled), *("".join(each) for each in read)])
    longest = max(map(len, spelled)) + (PADDING + OLD + len(mark) if read else 0)
    return re.compile(pattern, re.IGNORECASE if folds_case(mark) else 0), longest


def _token_pattern(token: str, after: str) -> str:
    """A key stands as in JSON, as in a call or as in a table, also of changes; a string also as it reads."""
    if token == ":":
        return ""  # the key before has it
    if token in MARKS:
        return re.escape(token) + " ?" * (token == "," and after != "")
    written = "|".join(map(re.escape, dict.fromkeys((clean(token), clean(_read(token))))))
    if after != ":":
        return f"(?:{written})"
    name = re.escape(clean(_read(token)).removeprefix('"').removesuffix('"'))
    bare = rf"|(?<!\w){name}(?:=| {{2,{PADDING}}}(?:.{{1,{OLD}}}? -> )?)" if token.startswith('"') else ""
    return f"(?:(?:{written}) ?: ?{bare})"


def _read(token: str) -> str:
    """A string, or a part of one, with what is escaped in it as it reads."""
    start, end = token.startswith('"'), len(token) > 1 and token.endswith('"')
    try:
        return '"' * start + str(json.loads(f'"{token[start : len(token) - end]}"', strict=False)) + '"' * end
    except ValueError:
        return token


def _piece(row: int, line: Line) -> _Piece:
    indented = len(line) > 1 and not line[0].text.strip(" ")
    text = "".join([span.text for span in line[indented:]])
    return _Piece(row, len(line[0].text) if indented else 0, text)


def _goes_on(text: str, line: Line, width: int) -> bool:
    """Whether a line may have been wrapped: behind a blank, or where no more fitted."""
    return text.endswith(" ") or line_cells(line) >= width - 1


def _kept(pieces: Sequence[_Piece], longest: int) -> list[_Piece]:
    """As many of the last pieces as an occurrence may reach back."""
    kept: list[_Piece] = []
    for piece in reversed(pieces):
        if sum(len(each.text) for each in kept) >= longest - 1:
            break
        kept.insert(0, piece)
    return kept


def _parts(pieces: Sequence[_Piece], start: int, end: int) -> Iterator[Part]:
    """What of the pieces' joined text from `start` to `end` lies in each of them."""
    begin = 0
    for piece in pieces:
        left, right = max(start - begin, 0), min(end - begin, len(piece.text))
        if left < right:
            yield Part(piece.row, piece.offset + left, piece.offset + right)
        begin += len(piece.text)


def marked(lines: Sequence[Line], mark: str, width: int) -> list[Line]:
    """The lines, every occurrence of `mark` shown in reverse."""
    if not mark:
        return list(lines)
    shown = list(lines)
    by_row: dict[int, list[Part]] = {}
    for parts in occurrences(lines, mark, width):
        for part in parts:
            by_row.setdefault(part.row, []).append(part)
    for row, parts_of_row in by_row.items():
        shown[row] = _split(lines[row], parts_of_row)
    return shown


def _split(line: Line, parts: Sequence[Part]) -> Line:
    """The spans of a line, cut at the ends of the parts; what lies in a part is marked."""
    spans: list[Span] = []
    begin = 0
    for text, role in line:
        at = 0
        for _, start, end in parts:
            left, right = max(start - begin, at), min(end - begin, len(text))
            if left < right:
                spans += [Span(text[at:left], role)] * (left > at) + [Span(text[left:right], Role.CURSOR)]
                at = right
        if at < len(text):
            spans.append(Span(text[at:], role))
        begin += len(text)
    return tuple(spans)
