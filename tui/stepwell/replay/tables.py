"""Watched tables at a step: what changed in them meanwhile, and their rows as they were."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from uuid import UUID

import psycopg

from stepwell.core.pages import Listing, Page, Start, Story, Touch
from stepwell.core.past import Certainty, Instant, Origin, RowChange, Rows, StepChanges, Table, TableChanges
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError
from stepwell.replay.reports import replay_of
from stepwell.store.asof import Standing, Survey, judge_again, survey, turn
from stepwell.store.branches import Whereabouts
from stepwell.store.changes import read_changes
from stepwell.store.connect import Target
from stepwell.store.instants import Instants, read_instants
from stepwell.store.pages import Layout, read_layout, read_page, read_row
from stepwell.store.reader import Reader
from stepwell.store.texts import Texts, longest
from stepwell.store.touches import Written, read_touches

MOST_TOUCHES = 20
"""Writes of one row that are told of; each costs a look at the row as it was then."""


def changes_of(
    reader: Reader, steps: Whereabouts, number: int, clock: Callable[[], float], limit: int
) -> StepChanges:
    """What changed in the watched tables during a step, in one snapshot that is rolled back.

    Raises NotFoundError for no such step, and DatabaseError.
    """
    started = clock()
    (step, tables), report = reader.read(lambda c: _changes(c, steps.of(c), number, limit))
    after = step.after if step.finished else None
    return StepChanges(number, tables, step.before, after, replay_of(report, clock() - started))


def _changes(
    connection: psycopg.Connection, run_id: UUID, number: int, limit: int
) -> tuple[Instants, tuple[TableChanges, ...]]:
    step = read_instants(connection, run_id, number)
    after = step.after if step.finished else None
    return step, read_changes(connection, step.before, after, step.origin, limit=limit)


class Tables:
    """Pages through the watched tables as of one step and moment, each page in a snapshot that is rolled back.

    Over one connection, opened when first needed. Not for several threads at once, except `cancel`.
    All raise NotFoundError where the step is gone, and DatabaseError.
    """

    def __init__(
        self,
        target: Target,
        run_id: UUID,
        number: int,
        moment: Moment,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._steps = Whereabouts(run_id)
        self._number = number
        self._moment = moment
        self._reader = Reader(target)
        self._clock = clock

    def listing(self) -> Listing:
        """All of them, with what the step changed in each."""
        started = self._clock()
        (tables, changes, instant), report = self._reader.read(self._listing)
        return Listing(tables, changes, instant, replay_of(report, self._clock() - started))

    def page(self, table: Table, start: Start, limit: int) -> Page:
        """Some rows of a table."""
        started = self._clock()
        (table, rows), report = self._reader.read(lambda c: self._page(c, table, start, limit))
        return Page(table, rows, replay_of(report, self._clock() - started))

    def story(self, table: Table, key: Texts) -> Story:
        """A row, whole, and what became of it during the run."""
        started = self._clock()
        (table, rows, touches, more), report = self._reader.read(lambda c: self._story(c, table, key))
        return Story(table, key, rows, touches, more, replay_of(report, self._clock() - started))

    def cancel(self) -> None:
        """Stop what is running, from another thread; it then raises DatabaseError."""
        self._reader.cancel()

    def close(self) -> None:
        self._reader.close()

    def _listing(
        self, connection: psycopg.Connection
    ) -> tuple[tuple[Table, ...], tuple[TableChanges, ...] | None, Instant | None]:
        step = read_instants(connection, self._steps.of(connection), self._number)
        instant = step.at(self._moment)
        tables = survey(connection, instant, step.origin).tables
        if self._moment is Moment.ASKED:
            return tables, None, instant
        return tables, _changes(connection, self._steps.of(connection), self._number, 200)[1], instant

    def _page(
        self, connection: psycopg.Connection, table: Table, start: Start, limit: int
    ) -> tuple[Table, Rows]:
        step = read_instants(connection, self._steps.of(connection), self._number)
        return _judged(
            connection,
            step.at(self._moment),
            step.origin,
            table,
            lambda layout: read_page(connection, layout, start, limit),
        )

    def _story(
        self, connection: psycopg.Connection, table: Table, key: Texts
    ) -> tuple[Table, Rows, tuple[Touch, ...], bool]:
        step = read_instants(connection, self._steps.of(connection), self._number)
        found, row = _judged(
            connection,
            step.at(self._moment),
            step.origin,
            table,
            lambda layout: read_row(connection, layout, key),
        )
        if found.verdict.certainty is Certainty.UNKNOWN:
            return found, row, (), False
        standing = _standing(connection, step.at(self._moment), step.origin, table)[1]
        written, more = read_touches(connection, standing, key, self._steps.of(connection), MOST_TOUCHES)
        return found, row, tuple(_touches(connection, self._steps.of(connection), table, key, written)), more


def _judged(
    connection: psycopg.Connection,
    instant: Instant | None,
    origin: Origin | None,
    table: Table,
    read: Callable[[Layout], Rows],
) -> tuple[Table, Rows]:
    """Rows of a table as of an instant, and what they are worth as it is known after they were read.

    Where they are today's, the key and the columns are so too.
    """
    found, standing = _standing(connection, instant, origin, table)
    layout = read_layout(connection, standing)
    rows = read(layout)
    judged = judge_again(connection, found)[found.standings.index(standing)]
    if judged.verdict.certainty is Certainty.UNKNOWN and _is_known(standing):
        layout = read_layout(connection, replace(standing, table=judged))
        rows = read(layout)
    return replace(judged, key=layout.key, columns=layout.columns), rows


def _standing(
    connection: psycopg.Connection, instant: Instant | None, origin: Origin | None, table: Table
) -> tuple[Survey, Standing]:
    """Have the transaction read as of an instant; how the table is to be read."""
    found = survey(connection, instant, origin)
    turn(connection, found)
    for standing in found.standings:
        if (standing.table.schema, standing.table.name) == (table.schema, table.name):
            return found, standing
    raise DatabaseError(f"{table.schema}.{table.name} is not watched any more")


def _is_known(standing: Standing) -> bool:
    return standing.table.verdict.certainty is not Certainty.UNKNOWN


def _touches(
    connection: psycopg.Connection, run_id: UUID, table: Table, key: Texts, written: Sequence[Written]
) -> list[Touch]:
    """From what to what each step has brought the row, as its instants show it."""
    touches: list[Touch] = []
    old: Texts | None = None
    was_known = True
    for (number, during), group in groupby(written, lambda write: (write.step, write.during)):
        step, writes = read_instants(connection, run_id, number), list(group)
        if not touches:
            before = step.before if during else _unseen(connection, run_id, writes[0])
            was_known, old = _row(connection, before, step.origin, table, key)
        is_known, new = _row(connection, step.after if during else step.before, step.origin, table, key)
        known = was_known and is_known
        own = step.after.backend if step.before and step.after else None
        last = writes[-1]
        mine = None if own is None or not during else last.backend == own
        if old != new or not known:
            change = RowChange(key, old, new, last.who, last.backend, mine)
            touches.append(Touch(number, during, change, known))
        was_known, old = is_known, new
    return touches


def _unseen(connection: psycopg.Connection, run_id: UUID, write: Written) -> Instant | None:
    """The last instant of the run that did not see a write."""
    step = read_instants(connection, run_id, write.unseen)
    return step.after if write.ended else step.before


def _row(
    connection: psycopg.Connection, instant: Instant | None, origin: Origin | None, table: Table, key: Texts
) -> tuple[bool, Texts | None]:
    """Whether the past of the table is known there, and the row if it was there."""
    _, standing = _standing(connection, instant, origin, table)
    if not _is_known(standing):
        return False, None
    layout = read_layout(connection, standing)
    rows = read_row(connection, layout, key, longest(MOST_TOUCHES, len(layout.columns))).rows
    return True, rows[0] if rows else None
