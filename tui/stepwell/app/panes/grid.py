"""Rows of a statement as a table in cells: columns as wide as what they hold, as many as fit. Pure but for what it
remembers of widths."""

from collections.abc import Iterator
from typing import NamedTuple

from stepwell.app.present import Line, Role, Span, cells, clean_line, fit
from stepwell.core.past import Rows

NULL = "NULL"
SAMPLE = 1_000
"""Rows by which a column's width is chosen: half of them the last, where numbers that count up are the longest."""
WIDEST = 200
"""Cells that a column has at most."""
LEAST = 16
"""Cells that a column may be cut to where not all of them fit."""
MANY = 40
"""Up to so many columns share the room; of more, each has a third of it at most."""
GAP = "  "
MARK_CELLS = 2
"""Before the first column, for the mark of the row."""
_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision", "oid", "money")


class Place(NamedTuple):
    """A value, by row and column from 0."""

    row: int
    column: int


def is_number(type_: str) -> bool:
    """Whether values of a type, as `format_type` gives it, stand at the right of their column."""
    return type_.partition("(")[0] in _NUMBERS


def quoted(value: str | None) -> str:
    """A value, not yet cleaned. The text NULL stands in quotes, the value NULL without."""
    if value is None:
        return NULL
    return f"'{value}'" if value == NULL else value


def shown(value: str | None, width: int) -> str:
    """A value in at most `width` cells."""
    return clean_line(quoted(value), width)


class Grid:
    """Lays out rows. A column is measured when it first comes into view, since there may be a thousand of them."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._natural: dict[int, int] = {}
        self._capped: tuple[int, int] = (0, 0)
        """For a width of the screen, the cells that a column has at most."""

    def natural(self, column: int) -> int:
        """Cells that a column needs, within reason."""
        if column not in self._natural:
            rows = self.rows.rows
            if len(rows) > SAMPLE:
                rows = (*rows[: SAMPLE // 2], *rows[-(SAMPLE // 2) :])
            sizes = [cells(shown(row[column], WIDEST)) for row in rows]
            self._natural[column] = max(1, cells(clean_line(self.rows.columns[column], WIDEST)), *sizes)
        return self._natural[column]

    def fitting(self, left: int, width: int) -> int:
        """How many columns from `left` on stand in view whole, at least one."""
        room, number = width - MARK_CELLS, 0
        for column in range(left, len(self.rows.columns)):
            room -= self._width(column, width) + len(GAP) * (number > 0)
            if room < 0:
                break
            number += 1
        return max(1, number)

    def header(self, left: int, width: int) -> Line:
        """The names of the columns from `left` on."""
        names = self.rows.columns
        spans: list[Span] = [Span(" " * MARK_CELLS)]
        for column, size in self._in_view(left, width):
            text = clean_line(names[column], size)
            spans.append(Span(self._aligned(text, column, size) + GAP, Role.HEADING))
        return tuple(spans)

    def line(self, row: int, left: int, width: int, at: Place | None = None) -> Line:
        """One row; the value at `at` is marked where it is on this row."""
        here = at is not None and at.row == row
        spans: list[Span] = [Span("> " if here else "  ", Role.HEADING)]
        for column, size in self._in_view(left, width):
            value = self.rows.rows[row][column]
            text = self._aligned(shown(value, size), column, size)
            role = Role.CURSOR if here and at is not None and at.column == column else _role(value)
            spans += [Span(text, role), Span(GAP)]
        return tuple(spans)

    def text(self) -> Iterator[str]:
        """All of it, wide, for `$PAGER`."""
        columns = range(len(self.rows.columns))
        wide = sum(map(self.natural, columns)) + len(GAP) * len(columns) + MARK_CELLS
        self._capped = (wide, WIDEST)
        for line in (self.header(0, wide), *(self.line(row, 0, wide) for row in range(len(self.rows.rows)))):
            yield "".join(span.text for span in line)[MARK_CELLS:].rstrip()

    def _in_view(self, left: int, width: int) -> Iterator[tuple[int, int]]:
        """Each column with its cells: those that stand whole, and the one behind them cut."""
        room = width - MARK_CELLS
        for column in range(left, len(self.rows.columns)):
            if room < 1:
                return
            yield column, min(room, size := self._width(column, width))
            room -= size + len(GAP)

    def _width(self, column: int, width: int) -> int:
        return min(self.natural(column), self._cap(width))

    def _cap(self, width: int) -> int:
        """Cells that a column has at most: as many as let all of them stand side by side, if that is enough."""
        if self._capped[0] != width:
            self._capped = (width, self._shared(width - MARK_CELLS))
        return self._capped[1]

    def _shared(self, room: int) -> int:
        number = len(self.rows.columns)
        least = max(LEAST, room // 3)
        if number > MANY:
            return least
        sizes = sorted(self.natural(column) for column in range(number))
        room -= len(GAP) * (number - 1)
        for at, size in enumerate(sizes):
            share = room // (number - at)
            if size > share:  # this one and the wider ones share what is left
                return share if share >= LEAST else least
            room -= size
        return WIDEST

    def _aligned(self, text: str, column: int, size: int) -> str:
        if is_number(self.rows.types[column]) and cells(text) < size:
            return " " * (size - cells(text)) + text
        return fit(text, size)


def _role(value: str | None) -> Role:
    return Role.DIM if value is None else Role.PLAIN
