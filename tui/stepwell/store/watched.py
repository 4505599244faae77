"""The watched tables: how large their logs are, and whether they are captured whole up to now."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection, sql
from psycopg.rows import dict_row

from stepwell.core.doctor import remedy
from stepwell.core.names import command_name
from stepwell.core.past import Instant, Verdict
from stepwell.errors import DatabaseError
from stepwell.store.asof import survey
from stepwell.store.bounded import glance
from stepwell.store.capture import LOG
from stepwell.store.queries import query
from stepwell.store.templates import template
from stepwell.store.watching import COUNTED_BYTES, is_installed

XID = sql.SQL("::xid8")
TELLING = timedelta(hours=1)
"""How long a log must have been counted until it tells what a day adds."""


@dataclass(frozen=True, slots=True)
class WatchedTable:
    """A table that is watched. Names are those under which it was watched last; sizes are in bytes."""

    id: int
    schema: str
    name: str
    since: datetime | None
    rows: int
    counted: bool
    """Whether `rows` is exact, or what the server thinks."""
    bytes: int
    """With indexes."""
    rows_a_day: float | None
    """As far as the server has counted; None where that is too short a time."""
    pruned_to: int | None
    """What transactions before this one have removed is no longer told."""
    told_since: datetime | None
    """When the oldest run began of which all is told; None where nothing was pruned, or that is not known."""
    now: Verdict
    """How far it is captured up to this moment."""
    owner: str | None
    """Of the table, or of its log where the table is gone; None where both are."""
    gone: bool
    """Whether the table was dropped."""

    @property
    def remedy(self) -> str:
        """What can be done where not all of it is captured, and `now` does not say; empty for nothing."""
        return remedy(self.now, self.schema, self.name, self.owner, gone=self.gone)

    @property
    def bytes_a_day(self) -> float | None:
        if self.rows_a_day is None or not self.rows:
            return None
        return self.rows_a_day * self.bytes / self.rows


def read_watched_tables(connection: Connection[Any]) -> list[WatchedTable]:
    """All that are watched in this database, in a read-only transaction of its own.

    Raises DatabaseError where a part of what tells of them is gone, and what psycopg raises.
    """
    return glance(connection, _read) if is_installed(connection) else []


def _read(connection: Connection[Any]) -> list[WatchedTable]:
    instant = connection.execute("SELECT pg_current_snapshot()::text", prepare=False).fetchone()
    assert instant is not None
    found = survey(connection, Instant(instant[0]), None)
    if not found.now:
        raise DatabaseError(_incomplete(connection))
    worth = {each.id: each.table.verdict for each in found.standings}
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(query("list_watched"), prepare=False).fetchall()
    return [_table(connection, row, worth[row["id"]]) for row in rows]


def _incomplete(connection: Connection[Any]) -> str:
    with connection.cursor(row_factory=dict_row) as cursor:
        logs = cursor.execute(query("list_logs"), prepare=False).fetchall()
    names = " ".join(command_name(log["schema"], log["name"]) for log in logs)
    return (
        f"a table of the schema stepwell_log was dropped, and no past is told without it; begin anew:"
        f" stepwell unwatch {names}, then watch them again"
    )


def _table(connection: Connection[Any], row: dict[str, Any], now: Verdict) -> WatchedTable:
    counted = row["readable"] and row["bytes"] <= COUNTED_BYTES
    if counted:
        statement = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(LOG, f"t{row['id']}"))
        found = connection.execute(statement, prepare=False).fetchone()
        assert found is not None
        row["rows"] = found[0]
    span = row["now"] - row["counted"] if row["counted"] else timedelta()
    return WatchedTable(
        id=row["id"],
        schema=row["schema"],
        name=row["name"],
        since=row["since"],
        rows=row["rows"],
        counted=counted,
        bytes=row["bytes"] + row["index_bytes"],
        rows_a_day=row["added"] / (span / timedelta(days=1)) if span >= TELLING else None,
        pruned_to=None if row["pruned_to"] is None else int(row["pruned_to"]),
        told_since=None if row["pruned_to"] is None else _told_since(connection, row["pruned_to"]),
        now=now,
        owner=row["owner"],
        gone=row["gone"],
    )


def _told_since(connection: Connection[Any], pruned_to: str) -> datetime | None:
    tables = connection.execute(query("find_run_tables"), prepare=False).fetchall()
    asked = [
        template("told", {"runs": sql.Identifier(schema, name), "pruned_to": sql.Literal(pruned_to) + XID})
        for schema, name, readable, _ in tables
        if readable
    ]
    if not asked:
        return None
    statement = sql.SQL("SELECT min(since) FROM ({}) AS runs").format(sql.SQL(" UNION ALL ").join(asked))
    row = connection.execute(statement, prepare=False).fetchone()
    assert row is not None
    since: datetime | None = row[0]
    return since
