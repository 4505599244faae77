"""A connection for reading only: opened when needed, reopened when lost, never left in a transaction."""

import threading
from collections.abc import Callable
from typing import TypeVar

import psycopg

from stepwell.errors import DatabaseError
from stepwell.store.blockers import locker
from stepwell.store.bounded import STATEMENT_TIMEOUT_MS, glance
from stepwell.store.columns import check_columns
from stepwell.store.connect import GUARD, Target, connect, hang_up, is_standby
from stepwell.store.session import UNKNOWN, Session, read_session
from stepwell.store.transaction import Report, read_snapshot
from stepwell.store.trouble import lost, overran, told

T = TypeVar("T")
TRANSACTION_TIMEOUT = "25P04"
CANCEL_SECONDS = 2.0
"""How long a server may take to hear that a statement is to be cancelled, and how long to do it."""


class Reader:
    """Reads snapshots. Not for several threads at once, except `cancel`.

    `guarded` is for statements that are not Stepwell's own: the session refuses writes then also outside of the
    transactions that begin here, and one that has lost its connection is not run again.
    """

    def __init__(self, target: Target, *, guarded: bool = False) -> None:
        self.target = target
        self._guarded = guarded
        self._refused = False
        """A pooler has refused the guard, and need not be asked again."""
        self.untold = ""
        """Why the connection was lost and opened again, noted in each report until the caller empties it."""
        self._connection: psycopg.Connection | None = None
        self._standby = False
        self._session = UNKNOWN
        self._cancelled = False
        self._over = threading.Event()
        """Set when the read under way, or the last one, has ended."""

    @property
    def caution(self) -> str:
        """A line about a role that may do more than look, once something has been read; else empty.

        Of the embedded server, which has no other role, nothing is said.
        """
        return self._session.caution if self.target.server is None else ""

    def read(self, read: Callable[[psycopg.Connection], T]) -> tuple[T, Report]:
        """Run `read` in one rolled-back snapshot. A connection that was lost is opened again, once, unless guarded.

        Raises DatabaseError, one line, for whatever the database has against it.
        """
        self._cancelled, self._over = False, (over := threading.Event())
        try:
            return self._read(read)
        finally:
            over.set()

    def _read(self, read: Callable[[psycopg.Connection], T]) -> tuple[T, Report]:
        again = self._guarded
        while True:
            try:
                result, report = self._snapshot(read)
            except psycopg.Error as problem:
                if self._cancelled or again or not self._is_worth_another(problem):
                    raise DatabaseError(self._told(problem)) from problem
                again, self.untold = True, lost(problem)
            else:
                break
        if self.untold:
            report.notes.insert(0, f"reconnected: {self.untold}")
        return result, report

    def glance(self, look: Callable[[psycopg.Connection], T]) -> T:
        """Run a small `look` that waits for no safe snapshot: for what is on the screen until the next look only.

        Raises DatabaseError as `read` does.
        """
        if self._connection is not None and not self._connection.closed:
            self._cancelled, self._over = False, (over := threading.Event())
            try:
                return glance(self._connection, look)
            except psycopg.Error as problem:  # a lost connection is opened again below
                if self._cancelled or not self._connection.closed:
                    raise DatabaseError(self._told(problem)) from problem
                self.untold = lost(problem)
            finally:
                over.set()
        return self.read(look)[0]

    def cancel(self) -> None:
        """Cancel the statement under way, if any, from another thread; `read` then raises DatabaseError."""
        self._cancelled = True
        connection, over = self._connection, self._over
        if connection is None or connection.closed or over.is_set():
            return
        try:
            connection.cancel_safe(timeout=CANCEL_SECONDS)
        except psycopg.Error:  # the network may be cut
            hang_up(connection)
        if not over.wait(CANCEL_SECONDS):  # a pooler may keep the statement until it has a server for it
            hang_up(connection)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _snapshot(self, read: Callable[[psycopg.Connection], T]) -> tuple[T, Report]:
        if self._connection is None or self._connection.closed:
            self._open()
        if self._cancelled:  # when there was nothing yet that the server could cancel
            raise DatabaseError("cancelled")
        assert self._connection is not None
        return read_snapshot(
            self._connection,
            read,
            standby=self._standby,
            observer=lambda: connect(self.target),
            session=self._session,
        )

    def _open(self) -> None:
        self._connection = connect(self.target, read_only=True, guarded=self._guarded and not self._refused)
        self._refused = self._guarded and GUARD not in self._connection.info.options
        try:
            self._standby = is_standby(self._connection)
            self._session = glance(self._connection, _looked_over)
        except DatabaseError:
            self.close()  # the next read looks again
            raise

    def _is_worth_another(self, problem: psycopg.Error) -> bool:
        """Whether the connection is gone, and not because the move takes too long."""
        closed = self._connection is not None and self._connection.closed
        return closed and problem.sqlstate != TRANSACTION_TIMEOUT

    def _told(self, problem: psycopg.Error) -> str:
        if self._cancelled:
            return "cancelled"
        if self._guarded and overran(problem):
            own = self._session.statement_ms
            is_own = 0 < own < STATEMENT_TIMEOUT_MS
            limit = "this role's statement_timeout" if is_own else "no statement may take more here"
            return (
                f"longer than {(own if is_own else STATEMENT_TIMEOUT_MS) / 1000:g} s: {limit}; ask for less"
            )
        if isinstance(problem, psycopg.errors.LockNotAvailable) and self._connection is not None:
            return locker(self._connection) or told(problem)
        return told(problem)


def _looked_over(connection: psycopg.Connection) -> Session:
    """What is to be known before anything is read. Raises DatabaseError where agent_steps cannot be read."""
    check_columns(connection)
    return read_session(connection)
