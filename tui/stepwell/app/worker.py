"""The one background thread of a screen: it owns the connection, and only the newest job of a kind counts."""

import threading
from collections.abc import Callable
from typing import Any

from textual.message import Message
from textual.screen import Screen

from stepwell.app.messages import Failed
from stepwell.errors import StepwellError

Job = Callable[[], Message | None]
REST_SECONDS = 0.3
"""How long the job under way may go on where the process is about to stand still; then it is cancelled."""
CANCELLED_SECONDS = 3.0
"""How long it may take to end then."""


class Worker:
    """Runs jobs one after the other and posts what they return.

    A job that waits is replaced by a newer one of its kind: fifty keys in a burst are one replay. While
    nothing is to do, `idle` runs every so often.
    """

    def __init__(
        self,
        post: Callable[[Message], object],
        close: Callable[[], None],
        idle: Job | None = None,
        interval: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._post = post
        self._close = close
        self._idle = idle
        self._interval = interval
        """Seconds until the next idle job, None for none."""
        self._waiting: dict[str, tuple[int, Job]] = {}
        self._lasting: set[str] = set()
        """Kinds of jobs that are done even where the worker is stopped before their turn."""
        self._newest: dict[str, int] = {}
        """The number of the newest job of each kind; 0 once nobody wants to know what it comes to."""
        self._last = self._under_way = 0
        """Numbers of jobs; one is under way until what it came to is posted, so that who waits for it sees that."""
        self._cancelling = threading.Lock()
        """Held by who cancels a job, so that the next does not begin meanwhile."""
        self._wake = threading.Condition()
        self._stopped = False
        self._turn = threading.Lock()
        """Held by a job under way, and by who lets no job begin."""
        self._resting = False
        self._thread = threading.Thread(target=self._run, name="stepwell worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, kind: str, job: Job, *, lasting: bool = False) -> int:
        """Run `job` soon, instead of an older one of its kind that still waits; its number.

        `lasting`: also where the worker is stopped before that, as for what is to be kept on disk.
        """
        with self._wake:
            if lasting:
                self._lasting.add(kind)
            self._waiting.pop(kind, None)
            number = self._number(kind)
            self._waiting[kind] = number, job
            self._wake.notify()
            return number

    def drop(self, kind: str) -> None:
        """Forget a job of this kind that waits, and hear of no failure of one that is under way."""
        with self._wake:
            self._waiting.pop(kind, None)
            self._newest[kind] = 0

    def hush(self, number: int) -> None:
        """Hear of no failure of job `number`."""
        with self._wake:
            self._newest = {kind: 0 if newest == number else newest for kind, newest in self._newest.items()}

    def is_news(self, failed: Failed) -> bool:
        """Whether somebody still wants to hear of it: the job was neither dropped nor asked for again."""
        return not failed.number or self._newest.get(failed.job) == failed.number

    @property
    def current(self) -> int:
        """The number of the job under way, else of the next one; 0 for none."""
        with self._wake:
            return self._under_way or next((number for number, _ in self._waiting.values()), 0)

    def cancel(self, number: int, cancel: Callable[[], None]) -> None:
        """Call `cancel`, which may take a while, if job `number` is under way; no other begins meanwhile."""
        with self._cancelling:
            if self._under_way == number:
                cancel()

    def rest(self, cancel: Callable[[], None]) -> None:
        """Begin no job until `go_on`, and have the one under way end, cancelled if need be.

        For a process that is about to stand still: a transaction must not stand still with it.
        """
        if not self._resting:
            self._resting = self._turn.acquire(timeout=REST_SECONDS)
        if not self._resting:
            cancel()
            self._resting = self._turn.acquire(timeout=CANCELLED_SECONDS)

    def go_on(self) -> None:
        """End the rest, if there is one."""
        if self._resting:
            self._resting = False
            self._turn.release()

    def rest_with(self, screen: Screen[Any], cancel: Callable[[], None]) -> None:
        """Rest while the app of `screen` is suspended."""
        screen.app.app_suspend_signal.subscribe(screen, lambda _: self.rest(cancel), immediate=True)
        screen.app.app_resume_signal.subscribe(screen, lambda _: self.go_on(), immediate=True)

    @property
    def busy(self) -> bool:
        """Whether a job is under way or waits."""
        return bool(self._under_way or self._waiting)

    def stop(self, timeout: float = 2.0) -> None:
        """End the thread after the job under way and lasting ones, wait for it at most `timeout` seconds."""
        with self._wake:
            self._stopped = True
            self._waiting = {kind: job for kind, job in self._waiting.items() if kind in self._lasting}
            self._wake.notify()
        self.go_on()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while (taken := self._take()) is not None:
                with self._turn:
                    message = self._do(*taken)
                if message is not None and not self._stopped:
                    self._post(message)
                with self._cancelling:
                    self._under_way = 0
        finally:
            self._close()

    def _number(self, kind: str) -> int:
        """Of a new job."""
        self._last += 1
        self._newest[kind] = self._last
        return self._last

    def _take(self) -> tuple[str, int, Job] | None:
        """The next job; None when it is time to end."""
        with self._wake:
            if not self._waiting and not self._stopped:
                interval = self._interval() if self._idle else None
                if not self._wake.wait(interval) and self._idle:
                    self._under_way = self._number("idle")
                    return "idle", self._under_way, self._idle
            while not self._waiting and not self._stopped:
                self._wake.wait()
            if not self._waiting:
                return None
            kind = next(iter(self._waiting))
            # First under way and only then waiting no more, so that it never looks as if nothing were to do.
            self._under_way, job = self._waiting[kind]
            del self._waiting[kind]
            return kind, self._under_way, job

    @staticmethod
    def _do(kind: str, number: int, job: Job) -> Message | None:
        try:
            return job()
        except StepwellError as problem:
            return Failed(str(problem), kind, number)
        except Exception as problem:  # a fault of ours: told, for a dead thread leaves a dead screen
            return Failed(f"{type(problem).__name__}: {problem}", kind, number)
