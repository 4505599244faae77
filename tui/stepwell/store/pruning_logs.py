"""Deleting from the logs of watched tables what no recorded step asks for, beside writers and debuggers at work.

A step asks for what its snapshot did not see removed. So what was removed by transactions before all that the snapshots
of the runs that are here say to have been under way is asked for by none; but for an agent's own transaction that was
open before its run, whose steps then read "pruned".
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import Connection, IsolationLevel, sql
from psycopg.rows import namedtuple_row

from stepwell.errors import DatabaseError
from stepwell.store.capture import LOG
from stepwell.store.pruning import LOCK_TIMEOUT, refusals
from stepwell.store.queries import query
from stepwell.store.templates import template
from stepwell.store.watching import is_installed

MOST_ENTRIES = 5000
"""A transaction deletes no more."""
PAUSE = 0.02
"""Seconds between two of them, for others to get at the disk."""


class PrunedLog(NamedTuple):
    """So many entries of the log of one table are gone, or would be. Names are those under which it was watched."""

    schema: str
    name: str
    entries: int


class Refused(NamedTuple):
    """A log that this role may not prune."""

    schema: str
    name: str


def prunable_logs(connection: Connection[Any], without: Sequence[UUID] = ()) -> list[PrunedLog]:
    """What `prune_logs` would delete once the runs `without` are gone, of logs that have something.

    Raises DatabaseError.
    """
    with _refusals():
        logs, before = _asked(connection, without)
        found: list[PrunedLog] = []
        if before is None:
            return found
        for log in logs:
            statement = sql.SQL("SELECT count(*) FROM {} WHERE xid < {}").format(_log(log), _xid(before))
            row = connection.execute(statement, prepare=False).fetchone()
            if row is not None and row[0]:
                found.append(PrunedLog(log.schema, log.name, row[0]))
    return found


def not_allowed(connection: Connection[Any]) -> list[Refused]:
    """The logs that `prune_logs` leaves alone, for this role may not prune them. Raises DatabaseError."""
    with _refusals():
        return [Refused(log.schema, log.name) for log in _logs(connection) if not log.allowed]


def prune_logs(connection: Connection[Any]) -> Iterator[PrunedLog]:
    """Delete what no step of the runs that are here asks for; yields after each commit what that has deleted.

    Before the first entry goes, it is noted what is told no more, so that no debugger shows the rest for the whole.
    `connection` is in autocommit. Where no table of runs tells of snapshots, all stays. Raises DatabaseError; what was
    committed before stays deleted.
    """
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    with _refusals():
        logs, before = _asked(connection)
    if before is not None:
        for log in logs:
            yield from _prune(connection, log, before)


def _prune(connection: Connection[Any], log: Any, before: int) -> Iterator[PrunedLog]:
    about = {"before": str(before), "id": log.id, "oid": log.oid}
    if not _has_some(connection, log, before):
        return
    with _refusals(), connection.transaction():
        connection.execute(query("bound_locks"), {"lock_timeout": LOCK_TIMEOUT}, prepare=False)
        connection.execute(query("set_pruned"), about, prepare=False)
    reached, many = 0, MOST_ENTRIES
    while many == MOST_ENTRIES:
        with _refusals(), connection.transaction():
            connection.execute(query("bound_locks"), {"lock_timeout": LOCK_TIMEOUT}, prepare=False)
            row = connection.execute(_batch(log, reached, before), prepare=False).fetchone()
            assert row is not None
            many, last = row
        if many:
            reached = int(last)
            yield PrunedLog(log.schema, log.name, many)
            time.sleep(PAUSE)
    with _refusals(), connection.transaction():
        connection.execute(query("bound_locks"), {"lock_timeout": LOCK_TIMEOUT}, prepare=False)
        connection.execute(query("prune_losses"), about, prepare=False)
        connection.execute(query("prune_shapes"), about, prepare=False)


def _batch(log: Any, reached: int, before: int) -> sql.Composed:
    return template(
        "prune",
        {
            "log": _log(log),
            "before": _xid(before),
            "reached": _xid(reached),
            "most": sql.Literal(MOST_ENTRIES),
        },
    )


def _has_some(connection: Connection[Any], log: Any, before: int) -> bool:
    statement = sql.SQL(
        "SELECT EXISTS (SELECT FROM {} WHERE xid < {before}) OR EXISTS ("
        "SELECT FROM stepwell_log.losses WHERE relation = {oid}::oid::regclass AND xid < {before})"
    ).format(_log(log), before=_xid(before), oid=sql.Literal(log.oid))
    with _refusals():
        return connection.execute(statement, prepare=False).fetchone() == (True,)


def _asked(connection: Connection[Any], without: Sequence[UUID] = ()) -> tuple[list[Any], int | None]:
    """The logs that this role may prune, and up to where: None for nowhere. Without a log no run is asked."""
    logs = [log for log in _logs(connection) if log.allowed]
    return logs, _horizon(connection, without) if logs else None


def _horizon(connection: Connection[Any], runs: Sequence[UUID] = ()) -> int | None:
    """The transaction before which nothing is asked for, but by `runs`; never one under way. None for not known."""
    tables = connection.execute(query("find_run_tables"), prepare=False).fetchall()
    if not tables:
        return None
    for schema, name, readable, _ in tables:
        if not readable:
            raise DatabaseError(
                f"{connection.info.user} may not read {schema}.{name}, whose steps may ask for what is in the logs;"
                f" the logs stay as they are"
            )
    each = [
        sql.SQL("(SELECT oldest FROM ({}) AS runs)").format(
            template(
                "horizon", {"runs": sql.Identifier(schema, name), "without": _without(runs if here else ())}
            )
        )
        for schema, name, _, here in tables
    ]
    statement = sql.SQL("SELECT least(pg_snapshot_xmin(pg_current_snapshot()), {})::text").format(
        sql.SQL(", ").join(each)
    )
    row = connection.execute(statement, prepare=False).fetchone()
    assert row is not None
    return int(row[0])


def _logs(connection: Connection[Any]) -> list[Any]:
    if not is_installed(connection):
        return []
    with connection.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(query("list_logs"), prepare=False).fetchall()


def _log(log: Any) -> sql.Identifier:
    return sql.Identifier(LOG, f"t{log.id}")


def _without(runs: Sequence[UUID]) -> sql.Composable:
    return sql.SQL(" AND run_id <> ALL ({})").format(sql.Literal(list(runs))) if runs else sql.SQL("")


def _xid(number: int) -> sql.Composed:
    return sql.SQL("{}::xid8").format(sql.Literal(str(number)))


def _refusals() -> AbstractContextManager[None]:
    return refusals("pruning logs", "a log", "a table is not watched any more; run it again")
