"""Watched tables to test with: made, and looked back at."""

import psycopg
from psycopg import sql

from stepwell.core.past import Certainty, Instant
from stepwell.store.watching import watch
from tests.asof.looking import look_back

Connection = psycopg.Connection[tuple[object, ...]]


def instant(connection: Connection) -> Instant:
    """This moment."""
    row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert row is not None
    return Instant(str(row[0]))


def past(
    connection: Connection, at: Instant, name: str, *columns: str
) -> tuple[Certainty, str, list[tuple[object, ...]]]:
    """How far the table `name`, without a schema, is told as of then, why, and its rows, sorted."""
    try:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        tables = look_back(connection, at, None)
        verdict = next(
            each.verdict for each in tables if name in (each.name, sql.Identifier(each.name).as_string(None))
        )
        rows = connection.execute(f"SELECT {', '.join(columns) or '*'} FROM {name} ORDER BY 1").fetchall()
        return verdict.certainty, verdict.why, rows
    finally:
        connection.execute("ROLLBACK")


def watched(connection: Connection, create: str, name: str) -> None:
    """Make a table and watch it."""
    connection.execute(create)
    watch(connection, name)
