"""Statements that change a database: done as they come, or written down for somebody to look at first."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, LiteralString

from psycopg import ClientCursor, Connection, IsolationLevel, sql
from psycopg.pq import TransactionStatus

Statement = LiteralString | bytes | sql.SQL | sql.Composed


class Script:
    """Does each statement at once."""

    def __init__(self, connection: Connection[Any]) -> None:
        self.connection = connection
        self.made: set[str] = set()
        """The roles and schemas that this script has made."""

    def do(self, statement: Statement, values: Mapping[str, Any] | None = None) -> None:
        """Raises what psycopg raises."""
        self.connection.execute(statement, values)

    def next_of(self, sequence: str) -> int:
        """The next number of a sequence, which this takes."""
        return self._number("SELECT nextval(%s)", sequence)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is done within is done together or not at all; what others have committed by then, it sees.

        Within a transaction of the caller's, it is part of that, at its level.
        """
        if self.connection.info.transaction_status == TransactionStatus.IDLE:
            self.connection.isolation_level = IsolationLevel.READ_COMMITTED
        with self.connection.transaction():
            yield

    def _number(self, question: str, sequence: str) -> int:
        row = self.connection.execute(question, (sequence,)).fetchone()
        assert row is not None
        return int(row[0])


class Draft(Script):
    """Does nothing, and notes what would be done, as psql can run it. What is asked, is asked."""

    def __init__(self, connection: Connection[Any]) -> None:
        super().__init__(connection)
        self.texts: list[str] = []
        self._taken: dict[str, int] = {}

    def do(self, statement: Statement, values: Mapping[str, Any] | None = None) -> None:
        text = ClientCursor(self.connection).mogrify(statement, values)
        self.texts.append(text.strip().removesuffix(";") + ";")

    def next_of(self, sequence: str) -> int:
        """The number that it will be if nobody takes one meanwhile; of a sequence that is not there yet, 1."""
        self.do("SELECT nextval(%(name)s)", {"name": sequence})
        taken = self._taken[sequence] = self._taken.get(sequence, 0) + 1
        last = "SELECT coalesce((SELECT pg_sequence_last_value(to_regclass(%s)::oid)), 0)"
        return self._number(last, sequence) + taken

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.texts.append("BEGIN;")
        yield
        self.texts.append("COMMIT;")
