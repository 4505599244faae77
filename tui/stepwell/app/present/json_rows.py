"""JSON text laid out in few rows, straight from the text: no value is built that is not looked at.

What fits on a row stands on a row. What does not is broken after its opening bracket, which shares the row of
the first child; closing brackets share the row of the last:

    [{"id": 8102, "item": "lamp"},
     {"id": 8177, "item": "desk"}]

So nearly every row is a slice of the text, numbers keep their spelling, and a list of 200,000 rows costs what
its first screen costs. A string that is too long for its row is shown as it reads, not as JSON spells it.
"""

import json
import re
from collections.abc import Generator, Iterator
from functools import partial

from stepwell.app.present.code import text_rows
from stepwell.app.present.documents import Row, wrapped
from stepwell.app.present.spans import Line, Role, Span, indented, line_cells
from stepwell.app.present.text import cells, clean, wrap_range

_STRING_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRING = re.compile(_STRING_TEXT, re.DOTALL)
_ATOM = re.compile(r'[^\s"\[\]{},:]++')
_ATOMS = re.compile(r'(?:[^\s"\[\]{},:]++,\s*+)++')
# An escaped newline with more of its string behind it.
_INNER_NEWLINE = re.compile(r'(?<!\\)(?:\\\\)*\\n(?!")')
_BLANK = re.compile(r"\s*+")
_KEY = re.compile(rf"{_STRING_TEXT}\s*+:\s*+", re.DOTALL)
_FLAT = re.compile(rf'[\[{{](?:[^"\[\]{{}}]++|{_STRING_TEXT})*+[\]}}]', re.DOTALL)
_EMPTY = re.compile(r"\[\s*+\]|\{\s*+\}")
_TAIL = re.compile(r"(?:\s*+[\]}])*+(?:\s*+,)?")
_TOKEN = re.compile(
    rf'(?P<string>{_STRING_TEXT})(?P<key>(?=\s*+:))?|(?P<mark>[\[\]{{}},:\s]++)|(?P<atom>[^\s"\[\]{{}},:]++)',
    re.DOTALL,
)
_WORDS = frozenset({"true", "false", "null", "NaN", "Infinity", "-Infinity"})
_DECODER = json.JSONDecoder(strict=False)


def json_rows(text: str, width: int, indent: int = 0) -> Iterator[Row]:
    """Rows of a JSON text. Where it turns out not to be JSON, the rest is shown as it is."""
    return _Layout(text, max(width, 8), indent).rows()


def list_rows(elements: Iterator[str], width: int) -> Iterator[Row]:
    """Rows of a list of which the elements come one by one, each with the comma or bracket behind it."""
    opening = "["
    for element in elements:
        yield from json_rows(opening + element, width, 0 if opening else 1)
        opening = ""


def inline(text: str) -> Line:
    """A short JSON text on one line, with roles."""
    shown = clean(text)
    spans: list[Span] = []
    end = 0
    for match in _TOKEN.finditer(shown):
        if match.start() > end:
            spans.append(Span(shown[end : match.start()]))
        spans.append(Span(match.group(), _role(match)))
        end = match.end()
    if end < len(shown):
        spans.append(Span(shown[end:]))
    return tuple(spans)


def _role(match: re.Match[str]) -> Role:
    if match["mark"] is not None:
        return Role.PUNCTUATION
    if match["string"] is not None:
        return Role.STRING if match["key"] is None else Role.KEY
    return Role.KEYWORD if match["atom"] in _WORDS else Role.NUMBER


def _paint(text: str, start: int, end: int, column: int) -> Line:
    return indented(column, *inline(text[start:end]))


