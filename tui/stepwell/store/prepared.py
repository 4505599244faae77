"""Statements that are prepared once a connection and run with their parameters in binary, by libpq itself.

psycopg would look at each value anew to find out how to send it, which for a dozen of them takes Python about as long
as the server takes for the statement. Here the columns of a row say it once.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from struct import Struct
from typing import Any
from uuid import UUID

from psycopg import Connection, OperationalError, generators
from psycopg.abc import PQGen
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult

from stepwell.store.pooled import SETTINGS, Settings, transient
from stepwell.store.queries import query

LARGE = 1_000_000
"""Bytes of parameters that are sent without looking at anything else meanwhile."""
_INT8 = Struct(">q").pack
_PARAMETER = re.compile(rb"%\((\w+)\)[bs]")
EPOCH_MICROSECONDS = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
"""Where Postgres begins to count, in microseconds since 1970."""


def _moment(microseconds: int) -> bytes:
    return _INT8(microseconds - EPOCH_MICROSECONDS)


def _uuid(value: UUID) -> bytes:
    return value.bytes


Kind = tuple[int, Callable[[Any], bytes]]
"""The oid of a type, and how a value of it is sent. A lone surrogate in a text raises UnicodeEncodeError."""
TEXT: Kind = (25, str.encode)
BOOL: Kind = (16, lambda value: b"\x01" if value else b"\x00")
INT8: Kind = (20, _INT8)
MOMENT: Kind = (1184, _moment)
ID: Kind = (2950, _uuid)


class Prepared:
    """The statement of `sql/queries/NAME.sql` for rows of named columns."""

    def __init__(self, name: str, columns: Sequence[str], kinds: Sequence[Kind]) -> None:
        self._name = name.encode()
        place = {column.encode(): b"$%d" % number for number, column in enumerate(columns, 1)}
        self._sql = _PARAMETER.sub(lambda found: place[found[1]], query(name))
        self._oids = [oid for oid, _ in kinds]
        self._dumps = [dump for _, dump in kinds]
        self._formats = [Format.BINARY] * len(kinds)

    def prepare(self, connection: Connection[Any]) -> None:
        """Make the statement known to the connection. Raises what psycopg raises."""
        _checked(connection, connection.pgconn.prepare(self._name, self._sql, self._oids))

    def run(
        self, connection: Connection[Any], row: Sequence[object], sent: Callable[[], None] | None = None
    ) -> PGresult:
        """Execute it with the row and wait for the result, in binary. Raises what psycopg raises.

        Like an `execute` in autocommit, and like it not to be used in a pipeline. `sent` is called when it is on its
        way to the server, before the wait.
        """
        values = self._values(row)
        if transient and (settings := transient.get(connection)) is not None:
            return self._run_whole(connection, values, settings, sent)
        pgconn = connection.pgconn
        with _in_one_go(pgconn, values):
            pgconn.send_query_prepared(self._name, values, self._formats, Format.BINARY)
        if sent is not None:
            pgconn.flush()
            sent()
        (result,) = connection.wait(generators.execute(pgconn))
        return _checked(connection, result)

    def _run_whole(
        self,
        connection: Connection[Any],
        values: Sequence[bytes | None],
        settings: Settings,
        sent: Callable[[], None] | None,
    ) -> PGresult:
        """The same for a connection that keeps no prepared statement; settings and statement go together."""
        pgconn = connection.pgconn
        pgconn.enter_pipeline_mode()  # one transaction as far as the sync, in one round trip
        if settings:
            _SETTINGS._send(pgconn, _SETTINGS._values(settings))
        self._send(pgconn, values)
        pgconn.pipeline_sync()
        if sent is not None:
            pgconn.flush()
            sent()
        results = connection.wait(_communicate(pgconn))
        if pgconn.status == ConnStatus.OK:
            pgconn.exit_pipeline_mode()
        if not results:
            raise OperationalError("the connection is lost")
        return [_checked(connection, result) for result in results][-1]

    def _values(self, row: Sequence[object]) -> list[bytes | None]:
        return [None if value is None else dump(value) for dump, value in zip(self._dumps, row, strict=True)]

    def _send(self, pgconn: PGconn, values: Sequence[bytes | None]) -> None:
        with _in_one_go(pgconn, values):
            pgconn.send_query_params(self._sql, values, self._oids, self._formats, Format.BINARY)


_SETTINGS = Prepared("set_transaction", SETTINGS, (BOOL, TEXT))


@contextmanager
def _in_one_go(pgconn: PGconn, values: Sequence[bytes | None]) -> Iterator[None]:
    """Block while a large value is sent: without blocking, libpq moves all that is left at each piece that it sends."""
    is_large = sum(map(len, filter(None, values))) > LARGE
    if is_large:
        pgconn.nonblocking = 0
    try:
        yield
    finally:
        if is_large and pgconn.status == ConnStatus.OK:
            pgconn.nonblocking = 1


def _communicate(pgconn: PGconn) -> PQGen[list[PGresult]]:
    """Send what is in the pipeline; the results before its sync."""
    yield from generators.send(pgconn)
    results: list[PGresult] = []
    while True:
        result = yield from generators.fetch(pgconn)
        if result is None:  # between the results of two statements, or nothing is to come any more
            if pgconn.status == ConnStatus.BAD:
                return results
            continue
        if result.status == ExecStatus.PIPELINE_SYNC:
            return results
        results.append(result)


def _checked(connection: Connection[Any], result: PGresult) -> PGresult:
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise error_from_result(result, connection.info.encoding)
    return result
