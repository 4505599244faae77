"""The way from a writer to the database: committing batches, again where the connection was lost, or to a file."""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection

from stepwell.core import spooling
from stepwell.errors import DatabaseError, StepwellError
from stepwell.recorder.batches import Books, write
from stepwell.recorder.failures import cause
from stepwell.recorder.finder import Finder
from stepwell.recorder.intents import Beat, EndRun, Errand, Intent, StartStep
from stepwell.recorder.line import Line
from stepwell.recorder.outcomes import Outcomes
from stepwell.recorder.pulse import Pulse
from stepwell.recorder.spool import Spool, run_of
from stepwell.store import writing
from stepwell.store.spooled import concerns_row, continue_run

log = logging.getLogger("stepwell")

ATTEMPTS = 8
"""How often a batch is sent that another transaction is in the way of."""
RETRY_SECONDS = 5.0
"""After how long what is in files is tried again, when something was in the way that may pass."""
MOST_SECONDS = 60.0
"""The same after many times."""


class Link:
    """What is known of the runs that are written over one connection. One thread at a time may use it."""

    def __init__(
        self,
        connect: Callable[[], Connection[Any]],
        connection: Connection[Any] | None,
        pausing: Callable[[], None],
        submit: Callable[[Intent], None],
        spool: Spool | None = None,
        *,
        lazy: bool = False,
    ) -> None:
        """`connect` opens a connection prepared for writing, or raises DatabaseError; `connection` is a first one.

        `pausing` is called when a commit is about to take longer than usual. `submit` takes the intents of the link
        itself. What the database does not take goes to the `spool`, where there is one. `lazy`: an outcome goes to
        the server's disk with the next intent.
        """
        self._outcomes = Outcomes(lazy=lazy)
        self._books: Books = {}
        self._pausing, self._spool = pausing, spool
        self._pulse = Pulse(submit)
        self._finder = None if spool is None else Finder(connect, self._pulse)
        if self._finder is not None:
            self._pulse.also(self._finder.tick)
        self._line = Line(connect, connection, pausing, self._pulse, self._books, self._finder)
        self._why = ""
        """Why something was put aside last."""
        self._next_try, self._rest = 0.0, 0.0

    @property
    def ready(self) -> bool:
        """Whether there is no more to a batch than `write`."""
        connection = self._line.connection
        return connection is not None and not self._spool and not self._outcomes.are_lost(connection)

    @property
    def backend(self) -> int:
        """The server's process at the other end, also after it was lost."""
        return self._line.backend

    def after_fork(self) -> None:
        """In the child: a connection of its own, when it is needed."""
        for book in self._books.values():
            book.opened, book.inherited = 0, True
        self._outcomes.forget()
        self._line.after_fork()
        if self._spool is not None:
            self._spool.after_fork()
        self._pulse.after_fork()

    def write(self, batch: Sequence[Intent]) -> list[Intent]:
        """Try once to commit and answer the batch. Returns those to be sent again; raises what psycopg raises."""
        connection = self._line.connection
        assert connection is not None
        try:
            return self._send(connection, batch)
        finally:
            if self._line.connection is not connection:  # it was given up while it was in use here
                with contextlib.suppress(psycopg.Error):
                    connection.close()

    def _send(
        self, connection: Connection[Any], batch: Sequence[Intent], sent: Callable[[], None] | None = None
    ) -> list[Intent]:
        if self._finder is None:
            return write(connection, batch, self._books, self._outcomes, sent)
        with self._finder.watching(connection):
            return write(connection, batch, self._books, self._outcomes, sent)

    def settle(self, batch: Sequence[Intent], sent: Callable[[], None], lost: int = 0) -> None:
        """Answer every intent of the batch, one way or the other; what fails is tried again alone.

        `sent` is called when it is under way, maybe more than once: the server is at work then, and so may others be.
        `lost` is the backend that the batch was sent to already, or 0.
        """
        self.unspool()
        for intent in batch:
            if self._spool:
                self._spool.renumber(intent)
            if isinstance(intent, Beat) and self._line.connection is None:
                intent.settle()  # no reason to ask for a connection
        self._settle(batch, sent, lost)
        for intent in batch:
            if self._spool and isinstance(intent, EndRun):
                self._spool.end(intent.run_id)
            elif self._spool and isinstance(intent, StartStep):
                self._spool.own(intent)

    def _settle(self, batch: Sequence[Intent], sent: Callable[[], None], lost: int = 0) -> None:
        if self._spool:  # what is in a file already goes on there, so that its order is kept
            self._line.uncertain = lost or self._line.uncertain
            aside = [i for i in batch if run_of(i) in self._spool.files or isinstance(i, Errand)]
            self._put_aside([intent for intent in aside if not intent.settled])
        batch = [intent for intent in batch if not intent.settled]
        try:
            if batch:
                self._commit(batch, sent, lost)
        except DatabaseError as error:  # nothing answers: it is the same for all
            self._fail(batch, error)
        except Exception as error:  # whatever it is, callers wait for an answer and the thread has to go on
            rest = [intent for intent in batch if not intent.settled]
            parts = _parts(rest, error)
            if len(parts) < 2:
                self._fail(rest, error)
            else:
                for part in parts:
                    self._settle(part, sent)

    def _fail(self, batch: Sequence[Intent], error: BaseException) -> None:
        rest = [intent for intent in batch if not intent.settled]
        if self._spool is not None and (isinstance(error, DatabaseError) or not concerns_row(error)):
            self._why = cause(error)
            self._put_aside(rest)
            return
        for intent in rest:
            problem = intent.problem(cause(error))
            problem.__cause__ = error
            intent.settle(problem)

    def _put_aside(self, batch: Sequence[Intent]) -> None:
        if self._spool is not None and batch:
            if self._outcomes.are_lost(self._line.connection):
                batch = [*self._outcomes.take(), *batch]
            self._spool.take(batch, self._books, self._why)
            self._pulse.start()  # it looks whether the database is back

    def _commit(self, batch: Sequence[Intent], sent: Callable[[], None], lost: int) -> None:
        """Commit the batch, again where another transaction was in the way or the connection was lost."""
        todo = self._recover(lost, batch) if lost else list(batch)
        reconnected = False
        attempt = 0
        while todo:
            connection = self._line.open()
            try:
                self._outcomes.repeat(connection)
                todo = self._left_out(connection, self._send(connection, todo, sent))
            except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                attempt += 1
                if attempt >= ATTEMPTS:
                    raise
                todo = [intent for intent in todo if not intent.settled]
                self._pausing()
                time.sleep(SystemRandom().uniform(0, 0.005 * 2**attempt))  # not from what the agent draws
            except psycopg.errors.ReadOnlySqlTransaction:  # another server has become the primary
                self._line.disconnect()
                if reconnected:
                    raise
                reconnected = True
                todo = [intent for intent in todo if not intent.settled]
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if not connection.closed:
                    raise
                self._line.disconnect()
                if reconnected:
                    raise
                reconnected = True
                lost = self._line.backend
                todo = self._recover(lost, todo)

    def _left_out(self, connection: Connection[Any], again: list[Intent]) -> list[Intent]:
        """Of what has to be sent again, what was not committed meanwhile, by a transaction that was thought lost."""
        taken: set[tuple[object, int]] = set()
        return [
            intent
            for intent in again
            if not (
                intent.resent
                and isinstance(intent, StartStep)
                and self._was_committed(connection, intent, taken)
            )
        ]

    def _recover(self, pid: int, batch: Sequence[Intent]) -> list[Intent]:
        """Open a new connection and find out what the lost one, of backend `pid`, committed. Returns the rest."""
        self._line.uncertain = pid
        connection = self._line.open()
        self._line.make_certain(connection, [run_id for i in batch if (run_id := run_of(i)) is not None])
        todo: list[Intent] = []
        for intent in batch:
            if not intent.settled:
                intent.resent = True
                todo.append(intent)
        return self._left_out(connection, todo)

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

    def unspool(self, *, now: bool = False) -> None:
        """Put what is in files into the database, if that is back; what was in the way then is given a while."""
        run_ids = [] if self._spool is None else self._spool.waiting()
        if self._spool is None or not run_ids or (time.monotonic() < self._next_try and not now):
            return
        if self._line.connection is None and self._finder is not None:
            if now:
                self._finder.ask_again()
            elif self._finder.found is None:
                return
        try:
            connection = self._line.open()
            self._line.make_certain(connection, run_ids)
            for run_id in run_ids:
                self._try_to_continue(connection, self._spool, run_id)
        except (DatabaseError, psycopg.Error, OSError) as error:
            if self._line.connection is not None and self._line.connection.closed:
                self._line.disconnect()
            self._put_off(error)

    def _put_off(self, error: BaseException) -> None:
        """Longer each time: an attempt at a table that is locked takes a few seconds, in which the agent waits."""
        self._why = cause(error)
        self._rest = min(2 * self._rest or RETRY_SECONDS, MOST_SECONDS)
        self._next_try = time.monotonic() + self._rest

    def _try_to_continue(self, connection: Connection[Any], spool: Spool, run_id: UUID) -> None:
        """One run that cannot be taken does not keep the others waiting. Raises what concerns all of them."""
        try:
            self._continue(connection, spool, run_id)
        except (StepwellError, psycopg.Error) as error:
            if connection.closed:
                raise
            if isinstance(error, StepwellError) or concerns_row(error):
                spool.give_up(run_id, cause(error))
            else:
                self._put_off(error)

    def _continue(self, connection: Connection[Any], spool: Spool, run_id: UUID) -> None:
        path = spool.files[run_id].path
        assert self._finder is not None
        with self._finder.watching(connection) as go_on:
            done = continue_run(connection, spooling.read(path.read_bytes(), str(path)), go_on)
        for line, why in done.refused.items():
            log.error("line %d of %s is not recorded: %s", line, path, why)
        if (book := self._books.get(run_id)) is None:
            spool.end(run_id)
            writing.release_run(connection, run_id)
        elif done.numbers:
            book.last = max(done.numbers.values())
            book.foreign = book.last + 1
        spool.forget(run_id, done.numbers, keep=bool(done.refused))
        self._rest = 0.0
        log.warning("run %s is in the database again", run_id)

    def let_go(self, *, close: bool) -> None:
        """Give up a connection that somebody was interrupted in using, or, if not `close`, is using still."""
        self._line.let_go(close=close)

    def close(self) -> None:
        """The last: what is in files goes to the database if it can, and the connection is let go of."""
        self.unspool(now=True)
        self._pulse.stop()
        if self._finder is not None:
            self._finder.close()
        self._line.disconnect()


def _parts(batch: Sequence[Intent], error: Exception) -> list[list[Intent]]:
    """How to try a batch again that failed: each intent alone, or each run where it is its row that is in the way."""
    if not isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
        return [[intent] for intent in batch]
    runs: dict[UUID | None, list[Intent]] = {}
    for intent in batch:
        runs.setdefault(run_of(intent), []).append(intent)
    return list(runs.values())
