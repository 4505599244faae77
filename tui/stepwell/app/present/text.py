"""Recorded text made safe for a terminal, and measured in its cells.

`clean` is the only door. What it does with text beyond plain letters:

- Controls (C0, C1, DEL, ESC, NUL, CR, BEL), bidirectional marks, embeddings, overrides and isolates,
  zero-width and other format characters, tags, variation selectors, line and paragraph separators, odd
  spaces, lone surrogates, private and unassigned code points are spelled out in ASCII: `\\x1b`, `\\u202e`.
- A tab becomes four spaces.
- A combining mark stays where it sits on a character, up to three in a row; others are spelled out.
- Regional indicators and skin tones are spelled out: terminals disagree on how wide such pairs are. Joined
  emoji fall apart, since the joiner is a format character.
- Hebrew, Arabic and other right-to-left letters are kept in the order in which they were recorded. Without
  bidirectional controls they cannot carry the text of another cell along; a terminal that applies the
  bidirectional algorithm by itself reorders them within their own run only.

Widths are those of `rich.cells`, by which Textual lays out too. Because nothing that joins characters gets
through, the width of a cleaned text is the sum of the widths of its characters.
"""

import re
import unicodedata
from collections.abc import Iterator

from rich.cells import cell_len, get_character_cell_size

ELLIPSIS = "…"
TAB = "    "
MARKS = 3
"""So many combining marks in a row are kept: enough for living scripts, too few to climb over other rows."""
CHUNK = 4096
"""Characters that are cleaned at a time."""

_BEYOND_ASCII = re.compile(r"[^ -~]+")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": TAB, "\u3000": "\u3000"}
# Printable by category, yet invisible, or of no agreed width.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d173-\U0001d17a\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)


def escape(char: str) -> str:
    """One character spelled out in ASCII, as Python would in a literal."""
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _Kinds(dict[str, str]):
    """What becomes of a character: itself, another text, or "" for a mark, which its neighbours decide."""

    def __missing__(self, char: str) -> str:
        self[char] = kind = _SHORT.get(char) or _kind(char)
        return kind


def _kind(char: str) -> str:
    if not char.isprintable() or _UNSEEN.match(char):
        return escape(char)
    is_mark = unicodedata.category(char) in ("Mn", "Me") or get_character_cell_size(char) == 0
    return "" if is_mark else char


_KINDS = _Kinds()


def clean(text: str) -> str:
    """One line of text that no terminal acts upon. A newline is shown as `\\n`."""
    if text.isascii() and text.isprintable():
        return text
    return _BEYOND_ASCII.sub(_tame, text)


def _tame(match: re.Match[str]) -> str:
    # Left of such a run there is a plain ASCII character, or the beginning of the text.
    out: list[str] = []
    room = MARKS if match.start() else 0
    for char in match.group():
        kind = _KINDS[char]
        if kind:
            out.append(kind)
            room = MARKS if kind == char else 0
        elif room:
            out.append(char)
            room -= 1
        else:
            out.append(escape(char))
    return "".join(out)


def clean_line(text: str, width: int | None = None) -> str:
    """`clean`, cut to `width` cells where that is given; cheap however long `text` is."""
    if width is None:
        return clean(text)
    # A cell can hold a character and its marks, and one more shows that something was cut.
    shown = clean(text[: (width + 1) * (MARKS + 1)])
    return shown if cells(shown) <= width else fit(shown, width)


def clean_lines(text: str) -> Iterator[str]:
    """`text` split at its newlines, each line cleaned."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield clean(text[start:end])
        start = end + 1
    yield clean(text[start:])


def cells(text: str) -> int:
    """How many cells a cleaned text takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """A cleaned text in exactly `width` cells: padded with spaces, or cut and ended with `ellipsis`."""
    size = cells(text)
    if size <= width:
        return text + " " * (width - size)
    room = width - cells(ellipsis)
    if room < 0:
        room, ellipsis = max(width, 0), ""
    kept = text[: reach(text, 0, room)]
    return kept + ellipsis + " " * (room - cells(kept))


def reach(text: str, start: int, width: int) -> int:
    """The index up to which `text` from `start` on fits into `width` cells."""
    if text.isascii():
        return min(len(text), start + max(0, width))
    for index in range(start, len(text)):
        width -= get_character_cell_size(text[index])
        if width < 0:
            return index
    return len(text)


def in_as_many_cells(problem: UnicodeError) -> tuple[str, int]:
    """For `codecs.register_error`: question marks for what an encoding lacks, a full stop for the ellipsis."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return "".join(["." if char == ELLIPSIS else "?" * cells(char) for char in lacking]), problem.end


def wrap(text: str, width: int, first: int | None = None) -> Iterator[str]:
    """A cleaned text in pieces of at most `width` cells (the first one `first`), which joined give it back.

    Breaks after a space where there is one; that space may stand beyond the width, where it is not shown.
    """
    start, room = 0, max(1, width if first is None else first)
    while (stop := reach(text, start, room)) < len(text):
        end = _break(text, start, max(stop, start + 1))
        yield text[start:end]
        start, room = end, max(1, width)
    if start < len(text) or not text:
        yield text[start:]


def _break(text: str, start: int, stop: int) -> int:
    if text[stop : stop + 1] == " ":
        return stop + 1
    space = text.rfind(" ", start, stop)
    return space + 1 if space > start and not text[start:space].isspace() else stop


def wrap_range(text: str, start: int, end: int, width: int, first: int | None = None) -> Iterator[str]:
    """Recorded `text[start:end]`, cleaned and wrapped little by little: the first piece costs one chunk."""
    carry = ""
    while start < end:
        stop = min(end, start + CHUNK)
        *pieces, carry = wrap(carry + clean(text[start:stop]), width, first)
        yield from pieces
        first = None if pieces else first
        start = stop
    yield carry
