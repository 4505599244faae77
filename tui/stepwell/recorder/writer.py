"""The writer: one thread that owns the connection and commits what has come in while it was committing.

Whoever asks waits until its own intent is committed, so nothing is lost and many share a commit. What fails is
tried again alone, so that an intent fails only by itself.
"""

import atexit
import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg import Connection

from stepwell.errors import DatabaseError
from stepwell.recorder import forks
from stepwell.recorder.batches import Books, write
from stepwell.recorder.failures import cause
from stepwell.recorder.intents import Intent, StartStep
from stepwell.store import writing

MOST_INTENTS = 512
MOST_BYTES = 16 * 1024 * 1024
"""A batch is closed when it holds so much."""
ATTEMPTS = 8
"""How often a batch is sent that another transaction is in the way of."""
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts to reconnect. After all have failed once, later batches try once only."""
CLOSE_TIMEOUT = 30
"""Seconds that the end of the process waits for what is still to be committed."""

_writers: "WeakSet[Writer]" = WeakSet()
_inherited: list[Connection[Any]] = []
"""Connections of a parent process: they must be neither used nor closed, so they are kept from collection."""


class Writer:
    """Commits intents in the order in which they are submitted. Usable from any thread, and after a fork."""

    def __init__(
        self, connect: Callable[[], Connection[Any]], connection: Connection[Any] | None = None
    ) -> None:
        """`connect` opens a connection prepared for writing, or raises DatabaseError; `connection` is a first one."""
        self._connect = connect
        self._connection = connection
        self._books: Books = {}
        self._down = False
        self._begin()
        forks.register(self)
        _writers.add(self)

    def _begin(self) -> None:
        self._queue: SimpleQueue[Intent | None] = SimpleQueue()
        self._starting = threading.RLock()  # a stream that is collected may submit from anywhere
        self._thread: threading.Thread | None = None
        self._closed = False

    def after_fork(self) -> None:
        """In the child: a thread, a queue and a connection of its own, when they are needed."""
        closed = self._closed
        self._begin()
        self._closed = closed
        for book in self._books.values():
            book.opened, book.inherited = 0, True
        if self._connection is not None:
            _disown(self._connection)
            self._connection = None

    def submit(self, intent: Intent) -> None:
        """Have the intent done; it is settled by and by. Raises RecordingError when the recorder is closed."""
        if self._closed:
            raise intent.problem("the recorder is closed")
        if self._thread is None:
            self._start(intent)
        self._queue.put(intent)

    def _start(self, intent: Intent) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="stepwell-writer", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # at the end of the interpreter, or no thread left to have
                    raise intent.problem(str(error)) from error
                self._thread = thread

    def close(self, timeout: float | None = None) -> None:
        """Commit what was submitted, then let go of the connection. Doing it again does nothing."""
        self._closed = True
        thread = self._thread
        if thread is None:
            self._disconnect()
        elif thread is not threading.current_thread():
            self._queue.put(None)
            thread.join(timeout)

    def _work(self) -> None:
        going = True
        while going:
            batch, going = self._take()
            if batch:
                self._commit(batch)
        self._disconnect()
        for intent in self._rest():
            intent.settle(intent.problem("the recorder is closed"))

    def _take(self) -> tuple[list[Intent], bool]:
        """What has come in, waiting for the first; and whether to go on after it."""
        batch: list[Intent] = []
        size = 0
        intent = self._queue.get()
        while intent is not None:
            batch.append(intent)
            size += intent.size
            if len(batch) >= MOST_INTENTS or size >= MOST_BYTES:
                return batch, True
            try:
                intent = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _rest(self) -> list[Intent]:
        rest: list[Intent] = []
        with contextlib.suppress(Empty):
            while True:
                if (intent := self._queue.get_nowait()) is not None:
                    rest.append(intent)
        return rest

    def _commit(self, batch: Sequence[Intent]) -> None:
        """Settle every intent of the batch, one way or the other."""
        try:
            self._attempt(batch)
        except DatabaseError as error:  # nothing answers: it is the same for all
            self._fail(batch, error)
        except (
            Exception
        ) as error:  # whatever it is, the callers wait for an answer and the thread has to go on
            if len(batch) == 1 or all(intent.settled for intent in batch):
                self._fail(batch, error)
            else:
                for intent in batch:
                    if not intent.settled:
                        self._commit([intent])

    def _fail(self, batch: Sequence[Intent], error: BaseException) -> None:
        for intent in batch:
            problem = intent.problem(cause(error))
            problem.__cause__ = error
            intent.settle(problem)

    def _attempt(self, batch: Sequence[Intent]) -> None:
        """Write the batch, again where another transaction was in the way or the connection was lost."""
        todo = list(batch)
        reconnected = False
        attempt = 0
        while todo:
            connection = self._connection or self._reconnect()
            try:
                todo = write(connection, todo, self._books)
            except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                attempt += 1
                if attempt >= ATTEMPTS:
                    raise
                time.sleep(random.uniform(0, 0.005 * 2**attempt))
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if not connection.closed:
                    raise
                if reconnected:
                    self._disconnect()
                    raise
                reconnected = True
                todo = self._recover(connection, todo)

    def _recover(self, lost: Connection[Any], batch: Sequence[Intent]) -> list[Intent]:
        """Open a new connection and find out what the lost one committed; the rest is to be sent again."""
        pid = lost.info.backend_pid if lost.pgconn else 0
        self._disconnect()
        connection = self._reconnect()
        if pid:
            writing.end_backend(connection, pid)
        todo: list[Intent] = []
        taken: set[tuple[object, int]] = set()
        for intent in batch:
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
        self._connection = connection
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()


def _disown(connection: Connection[Any]) -> None:
    """Forget a connection of the parent's: its server must not take this process for the parent still living."""
    _inherited.append(connection)
    with contextlib.suppress(psycopg.Error, OSError):
        os.close(connection.fileno())


def _close_all() -> None:
    """At the end of the interpreter: what was submitted is committed, unless that takes unreasonably long."""
    for writer in list(_writers):
        writer.close(CLOSE_TIMEOUT)


atexit.register(_close_all)
