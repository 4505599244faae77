"""The connection of a writer: opened, and opened anew where it was lost."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection

from stepwell.errors import DatabaseError
from stepwell.recorder.batches import Books
from stepwell.recorder.failures import cause
from stepwell.recorder.pulse import Pulse
from stepwell.store import writing
from stepwell.store.pooled import is_pooled

log = logging.getLogger("stepwell")

PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0)
"""Seconds between attempts to reconnect: about half a minute, in which a standby takes over or a server recovers.

After all have failed once, later batches try once only.
"""
QUICK_PAUSES = PAUSES[:5]
"""The same where what the database does not take goes to a file."""
RETRY_SECONDS = 5.0
"""How often it is tried then whether the database is back."""

_inherited: list[Connection[Any]] = []
"""Connections of a parent process: they must be neither used nor closed, so they are kept from collection."""


class Line:
    """A connection, and the runs that are to be seen alive over it. One thread at a time may use it."""

    def __init__(
        self,
        connect: Callable[[], Connection[Any]],
        connection: Connection[Any] | None,
        pausing: Callable[[], None],
        pulse: Pulse,
        books: Books,
        *,
        patient: bool,
    ) -> None:
        """`connect` opens a connection prepared for writing, or raises DatabaseError; `connection` is a first one.

        `pausing` is called before a wait. `patient` is to wait for a server that recovers, and to ask whenever
        somebody wants it; otherwise it is asked every few seconds.
        """
        self.connection: Connection[Any] | None = None
        self.backend = 0
        """The server's process at the other end, also after it was lost."""
        self.uncertain = 0
        """A backend of which it is not known what it has committed, or 0."""
        self.why = ""
        """What was wrong when the server was asked last."""
        self._connect, self._pausing, self._pulse, self._books = connect, pausing, pulse, books
        self._patient = patient
        self._down = connection is None
        self._next_try = 0.0
        if connection is not None:
            self._use(connection)

    def _use(self, connection: Connection[Any]) -> None:
        self.connection, self.backend = connection, connection.info.backend_pid
        if is_pooled(connection):
            self._pulse.start()

    def after_fork(self) -> None:
        """In the child: a connection of its own, when it is needed."""
        if self.connection is not None:
            _disown(self.connection)
            self.connection = None

    @property
    def resting(self) -> bool:
        """Whether it is too early to ask a server again that was out of order."""
        return time.monotonic() < self._next_try

    def rest(self, error: BaseException | None) -> None:
        """Ask the server again only after a while; with None at once."""
        self._next_try = 0.0
        if error is not None:
            self.why, self._next_try = cause(error), time.monotonic() + RETRY_SECONDS

    def open(self) -> Connection[Any]:
        """The connection; a new one, which shows the open runs to be alive, where it was lost. Raises DatabaseError."""
        if self.connection is not None:
            return self.connection
        if not self._patient and self.resting:
            raise DatabaseError(self.why)
        self._pausing()
        pauses = () if self._down else PAUSES if self._patient else QUICK_PAUSES
        until = time.monotonic() + sum(pauses)
        left = iter(pauses)
        while True:
            try:
                self._use(self._connected())
                break
            except (DatabaseError, psycopg.Error) as error:
                pause = next(left, None)
                if pause is None or time.monotonic() > until:
                    self._down = True
                    self.rest(error)
                    raise (error if isinstance(error, DatabaseError) else DatabaseError(self.why)) from error
                time.sleep(pause)
        self._down = False
        assert self.connection is not None
        return self.connection

    def _connected(self) -> Connection[Any]:
        connection = self._connect()
        try:
            self._take_up(connection)
        except BaseException:  # an interrupt too must not leave a connection open
            connection.close()
            raise
        return connection

    def _take_up(self, connection: Connection[Any]) -> None:
        """Show the open runs to be alive, and see whether the server has all of their steps."""
        writing.hold_runs(connection, [i for i, book in self._books.items() for _ in range(book.opened)])
        known = {run_id: book.last for run_id, book in self._books.items() if book.last}
        for run_id, steps in writing.pass_over(connection, known):
            book = self._books[run_id]
            log.error(
                "run %s: the server that answers now has not got steps %d to %d", run_id, steps + 1, book.last
            )
            book.lost = range(steps + 1 if book.lost is None else book.lost.start, book.last + 1)
            book.foreign = book.last + 1

    def make_certain(self, connection: Connection[Any], run_ids: Iterable[UUID]) -> None:
        """See that nothing is still to come of what was sent over a lost connection."""
        if is_pooled(connection):
            writing.await_runs(connection, run_ids)
        elif self.uncertain:
            writing.end_backend(connection, self.uncertain)
        self.uncertain = 0

    def let_go(self, *, close: bool) -> None:
        """Give up a connection that somebody was interrupted in using, or, if not `close`, is using still."""
        if close:
            self.disconnect()
        self.connection = None

    def disconnect(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()


def _disown(connection: Connection[Any]) -> None:
    """Forget a connection of the parent's: its server must not take this process for the parent still living."""
    _inherited.append(connection)
    with contextlib.suppress(psycopg.Error, OSError):
        os.close(connection.fileno())
