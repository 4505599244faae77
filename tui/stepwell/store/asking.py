"""A statement of the user's own, run within a transaction that is rolled back, with the user's text as the query of a
cursor.

Over the extended protocol, which takes one statement: `COMMIT; UPDATE …` is refused as a whole.
"""

from psycopg import Connection, errors, generators
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from stepwell.core.past import Rows
from stepwell.core.statements import CURSOR, Statement
from stepwell.errors import StatementError
from stepwell.store.queries import query

PIECE = 500
"""Rows that are fetched at once, at most."""
ONES_OWN = (
    errors.QueryCanceled,
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
)
"""What is not the statement's fault: the reader says these in its own words, or tries again."""


def run(connection: Connection, statement: Statement, limit: int | None) -> Rows:
    """What the statement gives, at most `limit` rows. Raises StatementError, and what psycopg raises."""
    result = send(connection, statement, statement.sent)
    if statement.kind != "query":
        rows = _decoded(connection, result)
        return Rows(
            *_columns(connection, result), tuple(rows[:limit]), limit is not None and len(rows) > limit
        )
    found: list[tuple[str | None, ...]] = []
    while True:
        wanted = PIECE if limit is None else min(PIECE, limit + 1 - len(found))
        result = send(connection, statement, f'FETCH {wanted} FROM "{CURSOR}"')
        found += _decoded(connection, result)
        if result.ntuples < wanted or (limit is not None and len(found) > limit):
            break
    return Rows(*_columns(connection, result), tuple(found[:limit]), limit is not None and len(found) > limit)


def send(connection: Connection, statement: Statement, text: str) -> PGresult:
    """Run what was made of the statement. Raises StatementError where the database refuses it."""
    try:
        connection.pgconn.send_query_params(
            text.encode(connection.info.encoding), None, result_format=Format.TEXT
        )
        result: PGresult
        (result,) = connection.wait(generators.execute(connection.pgconn))
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise error_from_result(result, connection.info.encoding)
    except UnicodeEncodeError:
        raise StatementError("the connection's encoding has no such letters") from None
    except errors.Error as problem:
        if connection.closed or isinstance(problem, ONES_OWN):
            raise
        raise _told(problem, statement, text) from problem
    return result


def _told(problem: errors.Error, statement: Statement, sent: str) -> StatementError:
    diag = problem.diag
    parts = [diag.message_primary or str(problem), diag.message_detail, diag.message_hint]
    place = int(diag.statement_position) if diag.statement_position else None
    if sent == statement.explained:
        place = statement.position(place, explained=True)
    else:
        place = statement.position(place) if sent == statement.sent else None
    return StatementError(
        "; ".join(" ".join(part.split()).removesuffix(".") for part in parts if part),
        position=place,
        severity=diag.severity_nonlocalized or "ERROR",
        sqlstate=problem.sqlstate,
        detail=diag.message_detail,
        hint=diag.message_hint,
    )


def _decoded(connection: Connection, result: PGresult) -> list[tuple[str | None, ...]]:
    encoding, columns = connection.info.encoding, range(result.nfields)
    return [
        tuple(
            None
            if (value := result.get_value(row, column)) is None
            else value.decode(encoding, "backslashreplace")
            for column in columns
        )
        for row in range(result.ntuples)
    ]


def _columns(connection: Connection, result: PGresult) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Their names, and those of their types."""
    encoding, columns = connection.info.encoding, range(result.nfields)
    names = [(result.fname(column) or b"").decode(encoding, "backslashreplace") for column in columns]
    kinds = {
        "ids": [result.ftype(column) for column in columns],
        "modifiers": [result.fmod(column) for column in columns],
    }
    types = connection.execute(query("name_types"), kinds, prepare=False).fetchall()
    return tuple(names), tuple(row[0] for row in types)
