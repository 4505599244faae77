"""Watched tables at a step: what changed in them meanwhile."""

from collections.abc import Callable
from uuid import UUID

import psycopg

from stepwell.core.past import Instant, StepChanges, TableChanges
from stepwell.core.world import Replay
from stepwell.store.changes import read_changes
from stepwell.store.instants import read_instants
from stepwell.store.reader import Reader
from stepwell.store.transaction import Report

Found = tuple[Instant | None, Instant | None, tuple[TableChanges, ...]]


def changes_of(
    reader: Reader, run_id: UUID, number: int, clock: Callable[[], float], limit: int
) -> StepChanges:
    """What changed in the watched tables during a step, in one snapshot that is rolled back.

    Raises NotFoundError for no such step, and DatabaseError.
    """
    started = clock()
    (before, after, tables), report = reader.read(lambda c: _read(c, run_id, number, limit))
    return StepChanges(number, tables, before, after, truth(report, clock() - started))


def _read(connection: psycopg.Connection, run_id: UUID, number: int, limit: int) -> Found:
    step = read_instants(connection, run_id, number)
    after = step.after if step.finished else None
    return step.before, after, read_changes(connection, step.before, after, step.origin, limit=limit)


def truth(report: Report, seconds: float) -> Replay:
    """How something was read that folds no steps."""
    return Replay(
        isolation=report.isolation,
        milliseconds=seconds * 1000,
        steps=0,
        state_steps=0,
        ordered_by="number",
        retries=report.retries,
        notes=tuple(report.notes),
    )
