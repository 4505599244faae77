"""A connection for reading only: opened when needed, reopened when lost, never left in a transaction."""

import contextlib
from collections.abc import Callable
from typing import TypeVar

import psycopg

from stepwell.errors import DatabaseError
from stepwell.store.connect import Target, connect, is_standby
from stepwell.store.transaction import Report, read_snapshot

T = TypeVar("T")


class Reader:
    """Reads snapshots. Not for several threads at once, except `cancel`."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._connection: psycopg.Connection | None = None
        self._standby = False

    def read(self, read: Callable[[psycopg.Connection], T]) -> tuple[T, Report]:
        """Run `read` in one rolled-back snapshot. A connection that was lost is opened again, once.

        Raises DatabaseError, one line, for whatever the database has against it.
        """
        try:
            return self._snapshot(read)
        except psycopg.OperationalError as problem:
            if self._connection is None or not self._connection.closed:
                raise DatabaseError(told(problem)) from problem
        except psycopg.Error as problem:
            raise DatabaseError(told(problem)) from problem
        try:
            result, report = self._snapshot(read)
        except psycopg.Error as problem:
            raise DatabaseError(told(problem)) from problem
        report.notes.insert(0, "reconnected")
        return result, report

    def cancel(self) -> None:
        """Cancel the statement under way, if any, from another thread."""
        if self._connection is not None and not self._connection.closed:
            with contextlib.suppress(psycopg.Error):
                self._connection.cancel_safe(timeout=2)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _snapshot(self, read: Callable[[psycopg.Connection], T]) -> tuple[T, Report]:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.target, read_only=True)
            self._standby = is_standby(self._connection)
        return read_snapshot(
            self._connection, read, standby=self._standby, observer=lambda: connect(self.target)
        )


def told(problem: psycopg.Error) -> str:
    """One line of what Postgres said, with what can be done where there is something."""
    said = (problem.diag.message_primary or str(problem).strip().partition("\n")[0]) or type(problem).__name__
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return f"{said}; the debugger needs SELECT on agent_steps and agent_runs (see sql/roles.sql)"
    if isinstance(problem, psycopg.errors.QueryCanceled):
        return "cancelled" if "user request" in said else f"{said}: reading took too long"
    return said
