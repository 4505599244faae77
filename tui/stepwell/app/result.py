"""The table of a result as it is looked at: which value is chosen, and what of it is in view."""

from collections.abc import Iterator

from stepwell.app.panes.grid import Grid, Place
from stepwell.app.present import Line, Role, Span, count, fit
from stepwell.app.present.csv_text import csv_line
from stepwell.core.past import Rows

HEADER_ROWS = 1


class Result:
    """A table under a cursor. `move` takes names of movements; `lines` brings the cursor into view."""

    def __init__(self, rows: Rows, statement: str = "") -> None:
        self.rows = rows
        self.statement = statement
        self.grid = Grid(rows)
        self.at = Place(0, 0)
        self.top = self.left = 0
        self.page = 1
        """Rows that were in view last."""
        self._whole = 1
        """Columns that were in view whole."""

    @property
    def is_table(self) -> bool:
        """Whether there is a value to choose."""
        return bool(self.rows.columns) and bool(self.rows.rows)

    @property
    def value(self) -> str | None:
        """The chosen one."""
        return self.rows.rows[self.at.row][self.at.column]

    def move(self, how: str) -> None:
        """`down`, `up`, `page_down`, `page_up`, `top`, `bottom`, `left`, `right`, `first`, `last`."""
        row, column = self.at
        rows = {"down": row + 1, "up": row - 1, "page_down": row + self.page, "page_up": row - self.page}
        rows |= {"top": 0, "bottom": len(self.rows.rows) - 1}
        columns = {"left": column - 1, "right": column + 1, "first": 0, "last": len(self.rows.columns) - 1}
        row = min(max(rows.get(how, row), 0), max(0, len(self.rows.rows) - 1))
        column = min(max(columns.get(how, column), 0), max(0, len(self.rows.columns) - 1))
        self.at = Place(row, column)
        if how == "page_down":
            self.top = row
        elif how == "page_up":
            self.top = max(0, row - self.page + 1)

    def lines(self, width: int, height: int, *, chosen: bool) -> list[Line]:
        """The header and as many rows as fit. `chosen`: the cursor is shown."""
        if not self.rows.columns:
            number = len(self.rows.rows)
            return [
                (
                    Span(
                        fit(f"{count(number)} row{'' if number == 1 else 's'} without a column", width),
                        Role.DIM,
                    ),
                )
            ]
        self._bring_into_view(width, max(1, height - HEADER_ROWS))
        at = self.at if chosen and self.is_table else None
        last = min(self.top + self.page, len(self.rows.rows))
        body = [self.grid.line(row, self.left, width, at) for row in range(self.top, last)]
        return [self.grid.header(self.left, width), *body]

    def _bring_into_view(self, width: int, page: int) -> None:
        self.page = page
        row, column = self.at
        self.top = min(max(self.top, row - page + 1), row, max(0, len(self.rows.rows) - page))
        self.left = min(self.left, column)
        while self.left < column and column >= self.left + self.grid.fitting(self.left, width):
            self.left += 1
        self._whole = self.grid.fitting(self.left, width)

    def told(self) -> str:
        """`12 rows`, or that there are more than were asked for."""
        number = len(self.rows.rows)
        words = f"{count(number)} row{'' if number == 1 else 's'}"
        return f"{words}, more: LIMIT or \\more" if self.rows.more else words

    def where(self) -> str:
        """Which part is in view, as `columns 3-7/12  1-18/500`."""
        parts = []
        if len(self.rows.columns) > self._whole:
            columns = f"{count(self.left + 1)}-{count(self.left + self._whole)}"
            parts.append(f"columns {columns}/{count(len(self.rows.columns))}")
        number = len(self.rows.rows)
        if self.is_table and number > self.page:
            parts.append(f"{count(self.top + 1)}-{count(min(self.top + self.page, number))}/{count(number)}")
        return "  ".join(parts) or "all"

    def csv(self) -> Iterator[str]:
        """Line by line, as `COPY … CSV HEADER` writes it."""
        for row in (self.rows.columns, *self.rows.rows):
            yield csv_line(row) + "\n"

    @property
    def characters(self) -> int:
        """Of all values."""
        return sum(len(value or "") for row in self.rows.rows for value in row)