class _Layout:
    """Walks the text once, front to back. An item is an element, or a key with its value."""

    def __init__(self, text: str, width: int, indent: int) -> None:
        self.text = text
        self.width = width
        self.indent = indent
        self.open: list[tuple[bool, int]] = []
        """Of every open container: whether it is an object, and the column of its items."""

    def rows(self) -> Iterator[Row]:
        position = self._skip(0)
        while position < len(self.text):
            end = yield from self._item(position)
            position = self._skip(end)
            if not self.open and position < len(self.text):
                position = yield from self._rest(position, self.indent)

    def _skip(self, position: int) -> int:
        match = _BLANK.match(self.text, position)
        return match.end() if match else position

    def _column(self) -> int:
        return self.open[-1][1] if self.open else self.indent

    def _value(self, start: int) -> int:
        """Where the value of the item at `start` begins: behind its key, if it has one."""
        key = _KEY.match(self.text, start) if self.open and self.open[-1][0] else None
        return key.end() if key else start

    def _item(self, start: int) -> Generator[Row, None, int]:
        """Rows of one item, or of its beginning; returns where to go on."""
        column = self._column()
        item, value = start, self._value(start)
        while True:
            short = self._short(start, value, self.width - column)
            if short:
                yield partial(_paint, self.text, start, short[1], column)
                return self._close(*short)
            inner = self._skip(value + 1)
            if not self._opens(value) or inner >= len(self.text):
                return (yield from self._long(start, value, column))
            if value > item or value - start >= self.width // 3:
                yield from self._slice(start, value + 1, column)
                self._push(value, self._column() + (2 if value > item else 1))
                return inner
            self._push(value, column + inner - start)
            item, value = inner, self._value(inner)

    def _slice(self, start: int, end: int, column: int) -> Iterator[Row]:
        """A part of the text that should fit a row, and is wrapped if it does not."""
        room = self.width - column
        if end - start <= room and cells(clean(self.text[start:end])) <= room:
            yield partial(_paint, self.text, start, end, column)
            return
        for piece in wrap_range(self.text, start, end, room):
            yield indented(column, Span(piece))

    def _opens(self, value: int) -> bool:
        return self.text[value : value + 1] in ("[", "{") and not _EMPTY.match(self.text, value)

    def _push(self, value: int, column: int) -> None:
        self.open.append((self.text[value] == "{", min(column, self.indent + self.width // 2)))

    def _close(self, end: int, tail_end: int) -> int:
        """Forget the containers that the brackets behind a value at its row's end have closed."""
        tail = self.text[end:tail_end]
        closed = tail.count("]") + tail.count("}")
        if closed:
            del self.open[max(0, len(self.open) - closed) :]
        return tail_end

    def _short(self, start: int, value: int, room: int) -> tuple[int, int] | None:
        """Where the value ends, and where the brackets and comma behind it do, if all of it fits the row."""
        end = _value_end(self.text, value, value + 2 * room + 16)
        if end is None:
            return None
        tail = self._tail_end(end)
        if tail - start > 4 * room:
            return None
        row = self.text[start:tail]
        if cells(clean(row)) > room or ("\\n" in row and _INNER_NEWLINE.search(self.text, start, tail)):
            return None
        return self._filled(start, value, room) or (end, tail)

    def _filled(self, start: int, value: int, room: int) -> tuple[int, int] | None:
        """The same for a row of as many numbers and words of a list as fit."""
        if not self.open or self.open[-1][0]:
            return None
        match = _ATOMS.match(self.text, value, start + room)
        if not match:
            return None
        last = _ATOM.match(self.text, match.end())
        if last and (tail := self._tail_end(last.end())) - start <= room and self.text[tail - 1] != ",":
            return last.end(), tail
        end = value + len(match.group().rstrip())
        return end, end

    def _tail_end(self, end: int) -> int:
        match = _TAIL.match(self.text, end)
        return match.end() if match else end

    def _long(self, start: int, value: int, column: int) -> Generator[Row, None, int]:
        """Rows of an item whose value is no container and does not fit a row."""
        if self.text[value : value + 1] == '"':
            try:
                decoded, end = _DECODER.raw_decode(self.text, value)
            except ValueError:
                return (yield from self._rest(start, column))
            tail = self._tail_end(end)
            yield from self._string(start, value, decoded, self.text[end:tail], column)
            return self._close(end, tail)
        match = _EMPTY.match(self.text, value) or _ATOM.match(self.text, value)
        if not match:
            return (yield from self._rest(start, column))
        tail = self._tail_end(match.end())
        yield from self._slice(start, tail, column)
        return self._close(match.end(), tail)

    def _rest(self, start: int, column: int) -> Generator[Row, None, int]:
        """The remainder of what is not JSON."""
        yield from wrapped(self.text[start:], self.width, indent=column)
        return len(self.text)

    def _string(self, start: int, value: int, decoded: str, tail: str, column: int) -> Iterator[Row]:
        if not self.open and start == value and "\n" in decoded:
            yield from text_rows(decoded, self.width, indent=column)
            return
        head, inner = self.text[start:value], self._column() + 2
        if value - start > self.width or cells(clean(head)) > (self.width - column) // 2:
            for piece in wrap_range(self.text, start, value, self.width - column):
                yield indented(column, Span(piece, Role.KEY))
            head, column = "", inner
        before = inline(head)
        if "\n" in decoded:
            yield indented(column, *before, Span('"""', Role.DIM))
            yield from text_rows(decoded, self.width, Role.STRING, inner)
            yield indented(inner, Span('"""' + clean(tail), Role.DIM))
            return
        whole = f'"{decoded}"{tail}'
        first = self.width - column - line_cells(before)
        for piece in wrap_range(whole, 0, len(whole), self.width - inner, first):
            yield indented(column, *before, Span(piece, Role.STRING))
            before, column = (), inner


def _value_end(text: str, value: int, limit: int) -> int | None:
    """Where the value at `value` ends, if it ends before `limit`."""
    limit = min(limit, len(text))
    if text[value : value + 1] not in ("[", "{"):
        match = _STRING.match(text, value, limit) or _ATOM.match(text, value, limit)
        return match.end() if match and not match.end() == limit < len(text) else None
    if flat := _FLAT.match(text, value, limit):
        return flat.end()
    position, depth = value, 0
    while position < limit:
        char = text[position]
        if char in "[{":
            depth += 1
            position += 1
        elif char in "]},:":
            depth -= char in "]}"
            position += 1
        else:
            match = _STRING.match(text, position, limit) or _ATOM.match(text, position, limit)
            if not match or match.end() == limit < len(text):
                return None
            position = match.end()
        if not depth:
            return position
        blank = _BLANK.match(text, position, limit)
        position = blank.end() if blank else position
    return None
