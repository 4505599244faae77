"""The transaction of a move: a safe snapshot to read from, rolled back before anything else happens."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psycopg

from stepwell.store.blockers import Look
from stepwell.store.bounded import REPEATABLE_READ, SERIALIZABLE, begin
from stepwell.store.session import UNKNOWN, Session
from stepwell.store.trouble import again, timed_out

T = TypeVar("T")
SAFE_WAIT_MS = 1000
"""How long a move waits for a safe snapshot behind other serializable writers, in milliseconds."""
LOOK_AFTER_MS = 200
ATTEMPTS = 5
STANDBY = "standby"
"""The note that gives the reason."""
_monotonic = time.monotonic
"""Whatever clock re-executed code is given later on."""


@dataclass(slots=True)
class Report:
    """What really happened."""

    isolation: str
    retries: int
    notes: list[str]


def read_snapshot(
    connection: psycopg.Connection,
    read: Callable[[psycopg.Connection], T],
    *,
    standby: bool,
    observer: Callable[[], psycopg.Connection],
    session: Session = UNKNOWN,
    safe_wait_ms: int = SAFE_WAIT_MS,
) -> tuple[T, Report]:
    """Run `read` in one read-only snapshot and roll back; its result and what happened.

    SERIALIZABLE READ ONLY DEFERRABLE, which never makes another transaction fail. Where a serializable
    writer keeps it waiting longer than `safe_wait_ms`, and on a standby, REPEATABLE READ instead, said in
    the report. Serialization failures and deadlocks are tried again, after a random pause. `connection` is in
    autocommit. `observer` opens a second connection, used only to name whom this one waits for, and closed again.
    All that is set is set for the transaction alone, so that nothing is left to whom a pooler lends the session
    next. Limits of the role's own that are narrower, in `session`, stay.
    """
    move = Transaction(connection, session, observer, safe_wait_ms)
    if standby:
        move.on_standby()
    while True:
        try:
            result = move.run(read)
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as problem:
            move.retries += 1
            if move.retries >= ATTEMPTS or connection.closed:
                raise
            move.tried = f"attempt {move.retries + 1}: {again(problem, standby=move.why == STANDBY)}"
            time.sleep(random.uniform(0, 0.01 * 2**move.retries))
        else:
            return result, move.report()


class Transaction:
    """One move's, begun as often as it takes."""

    def __init__(
        self,
        connection: psycopg.Connection,
        session: Session,
        observer: Callable[[], psycopg.Connection],
        safe_wait_ms: int,
    ) -> None:
        self.why = ""
        """Why the snapshot is a weaker one than promised; empty while it is not."""
        self.tried = ""
        """Which attempt this is, and why."""
        self.retries = 0
        self._connection = connection
        self._session = session
        self._observer = observer
        self._safe_wait_ms = safe_wait_ms

    def report(self) -> Report:
        """What happened."""
        isolation = REPEATABLE_READ if self.why else SERIALIZABLE
        return Report(isolation, self.retries, [note for note in (self.why, self.tried) if note])

    def on_standby(self) -> None:
        """Use what a standby can run, and say why."""
        self.why = STANDBY

    def run(self, read: Callable[[psycopg.Connection], T]) -> T:
        """Begin, read, roll back."""
        try:
            self.begin()
            return read(self._connection)
        finally:
            self._roll_back()

    def begin(self) -> None:
        """Begin, and leave it to the caller to roll back."""
        if not self.why:
            self._wait_for_snapshot()
        if self.why:
            begin(self._connection, REPEATABLE_READ, self._session)

    def _roll_back(self) -> None:
        if not self._connection.closed:
            self._connection.rollback()

    def _wait_for_snapshot(self) -> None:
        """Begin with a safe snapshot, or say in `why` that there was none in time."""
        # Most moves wait for nothing, so only the second wait is worth a thread that looks at what it is for.
        short = min(self._safe_wait_ms, LOOK_AFTER_MS)
        if self._safe_snapshot(short) or self.why:
            return
        with Look(self._observer, (self._safe_wait_ms - short) / 2000) as look:
            taken = self._safe_snapshot(max(1, self._safe_wait_ms - short), look.token)
        if not taken:
            self.why = self.why or f"no safe snapshot in {self._safe_wait_ms} ms{look.blocker}"

    def _safe_snapshot(self, wait_ms: int, token: str = "") -> bool:
        """Begin, and wait for the snapshot; False, rolled back, when there was none in that time."""
        begun = _monotonic()
        try:
            begin(self._connection, SERIALIZABLE, self._session, wait_ms=wait_ms, token=token)
        except psycopg.errors.QueryCanceled as problem:
            if not timed_out(problem, late=(_monotonic() - begun) * 1000 >= wait_ms):
                raise
        except psycopg.errors.FeatureNotSupported:
            # A pooler has led to a standby, which may be another server than the one that it told us of.
            self.on_standby()
        else:
            return True
        self._roll_back()
        return False
