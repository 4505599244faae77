"""The instants of the database that a step was recorded with."""

import re
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row

from stepwell.core.changed import Between, end_of
from stepwell.core.past import Instant, Origin
from stepwell.core.world import Moment
from stepwell.errors import NotFoundError
from stepwell.store.branches import steps_query
from stepwell.store.queries import query

_SNAPSHOT = re.compile("[0-9]+:[0-9]+:([0-9]+(,[0-9]+)*)?")


class Instants(NamedTuple):
    """Of one step: before its call and after it, None where none was recorded; and the server that they are of."""

    before: Instant | None
    after: Instant | None
    finished: bool
    """Whether the step has an outcome."""
    origin: Origin | None
    noted: int | None = None
    """A transaction that began after the end of the step: the one that noted its outcome, or wrote to it since."""

    def at(self, moment: Moment) -> Instant | None:
        """The one that is meant; of a step without an outcome that when it began, as in `World.instant`."""
        return self.after if moment is Moment.AFTER and self.finished else self.before


def read_instants(connection: psycopg.Connection, run_id: UUID, number: int) -> Instants:
    """Raises NotFoundError where there is no such step."""
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            steps_query("read_instants", run_id), {"run_id": run_id, "number": number}
        ).fetchone()
        if row is None:
            raise NotFoundError(f"run {str(run_id)[:8]} has no step {number}")
    origin = _origin(connection, run_id) if row["has_runs"] else None
    return Instants(_instant(row, "before"), _instant(row, "after"), row["finished"], origin)


def read_all_instants(connection: psycopg.Connection, run_id: UUID) -> dict[int, Instants]:
    """Those of every step of a run, by its number. Raises what psycopg raises."""
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            steps_query("read_instants", run_id), {"run_id": run_id, "number": None}
        ).fetchall()
    origin = _origin(connection, run_id) if rows and rows[0]["has_runs"] else None
    found: dict[int, Instants] = {}
    for row in rows:
        after, finished = _instant(row, "after"), row["finished"]
        noted = _noted(after, number_of(row["noted"])) if finished else None
        found.setdefault(
            row["step_number"], Instants(_instant(row, "before"), after, finished, origin, noted)
        )
    return found


def _noted(after: Instant | None, xmin: int | None) -> int | None:
    """The whole number of a transaction, which the snapshot of its own statement does not see, by its last 32 bits."""
    if after is None or xmin is None:
        return None
    end = end_of(after)
    return end + (xmin - end) % 2**32


def read_begin(connection: psycopg.Connection, run_id: UUID) -> Instant | None:
    """When a run began, None where that is not recorded. Raises what psycopg raises."""
    ran = _ran(connection, run_id)
    return instant_of(ran["snapshot"], None, None, None) if ran else None


def _origin(connection: psycopg.Connection, run_id: UUID) -> Origin | None:
    ran = _ran(connection, run_id)
    return Origin(ran["system_identifier"], ran["timeline"]) if ran else None


def _ran(connection: psycopg.Connection, run_id: UUID) -> DictRow | None:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("read_origin"), {"run_id": run_id}).fetchone()


def read_between(connection: psycopg.Connection, run_id: UUID) -> list[Between]:
    """The steps of a run that have an outcome and an instant of each side, in order. Raises what psycopg raises."""
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            steps_query("read_instants", run_id), {"run_id": run_id, "number": None}
        ).fetchall()
    found = (
        (row["step_number"], _instant(row, "before"), _instant(row, "after"))
        for row in rows
        if row["finished"]
    )
    return [Between(number, before, after) for number, before, after in found if before and after]


def _instant(row: DictRow, when: str) -> Instant | None:
    own, position, backend = (number_of(row[name]) for name in (f"own_{when}", f"position_{when}", "backend"))
    return instant_of(row[f"snapshot_{when}"], own, position, backend)


def number_of(text: str | None) -> int | None:
    """A column of a table made by hand may have the same name and hold anything."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def instant_of(
    snapshot: str | None, own: int | None, position: int | None, backend: int | None
) -> Instant | None:
    """The columns of one side of a step as an instant; without a position its snapshot is the recorder's."""
    if snapshot is None or not _SNAPSHOT.fullmatch(snapshot):
        return None
    if position is None:
        return Instant(snapshot)
    return Instant(snapshot, own, None if own is None else position, backend)
