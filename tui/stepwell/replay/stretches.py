"""What the moves through a run have folded, kept as long as its rows are the same."""

from dataclasses import replace
from itertools import takewhile
from uuid import UUID

import psycopg

from stepwell.core.stretches import BEGINNING, FROM_THE_BEGINNING, Mark, Start, Stretch, start
from stepwell.store.branches import Whereabouts
from stepwell.store.stretches import Held, fold_stretches, read_changes, read_shape
from stepwell.store.worlds import Bounds, Sight

STRETCH = 1000
"""Rows: folding so many takes about a millisecond."""
LEAST = 4000
"""Steps: to look whether the rows of fewer are the same takes as long as to fold them."""


class Stretches:
    """Those of one run, from its beginning on. Filled, and checked, within the transactions of moves.

    A transaction with the snapshot of another one sees the same rows. In any other the rows are looked at: each was
    written by a transaction that was over when they were folded, and there are as many as then, so none has been
    changed, added or deleted. Where that does not hold, or cannot be told, they are folded again.
    """

    def __init__(self, run_id: UUID, *, every: int = STRETCH, least: int = LEAST) -> None:
        """`every`: rows of a stretch. Of fewer steps than `least` none is kept."""
        self._steps = Whereabouts(run_id)
        self._every, self._least = every, least
        self._session: str | None = None
        self._shape: str | None = None
        self._tellable = True
        self._stretches: list[Stretch] = []
        self._start: tuple[int, Start] = (0, FROM_THE_BEGINNING)
        """Of so many stretches."""

    def start(self, connection: psycopg.Connection, sight: Sight, bounds: Bounds, here: int) -> Start:
        """Where the fold of a world of step `here` begins. Raises what psycopg raises."""
        through = min(bounds.number, here - 1, bounds.number if bounds.order is None else bounds.order)
        if sight.session is None or through < self._least:
            return FROM_THE_BEGINNING
        if sight.session != self._session:
            # Of another server, perhaps, where the same numbers mean other transactions.
            self._forget()
            self._session, self._tellable = sight.session, True
        mark = Mark(sight.snapshot, sight.bound)
        self._check(connection, mark, through)
        kept = len(self._before(through))
        if through - (self._stretches[-1].last if self._stretches else 0) >= self._every and self._tellable:
            self._fold(connection, mark, through)
        found = self._start_of(len(self._before(through)))
        last = self._stretches[kept - 1].last if 0 < kept <= len(self._stretches) else BEGINNING
        return replace(found, kept=min(last, found.after) if min(last, found.after) > BEGINNING else None)

    def _before(self, through: int) -> list[Stretch]:
        return list(takewhile(lambda stretch: stretch.last <= through, self._stretches))

    def _check(self, connection: psycopg.Connection, mark: Mark, through: int) -> None:
        """Keep of the stretches up to a number those that are as they were, as far as the first that is not."""
        wanted = self._before(through)
        if all(stretch.mark.snapshot == mark.snapshot for stretch in wanted):
            return
        firm = list(takewhile(_is_firm, wanted))
        same: list[Stretch] = []
        if firm and read_shape(connection) == self._shape:
            held = read_changes(connection, self._steps.of(connection), firm)
            same = [stretch for stretch, _ in takewhile(_is_same, zip(firm, held, strict=True))]
        self._stretches[: len(same)] = [replace(stretch, mark=mark) for stretch in same]
        if len(same) < len(wanted):
            self._cut(len(same))

    def _fold(self, connection: psycopg.Connection, mark: Mark, through: int) -> None:
        shape = read_shape(connection)
        if shape != self._shape:
            self._forget()
        self._shape, self._tellable = shape, shape is not None
        if self._tellable:
            after = self._stretches[-1].last if self._stretches else BEGINNING
            self._stretches += fold_stretches(
                connection, self._steps.of(connection), after, through, self._every, mark
            )

    def _start_of(self, count: int) -> Start:
        if self._start[0] != count:
            self._start = (count, start(self._stretches[:count]))
        return self._start[1]

    def _cut(self, count: int) -> None:
        del self._stretches[count:]
        self._start = (0, FROM_THE_BEGINNING)

    def _forget(self) -> None:
        self._cut(0)
        self._shape = None


def _is_firm(stretch: Stretch) -> bool:
    """Whether a change would be told from what was there before."""
    return stretch.newest < stretch.mark.bound


def _is_same(pair: tuple[Stretch, Held]) -> bool:
    stretch, held = pair
    return stretch.rows == held.rows and held.newest < stretch.mark.bound
