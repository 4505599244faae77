"""The part of a table that is in memory while one pages through it: where the cursor is, and what to read next."""

from dataclasses import replace

from stepwell.app.panes.grid import Place
from stepwell.app.result import Result
from stepwell.core.pages import Page, Start
from stepwell.core.past import Table

KEPT = 1_000
"""Rows in memory; those farthest from the cursor go first."""
AHEAD = 2
"""So many screens before the end of what is in memory, more is read."""


class Browsed:
    """Rows that follow one another, of a table that may have any number of them. Paged by keys, never by counting."""

    def __init__(self, page: Page, start: Start) -> None:
        self.page = page
        self.result = Result(page.rows)
        if start.backwards:
            self.at_start, self.at_end = not page.rows.more, not start.key
            self.result.move("bottom")
        else:
            self.at_start, self.at_end = not start.key, not page.rows.more

    @property
    def table(self) -> Table:
        return self.page.table

    @property
    def key(self) -> tuple[str | None, ...] | None:
        """Of the row at the cursor."""
        return self.page.key(self.result.at.row) if self.page.rows.rows else None

    def move(self, how: str) -> Start | None:
        """Move the cursor within what is there; from where to read anew where that is not there."""
        if (how == "top" and not self.at_start) or (how == "bottom" and not self.at_end):
            return Start(backwards=how == "bottom")
        self.result.move(how)
        return None

    def wanted(self) -> Start | None:
        """What is to be read before the cursor gets there."""
        rows, row, ahead = self.page.rows.rows, self.result.at.row, AHEAD * self.result.page
        if not rows:
            return None
        if not self.at_end and row + ahead >= len(rows):
            return Start(self.page.key(len(rows) - 1))
        if not self.at_start and row - ahead < 0:
            return Start(self.page.key(0), backwards=True)
        return None

    def extend(self, page: Page, start: Start) -> None:
        """Put what `wanted` asked for where it belongs."""
        old, new, at, top = self.page.rows.rows, page.rows.rows, self.result.at, self.result.top
        if start.backwards:
            self.at_start = not page.rows.more
            self.at_end = self.at_end and len(old) + len(new) <= KEPT
            rows, shift = (*new, *old)[:KEPT], len(new)
        else:
            self.at_end = not page.rows.more
            over = max(0, len(old) + len(new) - KEPT)
            self.at_start = self.at_start and not over
            rows, shift = (*old, *new)[over:], -over
        self.page = replace(page, rows=replace(page.rows, rows=rows))
        left, self.result = self.result.left, Result(self.page.rows)
        self.result.at, self.result.top, self.result.left = (
            Place(at.row + shift, at.column),
            top + shift,
            left,
        )
