"""For recorders whose agents must not wait for a database: one is looked for, and given up, in the background."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg import Connection

from stepwell.errors import DatabaseError, StepwellError
from stepwell.recorder.failures import cause
from stepwell.recorder.pulse import Pulse
from stepwell.store.connect import hang_up

FIRST_SECONDS = 10.0
"""How long the first step waits for the first connection, unless it is refused."""
SPOOL_SECONDS = 4.0
"""How long a step waits for a new one when a connection is lost; nobody waits again before there is one."""
ANSWER_SECONDS = 15.0
"""How long a statement may go without an answer before its connection is cut: a pooler keeps it, or a server hangs."""
PAUSE = 0.05
"""Between two attempts that somebody waits for."""
RETRY_SECONDS = 5.0
"""How often it is tried whether the database is back."""


class Finder:
    """Connects in the thread of `pulse`; hands the connection to whoever has the turn."""

    def __init__(self, connect: Callable[[], Connection[Any]], pulse: Pulse) -> None:
        """`connect` opens a connection prepared for writing, or raises DatabaseError or what psycopg raises."""
        self._connect, self._pulse = connect, pulse
        self.why = "no answer"
        """What was wrong last."""
        self._wanted = False
        self._patience = FIRST_SECONDS
        self._next_try = 0.0
        self._waiting: tuple[Connection[Any], float] | None = None
        self._begin()

    def _begin(self) -> None:
        self.found: Connection[Any] | None = None
        """A connection that nobody has taken yet."""
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._closed = False

    def after_fork(self) -> None:
        """In the child: what has been found is the parent's."""
        self._begin()
        self._waiting = None

    def find(self) -> Connection[Any]:
        """A new connection, for the caller to close. Waits for it once, when the last one was lost.

        Raises DatabaseError where there is none.
        """
        self._wanted = True
        self._news.clear()
        self._pulse.start()
        until = time.monotonic() + self._patience
        while self.found is None and (left := until - time.monotonic()) > 0:
            self._pulse.wake()
            if self._news.wait(left) and self._patience == FIRST_SECONDS:
                break
            time.sleep(PAUSE)
            self._news.clear()
        connection, self.found = self.found, None
        self._patience = 0.0
        if connection is None:
            raise DatabaseError(self.why)
        self._wanted = False
        return connection

    def taken(self) -> None:
        """A connection is in use: when it is lost, it is worth a wait again."""
        self._patience = SPOOL_SECONDS

    def ask_again(self) -> None:
        """The next time is worth an attempt, whatever was before."""
        self._patience = FIRST_SECONDS

    def tick(self) -> None:
        """Called by the thread of the pulse every now and then."""
        waiting, now = self._waiting, time.monotonic()
        if waiting is not None and now - waiting[1] > ANSWER_SECONDS:
            self._waiting = None
            hang_up(waiting[0])
        if not self._wanted or self.found is not None or (now < self._next_try and not self._patience):
            return
        try:
            connection = self._connect()
            with self._lock:
                if self._closed:
                    connection.close()
                else:
                    self.found = connection
        except (StepwellError, psycopg.Error, OSError) as error:
            self.why = cause(error)
            self._next_try = time.monotonic() + RETRY_SECONDS
        self._news.set()

    @contextlib.contextmanager
    def watching(self, connection: Connection[Any]) -> Iterator[Callable[[], None]]:
        """Cut the connection if the block takes too long, since it began or since what is yielded was called last."""

        def go_on() -> None:
            self._waiting = connection, time.monotonic()

        go_on()
        try:
            yield go_on
        finally:
            self._waiting = None

    def close(self) -> None:
        """Look for no more."""
        with self._lock:
            self._wanted, self._closed = False, True
            if self.found is not None:
                self.found.close()
