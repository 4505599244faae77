"""The transaction of a move: a safe snapshot to read from, rolled back before anything else happens."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import psycopg

from stepwell.errors import DatabaseError
from stepwell.store.queries import query

T = TypeVar("T")
SAFE_WAIT_MS = 1000
"""How long a move waits for a safe snapshot behind other serializable writers, in milliseconds."""
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 1000
LOOK_AFTER_MS = 200
ATTEMPTS = 5
SERIALIZABLE = "SERIALIZABLE READ ONLY DEFERRABLE"
REPEATABLE_READ = "REPEATABLE READ READ ONLY"


@dataclass(slots=True)
class Report:
    """What really happened, filled in while it happens."""

    isolation: str = SERIALIZABLE
    retries: int = 0
    notes: list[str] = field(default_factory=list)


def read_snapshot(
    connection: psycopg.Connection,
    read: Callable[[psycopg.Connection], T],
    *,
    standby: bool,
    observer: Callable[[], psycopg.Connection],
    safe_wait_ms: int = SAFE_WAIT_MS,
) -> tuple[T, Report]:
    """Run `read` in one read-only snapshot and roll back; its result and what happened.

    SERIALIZABLE READ ONLY DEFERRABLE, which never makes another transaction fail. Where a serializable
    writer keeps it waiting longer than `safe_wait_ms`, and on a standby, REPEATABLE READ instead, said in
    the report. Serialization failures and deadlocks are tried again, after a random pause. `connection` is in
    autocommit. `observer` opens a second connection, used only to name whom this one waits for, and closed again.
    """
    report = Report()
    if standby:
        report.isolation = REPEATABLE_READ
        report.notes.append("standby")
    while True:
        try:
            return _once(connection, read, report, safe_wait_ms, observer), report
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as problem:
            report.retries += 1
            if report.retries >= ATTEMPTS:
                raise
            report.notes = [f"retried {report.retries}x after {problem.sqlstate}"]
            time.sleep(random.uniform(0, 0.01 * 2**report.retries))


def _once(
    connection: psycopg.Connection,
    read: Callable[[psycopg.Connection], T],
    report: Report,
    safe_wait_ms: int,
    observer: Callable[[], psycopg.Connection],
) -> T:
    try:
        if report.isolation == SERIALIZABLE:
            _wait_for_snapshot(connection, report, safe_wait_ms, observer)
        if report.isolation == REPEATABLE_READ:
            _begin(connection, REPEATABLE_READ, STATEMENT_TIMEOUT_MS)
        return read(connection)
    finally:
        if not connection.closed:
            connection.rollback()


def _wait_for_snapshot(
    connection: psycopg.Connection,
    report: Report,
    safe_wait_ms: int,
    observer: Callable[[], psycopg.Connection],
) -> None:
    """Begin with a safe snapshot, or say in the report that there was none in time."""
    # Most moves wait for nothing, so only the second wait is worth a thread that looks at what it is for.
    short = min(safe_wait_ms, LOOK_AFTER_MS)
    if _safe_snapshot(connection, short):
        return
    with _Look(connection, observer, (safe_wait_ms - short) / 2000) as look:
        taken = _safe_snapshot(connection, max(1, safe_wait_ms - short))
    if not taken:
        report.isolation = REPEATABLE_READ
        report.notes.append(f"no safe snapshot in {safe_wait_ms} ms{look.blocker}")


def _safe_snapshot(connection: psycopg.Connection, wait_ms: int) -> bool:
    """Begin, and wait for the snapshot; False, rolled back, when it took too long."""
    try:
        _begin(connection, SERIALIZABLE, wait_ms)
    except psycopg.errors.QueryCanceled:
        connection.rollback()
        return False
    return True


def _begin(connection: psycopg.Connection, mode: str, wait_ms: int) -> None:
    """Begin and take the snapshot, all in one round trip; psycopg's own BEGIN would be one more.

    A deferrable transaction waits inside the first statement that needs a snapshot. lock_timeout does not bound
    that, statement_timeout does, which counts anew for each statement of a message.
    """
    connection.execute(
        f"BEGIN ISOLATION LEVEL {mode}; SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS};"
        f" SET LOCAL statement_timeout = {wait_ms}; SELECT 1;"
        f" SET LOCAL statement_timeout = {STATEMENT_TIMEOUT_MS}"
    )


class _Look:
    """Names, from a second connection and while the first still waits, the backend that it waits for."""

    def __init__(
        self, connection: psycopg.Connection, observer: Callable[[], psycopg.Connection], seconds: float
    ) -> None:
        self.blocker = ""
        self._pid = connection.info.backend_pid
        self._observer = observer
        self._timer = threading.Timer(seconds, self._look)

    def __enter__(self) -> "_Look":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()

    def _look(self) -> None:
        try:
            with self._observer() as other:
                found = other.execute(query("read_blockers"), {"pid": self._pid}).fetchone()
        except (psycopg.Error, DatabaseError):
            return
        if found:
            self.blocker = f" behind {found[1]} (pid {found[0]})"
