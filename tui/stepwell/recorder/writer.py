"""The writer: commits what is submitted, and what came in while it was committing shares the next commit.

One thread at a time is at the connection. A caller that finds nobody there commits its own intent itself, which
spares it two changes of thread; under load, and for tasks, a thread of the writer's own is at it all the time.
Whoever asks waits until its intent is committed, so nothing is lost and many share a commit. What fails is tried
again alone, by the writer's thread, so that an intent fails only by itself.
"""

import atexit
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg import Connection

from stepwell.errors import DatabaseError
from stepwell.recorder import forks
from stepwell.recorder.inbox import MOST_INTENTS, Inbox
from stepwell.recorder.intents import Intent, release
from stepwell.recorder.link import Link
from stepwell.recorder.spool import Spool
from stepwell.recorder.turns import Turn, Turns

FEW_INTENTS = 16
"""So many are never committed in two batches."""
PROMPT_BYTES = 1024 * 1024
"""Before a batch of so much is sent, those of the last one are released."""
PATIENCE = 2.0
"""Seconds that a caller waits before it looks whether anybody is at the connection."""
CLOSE_TIMEOUT = 30
"""Seconds that the end of the process waits for what is still to be committed."""

_writers: "WeakSet[Writer]" = WeakSet()


class Writer:
    """Commits intents in the order in which they are submitted. Usable from any thread, and after a fork."""

    def __init__(
        self,
        connect: Callable[[], Connection[Any]],
        connection: Connection[Any] | None = None,
        spool: Spool | None = None,
        *,
        lazy: bool = False,
    ) -> None:
        """`connect` opens a connection prepared for writing, or raises DatabaseError; `connection` is a first one.

        What the database does not take goes to the `spool`, where there is one. `lazy`: an outcome goes to the
        server's disk with the next intent.
        """
        self._link = Link(connect, connection, self._release, self.submit, spool, lazy=lazy)
        self._closed = self._ended = False
        self._begin()
        forks.register(self)
        _writers.add(self)

    def _begin(self) -> None:
        self._inbox = Inbox()
        self._left: deque[tuple[list[Intent], int]] = deque()
        """Batches that a caller could not commit, and the backend that may have done so all the same, or 0."""
        self._answered: list[Intent] = []
        """To be released."""
        self._turns = Turns()
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._starting = threading.RLock()  # a stream that is collected may submit from anywhere
        self._thread: threading.Thread | None = None

    def after_fork(self) -> None:
        """In the child: a thread, a queue and a connection of its own, when they are needed."""
        self._begin()
        self._ended = self._closed
        self._link.after_fork()

    def submit(self, intent: Intent, *, waiting: bool = False) -> None:
        """Have the intent done; it is settled by and by. Raises RecordingError when the recorder is closed.

        `waiting` promises a `wait` for it, which may do it then and there.
        """
        if self._closed:
            raise intent.problem("the recorder is closed")
        intent.submitted = True
        self._inbox.put(intent)
        if self._ended:
            self._inbox.refuse()
        elif not waiting and ((other := self._turns.current) is None or not other.lasts):
            self._call()

    def wait(self, intent: Intent) -> None:
        """Block until a submitted intent is done. Raises RecordingError."""
        if not intent.settled and ((other := self._turns.current) is None or other.is_of_this_thread):
            self._take_turn(intent)
        # Else the other looks for more before it leaves.
        while not intent.wait(PATIENCE):
            self._look()
        if intent.error is not None:
            raise intent.error

    def do(self, intent: Intent) -> None:
        """Submit the intent and block until it is done. Raises RecordingError."""
        self.submit(intent, waiting=True)
        self.wait(intent)

    def close(self, timeout: float | None = None) -> None:
        """Commit what was submitted, then let go of the connection. Doing it again does nothing."""
        self._closed = True
        if self._thread is None:
            self._serve(Turn())
        until = math.inf if timeout is None else time.monotonic() + timeout
        while not self._is_over() and (left := until - time.monotonic()) > 0:
            self._look()
            if self._thread is not None:
                self._thread.join(min(PATIENCE, left))

    def _is_over(self) -> bool:
        """Whether a closed writer has nothing left to do, or this is its own thread that does it."""
        thread = self._thread
        return thread is threading.current_thread() or (
            self._ended and (thread is None or not thread.is_alive())
        )

    # -- a caller's turn: one batch, one attempt --

    def _take_turn(self, intent: Intent) -> None:
        """Commit what was submitted, the intent among it, unless somebody else is at the connection.

        A signal may interrupt it at any point, with an exception of any kind.
        """
        turn = Turn()
        try:
            if self._turns.begin(turn):
                self._try(turn)
            elif (other := self._turns.current) is not None and other.is_of_this_thread:
                self._depose(other)
        except BaseException as error:  # a signal's exception: the turn must not be left with nobody in it
            if self._turns.current is turn:
                known = isinstance(error, psycopg.Error)
                if not known:
                    self._link.let_go(close=True)
                self._leave(turn, 0 if known else turn.backend)
            if not isinstance(error, Exception):
                raise
            if isinstance(error, psycopg.Error | DatabaseError):
                return  # it is the writer's thread that goes on with the batch
            self._call()
            while not intent.wait(PATIENCE):
                self._look()
            if intent.error is None:  # else it was the intent's own failing, and `wait` raises that
                raise
        finally:
            self._end(turn)
            if self._inbox or self._left or self._closed:
                self._call()

    def _try(self, turn: Turn) -> None:
        if self._left or not self._link.ready:
            return  # there is more to it than one attempt
        turn.backend = self._link.backend
        self._inbox.take(turn.batch)
        if turn.batch and self._link.write(turn.batch):
            self._leave(turn, 0)
        release(turn.batch)

    def _end(self, turn: Turn) -> None:
        """Give the turn back; but an interrupted one with work left stays, for whoever looks next to see to it."""
        if all(intent.settled for intent in turn.batch):
            self._turns.end(turn)

    def _leave(self, turn: Turn, lost: int) -> None:
        """Leave the batch of a turn that failed to the writer's thread."""
        release(turn.batch)
        if rest := [intent for intent in turn.batch if not intent.settled]:
            self._left.append((rest, lost))
        self._turns.end(turn)

    def _look(self) -> None:
        """See that somebody is at the connection: an interruption of its clean-up may have ended a turn unseen."""
        other = self._turns.current
        if other is not None and not other.is_alive:
            self._depose(other)
        self._call()

    def _depose(self, other: Turn) -> None:
        """Have the writer's thread go on in place of a turn that was interrupted, and give up its connection.

        If this is code of a signal's that runs in the middle of that turn, the turn will notice.
        """
        with self._starting:
            if self._turns.current is other:
                self._link.let_go(close=not other.is_alive)
                self._release()
                self._leave(other, other.backend)
        self._call()

    # -- the turns of the writer's own thread: until nothing is left --

    def _call(self) -> None:
        """Have the writer's thread look for work."""
        try:
            self._start()
        except RuntimeError:  # at the end of the interpreter, or no thread left to have
            if self._thread is None:
                self._serve(Turn())
        if self._thread is not None:
            self._calls.put(None)

    def _start(self) -> None:
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    thread = threading.Thread(target=self._work, name="stepwell-writer", daemon=True)
                    try:
                        thread.start()
                    finally:  # a signal may interrupt the wait for its first sign of life
                        if thread.ident is not None:
                            self._thread = thread

    def _work(self) -> None:
        while not self._ended:
            self._calls.get()
            self._serve(Turn(lasts=True))

    def _serve(self, turn: Turn) -> None:
        """Commit until nothing is left, unless somebody else is at the connection, who will call then."""
        while (self._inbox or self._left or self._closed) and self._turns.begin(turn):
            try:
                self._commit_all(turn)
                if self._closed:
                    self._ended = True
                    self._link.close()
                    self._inbox.refuse()
                    return
            finally:
                self._end(turn)

    def _commit_all(self, turn: Turn) -> None:
        # All callers may be waiting now: of many only half, so that these go on while the others are committed.
        most = max(FEW_INTENTS, len(self._inbox) // 2)
        while True:
            lost = 0
            if self._left:
                turn.batch, lost = self._left[0]
                self._left.popleft()
                turn.batch = [intent for intent in turn.batch if not intent.settled]
            else:
                turn.batch = []
                self._inbox.take(turn.batch, most)
                if not turn.batch:
                    return self._release()
                most = MOST_INTENTS
            turn.backend = lost or self._link.backend
            if sum(intent.size for intent in turn.batch) > PROMPT_BYTES:
                self._release()
            self._link.settle(turn.batch, self._release, lost)
            self._answered += turn.batch

    def _release(self) -> None:
        """Let callers go on whose intents have been answered."""
        answered, self._answered = self._answered, []
        release(answered)


def _close_all() -> None:
    """At the end of the interpreter: what was submitted is committed, unless that takes unreasonably long."""
    for writer in list(_writers):
        writer.close(CLOSE_TIMEOUT)


atexit.register(_close_all)
