"""A statement of the user's own, run within a transaction that is rolled back, with the user's text as the query of a
cursor.

Over the extended protocol, which takes one statement: `COMMIT; UPDATE …` is refused as a whole.
"""

import time

from psycopg import Connection, errors, generators
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from stepwell.core.past import Rows
from stepwell.core.statements import CURSOR, Statement
from stepwell.errors import StatementError
from stepwell.store.queries import query
from stepwell.store.texts import Texts, texts_of
from stepwell.store.trouble import refused

PIECE = 20
"""Rows that are fetched first, however long they are; then as many as make about so many bytes."""
PIECE_BYTES = 4_000_000
MOST_BYTES = 500_000_000
"""How much of an answer is taken in; what is more than that is refused, or left out where a limit is given."""
CELL_BYTES = 60
"""What a value takes in memory beside its letters, about."""
MOST_SECONDS = 60
"""How long it may take to be fetched: meanwhile nothing that it can see is cleared away, and no table of it altered."""
ONES_OWN = (
    errors.QueryCanceled,
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
)
"""What is not the statement's fault: the reader says these in its own words, or tries again."""


def pin(connection: Connection, limit: int | None) -> None:
    """Have the server read a text as `core.tokens` does, for this transaction, whatever the settings are.

    That is letter by letter, too: in some encodings that a client may have, what is a yen sign here is a backslash
    there. And plan for all rows, where there is no limit: of a cursor it takes only the first to be wanted soon.
    """
    connection.execute(
        "SET LOCAL standard_conforming_strings = on; SET LOCAL client_encoding = 'UTF8'"
        + "; SET LOCAL cursor_tuple_fraction = 1" * (limit is None)
    )


def run(connection: Connection, statement: Statement, limit: int | None) -> Rows:
    """What the statement gives, at most `limit` rows. Raises StatementError, and what psycopg raises."""
    result = send(connection, statement, statement.sent)
    if statement.kind == "query":
        result, found, more = _fetched(connection, statement, limit)
    else:
        found = texts_of(connection, result)
        more = limit is not None and len(found) > limit
    return Rows(*_columns(connection, result), tuple(found[:limit]), more)


def _fetched(
    connection: Connection, statement: Statement, limit: int | None
) -> tuple[PGresult, list[Texts], bool]:
    """From the cursor, in pieces, so that no more is in memory than what is kept; and whether there is more."""
    found: list[Texts] = []
    size, piece = 0, PIECE
    over = time.monotonic() + MOST_SECONDS
    while True:
        wanted = piece if limit is None else min(piece, limit + 1 - len(found))
        result = send(connection, statement, f'FETCH {wanted} FROM "{CURSOR}"')
        rows = texts_of(connection, result)
        found += rows
        size += sum(len(value or "") + CELL_BYTES for row in rows for value in row)
        if result.ntuples < wanted:
            return result, found, False
        if limit is not None and len(found) > limit:
            return result, found, True
        if size > MOST_BYTES:
            if limit is not None:
                return result, found, True
            megabytes = MOST_BYTES // 1_000_000
            raise StatementError(f"the answer takes more than {megabytes} MB: ask for less, or give a limit")
        if time.monotonic() > over:
            raise StatementError(f"reading took longer than {MOST_SECONDS} s: ask for less, or give a limit")
        piece = max(1, min(10_000, PIECE_BYTES * len(found) // max(size, 1)))


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
    except errors.Error as problem:
        if connection.closed or isinstance(problem, ONES_OWN):
            raise
        raise _told(problem, statement, text) from problem
    return result


def _told(problem: errors.Error, statement: Statement, sent: str) -> StatementError:
    diag = problem.diag
    parts = [refused(problem), diag.message_detail, diag.message_hint]
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
