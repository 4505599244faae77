"""Deleting whole runs, a bounded batch in each transaction, beside recorders and debuggers at work."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import Connection, IsolationLevel

from stepwell.core.liveness import ALIVE_SECONDS
from stepwell.errors import DatabaseError
from stepwell.store.queries import query

MOST_RUNS = 100
MOST_STEPS = 10_000
"""A transaction deletes no more; a run of more steps has one of its own, for a part of a run would be worse."""
LOCK_TIMEOUT = "5s"
"""How long a table may be locked by somebody else until it is given up."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """So many are gone, or would be."""

    runs: int = 0
    steps: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(self.runs + other.runs, self.steps + other.steps)


class Prunable(NamedTuple):
    """A run that `prune` would delete."""

    run_id: UUID
    name: str | None
    status: str
    """`ok`, `failed`, `running` for one that died, or `branch` or `imported` for one of which nothing else is known."""
    seen: datetime
    """When it ended, or was last heard of."""


def prunable(connection: Connection[Any], older: timedelta | None = None) -> tuple[Pruned, list[Prunable]]:
    """What `prune` would delete as things stand, and of that the runs, the oldest first. Raises DatabaseError."""
    with _refusals():
        rows = connection.execute(query("list_prunable"), _which(older), prepare=False).fetchall()
    if not rows:
        return Pruned(), []
    *_, runs, steps = rows[0]
    return Pruned(int(runs), int(steps)), [Prunable(*row[:4]) for row in rows]


def may_prune(connection: Connection[Any]) -> bool:
    """Whether this role may delete runs. Raises DatabaseError."""
    with _refusals():
        return connection.execute(query("may_delete_runs"), prepare=False).fetchone() == (True,)


def prune(connection: Connection[Any], older: timedelta | None = None) -> Iterator[Pruned]:
    """Delete the runs that are marked as not worth keeping or, with `older`, all that ended or died so long ago.

    Yields after each commit what it deleted. `connection` is in autocommit. A run that is alive is never taken, nor
    one that somebody else has locked just now, nor one that a branch which stays has steps of. Raises DatabaseError;
    what was committed before stays deleted.
    """
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    after: tuple[datetime, UUID] | None = None
    freed = False
    while True:
        with _refusals(), connection.transaction():
            connection.execute(query("bound_locks"), {"lock_timeout": LOCK_TIMEOUT}, prepare=False)
            taken = _take(connection, older, after)
            done = _delete(connection, [run.run_id for run in taken if run.free])
        if taken:
            yield done
            after, freed = (
                (taken[-1].started, taken[-1].run_id),
                freed or any(r.free and r.branch for r in taken),
            )
        elif freed:  # the runs that these branches have left may be gone now too, and began before them
            after, freed = None, False
        else:
            return


class _Taken(NamedTuple):
    """A run that is held; `free`: it is ours to delete."""

    run_id: UUID
    started: datetime
    free: bool
    branch: bool


def _take(
    connection: Connection[Any], older: timedelta | None, after: tuple[datetime, UUID] | None
) -> list[_Taken]:
    started, run_id = after or (None, None)
    bounds = {"started": started, "run_id": run_id, "limit": MOST_RUNS, "most_steps": MOST_STEPS}
    found = connection.execute(query("take_prunable"), bounds | _which(older), prepare=False)
    return [_Taken(*row) for row in found]


def _delete(connection: Connection[Any], run_ids: list[UUID]) -> Pruned:
    if not run_ids:
        return Pruned()
    chosen = {"run_ids": run_ids}
    steps = connection.execute(query("delete_steps"), chosen, prepare=False).rowcount
    runs = connection.execute(query("delete_runs"), chosen, prepare=False).rowcount
    return Pruned(runs, steps)


def _which(older: timedelta | None) -> dict[str, object]:
    return {"seconds": None if older is None else older.total_seconds(), "patience": ALIVE_SECONDS}


@contextmanager
def refusals(doing: str, what: str, missing: str) -> Iterator[None]:
    """What the database has against it, in one line with the remedy. Raises DatabaseError."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as problem:
        why = problem.diag.message_primary
        raise DatabaseError(f"{why}; {doing} takes the role stepwell_pruner (see sql/roles.sql)") from problem
    except psycopg.errors.ReadOnlySqlTransaction as problem:
        raise DatabaseError("this server takes no writes (a standby?); prune on the primary") from problem
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as problem:
        raise DatabaseError(f"{problem.diag.message_primary}: {missing}") from problem
    except psycopg.errors.ForeignKeyViolation as problem:
        raise DatabaseError("a run that was to be deleted was forked meanwhile; try again") from problem
    except psycopg.errors.LockNotAvailable as problem:
        raise DatabaseError(f"{what} is locked by somebody else for too long; try again later") from problem


def _refusals() -> AbstractContextManager[None]:
    missing = "nothing says here how runs ended; stepwell init makes what is missing"
    return refusals("deleting runs", "a table", missing)
