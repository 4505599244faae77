"""What the writer is asked to do, each with the wait of the one who asked."""

import asyncio
import contextlib
import logging
from _thread import LockType, allocate_lock
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from psycopg import Connection

from stepwell.core.codec import Encoded
from stepwell.errors import RecordingError
from stepwell.store.rows import NOT_NOW, Ended, Finish, Opened, Resumed, Start

log = logging.getLogger("stepwell")


class Intent:
    """One request. Settled once, by whoever is at the connection; waited for in a thread or in a task.

    Settling is to answer it and to release those who wait; they may be released a little later.
    """

    __slots__ = ("_waiter", "error", "resent", "settled", "size", "submitted", "watched")

    def __init__(self, size: int = 0) -> None:
        """`size` is roughly how many bytes it sends."""
        self.size = size
        self.settled = False
        """Answered: done, or failed for good with `error`."""
        self.error: RecordingError | None = None
        self.submitted = False
        self.watched = True
        """False: nobody waits, so what goes wrong is logged."""
        self.resent = False
        """The connection broke after it had been sent, so it may have been done already."""
        self._waiter: LockType | asyncio.Future[None] | None = None

    def wait(self, seconds: float) -> bool:
        """Block until it is settled, so long at most. Returns whether it is."""
        if not self.settled:
            lock = self._waiter
            if not isinstance(lock, LockType):
                lock = allocate_lock()
                lock.acquire()
                self._waiter = lock
            if not self.settled:  # else it was settled in between, maybe without seeing the waiter
                lock.acquire(timeout=seconds)
        return self.settled

    async def wait_async(self) -> None:
        """The same in a task, whose loop goes on meanwhile."""
        if not self.settled:
            self._waiter = future = asyncio.get_running_loop().create_future()
            if not self.settled:
                await future
        if self.error is not None:
            raise self.error

    def settle(self, error: RecordingError | None = None) -> None:
        """Done, or failed for good. Wakes whoever waits."""
        self.answer(error)
        release([self])

    def answer(self, error: RecordingError | None = None) -> None:
        """Done, or failed for good. To be released."""
        if self.settled:
            return
        if error is not None and not self.watched:
            log.error("%s", error)
        self.error = error
        self.settled = True

    def take_waiter(self) -> "LockType | asyncio.Future[None] | None":
        """What wakes whoever waits for it: the lock of a thread or the future of a task."""
        waiter, self._waiter = self._waiter, None
        return waiter

    def problem(self, why: str) -> RecordingError:
        """The error to settle it with."""
        return RecordingError(f"{self.describe()}: {why}")

    def describe(self) -> str:
        """What was not done, for the text of an error."""
        raise NotImplementedError


def release(intents: Iterable[Intent]) -> None:
    """Wake whoever waits for them, if they are settled; the tasks of a loop all at once."""
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for intent in intents:
        if not intent.settled:
            continue
        waiter = intent.take_waiter()
        if isinstance(waiter, LockType):
            waiter.release()
        elif waiter is not None:
            loops.setdefault(waiter.get_loop(), []).append(waiter)
    for loop, futures in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed, and its tasks with it
            loop.call_soon_threadsafe(_wake, futures)


def _wake(futures: "Iterable[asyncio.Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class OpenRun(Intent):
    """Begin a run."""

    __slots__ = ("row",)

    def __init__(self, row: Opened) -> None:
        super().__init__()
        self.row = row

    @property
    def run_id(self) -> UUID:
        return self.row.run_id

    def describe(self) -> str:
        return f"run {self.row.name or self.run_id} was not begun"


class ResumeRun(Intent):
    """Take up a run that is there; `found` says afterwards whether it was, and `row` what the database has of it."""

    __slots__ = ("found", "row", "run_id")

    def __init__(self, run_id: UUID) -> None:
        super().__init__()
        self.run_id, self.found = run_id, False
        self.row: Resumed | None = None

    def describe(self) -> str:
        return f"run {self.run_id} was not resumed"


class EndRun(Intent):
    """End a run."""

    __slots__ = ("row",)

    def __init__(self, row: Ended) -> None:
        super().__init__(len(row.result or "") + len(row.result_exact or ""))
        self.row = row

    @property
    def run_id(self) -> UUID:
        return self.row.run_id

    def describe(self) -> str:
        return f"the end of run {self.run_id} was not recorded"


class Errand(Intent):
    """Something small that a run wants done between its steps and its end, in one statement that may be repeated."""

    __slots__ = ("do", "result", "what")

    def __init__(self, what: str, do: Callable[[Connection[Any]], object]) -> None:
        """`what` was not done, if it fails: `run 7f3a was not marked`."""
        super().__init__()
        self.what, self.do = what, do
        self.result: object = None

    def describe(self) -> str:
        return self.what


class StartStep(Intent):
    """Begin a step; `number` is its number afterwards.

    A state update may be a difference to the update `base`. `whole` then makes the input and output that say the
    same without a base. Of a prompt that is stored as a difference `full` is the whole.
    """

    __slots__ = ("base", "full", "number", "row", "sent", "whole")

    def __init__(
        self,
        row: Start,
        base: "StartStep | None" = None,
        whole: Callable[[], tuple[Encoded, Encoded]] | None = None,
        full: Encoded | None = None,
    ) -> None:
        super().__init__(len(row.input) + len(row.input_exact or "") + len(row.drawn or ""))
        self.row, self.base, self.whole, self.full = row, base, whole, full
        self.number: int | None = None
        self.sent: Start | None = None
        """The row as it was sent last."""

    @property
    def row_now(self) -> Start:
        """The row as it is to be written now: of another moment than its own, where nobody waits for it any more."""
        return self.row if self.watched else self.row._replace(seen=NOT_NOW)

    def answer(self, error: RecordingError | None = None) -> None:
        self.base = self.whole = self.full = None  # else every state would keep all those before it
        super().answer(error)

    def describe(self) -> str:
        row = self.row
        what = f"{row.step_type} {row.name}" if row.name else row.step_type
        return f"{what} of run {row.run_id} was not recorded and so not made"


class FinishStep(Intent):
    """Give a step its outcome. `agent` and `name` are for finding loops, where the row has a call_hash."""

    __slots__ = ("agent", "counted", "name", "row")

    def __init__(self, row: Finish, agent: str | None, name: str | None) -> None:
        super().__init__(sum(map(len, filter(None, (row.output, row.output_exact, row.random_after)))))
        self.row, self.agent, self.name = row, agent, name
        self.counted = False

    @property
    def row_now(self) -> Finish:
        """The row as it is to be written now: of another moment than its own, where nobody waits for it any more."""
        return self.row if self.watched else self.row._replace(seen=NOT_NOW)

    def describe(self) -> str:
        return f"the outcome of step {self.row.step_number} of run {self.row.run_id} was not recorded"


class Beat(Intent):
    """Show that the runs that are open are alive. Nobody waits for it, and nobody misses one that failed."""

    __slots__ = ()

    def answer(self, error: RecordingError | None = None) -> None:  # noqa: ARG002 the next one comes soon
        super().answer()

    def describe(self) -> str:
        return "a sign of life was not given"
