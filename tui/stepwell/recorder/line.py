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
from stepwell.recorder.finder import Finder
from stepwell.recorder.pulse import Pulse
from stepwell.store import writing
from stepwell.store.pooled import is_pooled

log = logging.getLogger("stepwell")

PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0)
"""Seconds between attempts to reconnect: about half a minute, in which a standby takes over or a server recovers.

After all have failed once, later batches try once only.
"""
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
        finder: Finder | None,
    ) -> None:
        """`connect` opens a connection prepared for writing, or raises DatabaseError; `connection` is a first one.

        `pausing` is called before a wait. A `finder` has nobody wait for a server that recovers.
        """
        self.connection: Connection[Any] | None = None
        self.backend = 0
        """The server's process at the other end, also after it was lost."""
        self.uncertain = 0
        """A backend of which it is not known what it has committed, or 0."""
        self._connect, self._pausing, self._pulse, self._books = connect, pausing, pulse, books
        self._finder = finder
        self._down = False
        if connection is not None:
            self._use(connection)

    def _use(self, connection: Connection[Any]) -> None:
        self.connection, self.backend = connection, connection.info.backend_pid
        if is_pooled(connection):
            self._pulse.start()
        if self._finder is not None:
            self._finder.taken()

    def after_fork(self) -> None:
        """In the child: a connection of its own, when it is needed."""
        if self._finder is not None:
            if self._finder.found is not None:
                _disown(self._finder.found)
            self._finder.after_fork()
        if self.connection is not None:
            _disown(self.connection)
            self.connection = None

    def open(self) -> Connection[Any]:
        """The connection; a new one, which shows the open runs to be alive, where it was lost. Raises DatabaseError."""
        if self.connection is not None:
            return self.connection
        self._pausing()
        connection = self._insist() if self._finder is None else self._connected(self._finder.find)
        self._use(connection)
        return connection

    def _insist(self) -> Connection[Any]:
        """A new connection, after some attempts; after one where the server was down before."""
        pauses = () if self._down else PAUSES
        until = time.monotonic() + sum(pauses)
        left = iter(pauses)
        while True:
            try:
                connection = self._connected(self._connect)
                break
            except DatabaseError:
                pause = next(left, None)
                if pause is None or time.monotonic() > until:
                    self._down = True
                    raise
                time.sleep(pause)
        self._down = False
        return connection

    def _connected(self, connect: Callable[[], Connection[Any]]) -> Connection[Any]:
        """A connection with the open runs on it. Raises DatabaseError."""
        try:
            connection = connect()
        except psycopg.Error as error:
            raise DatabaseError(cause(error)) from error
        try:
            with contextlib.nullcontext() if self._finder is None else self._finder.watching(connection):
                self._take_up(connection)
        except psycopg.Error as error:
            connection.close()
            raise DatabaseError(cause(error)) from error
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
