"""The document of a text of any length: what is kept of its layout is a number for every few thousand characters."""

from array import array
from bisect import bisect_right
from functools import lru_cache

from stepwell.app.present.spans import Line, Span
from stepwell.app.present.text import cells, clean, reach

BLOCK_ROWS = 64
"""Rows of a block of plain letters."""


class Blocks:
    """Cut into blocks of so many characters, and these into rows that are full: words are broken anywhere."""

    start_line = 0

    def __init__(self, text: str, width: int) -> None:
        self._text = text
        self._width = max(1, width)
        self._size = self._width * BLOCK_ROWS
        self._ends = array("q")
        """How many rows there are up to the end of each block."""
        self._recent = lru_cache(maxsize=8)(self._cut)

    @property
    def known_lines(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def complete(self) -> bool:
        return bool(self._ends) and len(self._ends) * self._size >= len(self._text)

    def line(self, index: int) -> Line:
        if index >= self.known_lines:
            self.advance(index + 1 - self.known_lines)
        if not 0 <= index < self.known_lines:
            raise IndexError(index)
        block = bisect_right(self._ends, index)
        return (Span(self._recent(block)[index - self._first(block)]),)

    def advance(self, budget: int) -> bool:
        """A block of plain letters, of which nothing has to be looked at, counts as one line."""
        spent = 0
        while spent < budget and not self.complete:
            block = len(self._ends)
            part = self._part(block)
            known = self.known_lines
            if part.isascii() and part.isprintable():
                self._ends.append(known + max(1, -(-len(part) // self._width)))
                spent += 1
            else:
                self._ends.append(known + len(self._cut(block)))
                spent += self._ends[-1] - known
        return not self.complete

    def row_of(self, position: int) -> int | None:
        """The row in which the character at `position` is; None where it is not laid out so far."""
        block, inside = divmod(position, self._size)
        if block >= len(self._ends):
            return None
        before = len(clean(self._part(block)[:inside]))
        rows = self._recent(block)
        row = 0
        while row < len(rows) - 1 and before >= len(rows[row]):
            before -= len(rows[row])
            row += 1
        return self._first(block) + row

    def _first(self, block: int) -> int:
        return self._ends[block - 1] if block else 0

    def _part(self, block: int) -> str:
        return self._text[block * self._size : (block + 1) * self._size]

    def _cut(self, block: int) -> tuple[str, ...]:
        text, start = clean(self._part(block)), 0
        if cells(text) == len(text):
            return tuple(text[at : at + self._width] for at in range(0, max(1, len(text)), self._width))
        rows: list[str] = []
        while start < len(text):
            end = max(reach(text, start, self._width), start + 1)
            rows.append(text[start:end])
            start = end
        return tuple(rows) or ("",)
