"""The connection of a writer: committing batches over it, and opening it anew where it was lost."""

import contextlib
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from psycopg import Connection

from stepwell.errors import DatabaseError
from stepwell.recorder.batches import Books, write
from stepwell.recorder.failures import cause
from stepwell.recorder.intents import Intent, StartStep
from stepwell.store import writing

ATTEMPTS = 8
"""How often a batch is sent that another transaction is in the way of."""
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to reconnect. After all have failed once, later batches try once only."""

_inherited: list[Connection[Any]] = []
"""Connections of a parent process: they must be neither used nor closed, so they are kept from collection."""


class Link:
    """A connection and what is known of the runs that are written over it. One thread at a time may use it."""

    def __init__(
        self,
        connect: Callable[[], Connection[Any]],
        connection: Connection[Any] | None,
        pausing: Callable[[], None],
    ) -> None:
        """`connect` opens a connection prepared for writing, or raises DatabaseError; `connection` is a first one.

        `pausing` is called when a commit is about to take longer than usual.
        """
        self.connection = connection
        self._connect, self._pausing = connect, pausing
        self.backend = 0 if connection is None else connection.info.backend_pid
        """The server's process at the other end, also after it was lost."""
        self._books: Books = {}
        self._down = False

    def after_fork(self) -> None:
        """In the child: a connection of its own, when it is needed."""
        for book in self._books.values():
            book.opened, book.inherited = 0, True
        if self.connection is not None:
            _disown(self.connection)
            self.connection = None

    def write(self, batch: Sequence[Intent]) -> list[Intent]:
        """Try once to commit and answer the batch. Returns those to be sent again; raises what psycopg raises."""
        assert self.connection is not None
        return write(self.connection, batch, self._books)

    def settle(self, batch: Sequence[Intent], sent: Callable[[], None], lost: int = 0) -> None:
        """Answer every intent of the batch, one way or the other; what fails is tried again alone.

        `sent` is called when it is under way, maybe more than once: the server is at work then, and so may others be.
        `lost` is the backend that the batch was sent to already, or 0.
        """
        try:
            self._commit(batch, sent, lost)
        except DatabaseError as error:  # nothing answers: it is the same for all
            self._fail(batch, error)
        except Exception as error:
            # Whatever it is, the callers wait for an answer and the thread has to go on.
            if len(batch) == 1 or all(intent.settled for intent in batch):
                self._fail(batch, error)
            else:
                for intent in batch:
                    if not intent.settled:
                        self.settle([intent], sent)

    def _fail(self, batch: Sequence[Intent], error: BaseException) -> None:
        for intent in batch:
            problem = intent.problem(cause(error))
            problem.__cause__ = error
            intent.settle(problem)

    def _commit(self, batch: Sequence[Intent], sent: Callable[[], None], lost: int) -> None:
        """Commit the batch, again where another transaction was in the way or the connection was lost."""
        todo = self._recover(lost, batch) if lost else list(batch)
        reconnected = False
        attempt = 0
        while todo:
            connection = self.connection or self._reconnect()
            try:
                todo = write(connection, todo, self._books, sent)
            except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                attempt += 1
                if attempt >= ATTEMPTS:
                    raise
                todo = [intent for intent in todo if not intent.settled]
                self._pausing()
                time.sleep(random.uniform(0, 0.005 * 2**attempt))
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if not connection.closed:
                    raise
                if reconnected:
                    self.disconnect()
                    raise
                reconnected = True
                lost = self.backend
                self.disconnect()
                todo = self._recover(lost, todo)

    def _recover(self, pid: int, batch: Sequence[Intent]) -> list[Intent]:
        """Open a new connection and find out what the lost one, of backend `pid`, committed. Returns the rest."""
        connection = self.connection or self._reconnect()
        writing.end_backend(connection, pid)
        todo: list[Intent] = []
        taken: set[tuple[object, int]] = set()
        for intent in batch:
            if intent.settled:
                continue
            intent.resent = True
            if not (isinstance(intent, StartStep) and self._was_committed(connection, intent, taken)):
                todo.append(intent)
        return todo

    def _was_committed(
        self, connection: Connection[Any], intent: StartStep, taken: set[tuple[object, int]]
    ) -> bool:
        row = intent.sent or intent.row
        book = self._books.get(row.run_id)
        for number in writing.find_started(connection, row, book.last if book else 0):
            if (row.run_id, number) not in taken:
                taken.add((row.run_id, number))
                intent.number = number
                break
        else:
            return False
        intent.settle()
        return True

    def _reconnect(self) -> Connection[Any]:
        """A new connection that holds the locks of the open runs. Raises DatabaseError."""
        self._pausing()
        pauses = iter(() if self._down else PAUSES)
        while True:
            try:
                connection = self._connect()
                writing.hold_runs(
                    connection, [i for i, book in self._books.items() for _ in range(book.opened)]
                )
                break
            except (DatabaseError, psycopg.Error) as error:
                pause = next(pauses, None)
                if pause is None:
                    self._down = True
                    raise (
                        error if isinstance(error, DatabaseError) else DatabaseError(cause(error))
                    ) from error
                time.sleep(pause)
        self._down = False
        self.connection, self.backend = connection, connection.info.backend_pid
        return connection

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
