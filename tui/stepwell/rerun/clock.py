"""The clock of a replay: as it was recorded, moved on by steps and by sleeping, and by asking it over and over.

Between two steps an agent's own work takes no time. What reads the clock a thousand times without a step or a sleep
waits for it to move, and so it does, a millisecond with each further reading: `while time() < deadline` ends. Where
some time has passed between such readings a few times over, as where an event is waited for, it moves by that time.
A thread that only sleeps beside the agent, and takes no step, does not move it: it waits.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import time_machine

from stepwell.recorder.calls import in_loop
from stepwell.rerun import imported

if TYPE_CHECKING:
    from stepwell.rerun.loop import ReplayLoop

PATIENCE = 1000
"""So many readings see the same time, unless a step or a sleep comes between."""
MICROSECONDS = 1000
"""By so much it moves with each reading after these."""
WAITS = 3
"""So often time may pass between two readings before the clock moves with it."""
WAIT = 0.005
"""Seconds that count as such."""
SLICE = 0.01
"""Seconds between two looks at the clock of one that waits for it."""
IMPORT = 1.0
"""Seconds before a run in which the agent's module is taken to have been imported."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SLEEP, _MONOTONIC = time.sleep, time.monotonic


class Clock:
    """Times are microseconds since 1970. Usable from any thread."""

    def __init__(self, now: int, is_aside: Callable[[], bool] = lambda: False) -> None:
        """`is_aside` says whether the thread that calls is none of those that take steps."""
        self.now = now
        self._is_aside = is_aside
        self._started = now
        self._readings = self._waits = 0
        self._last_reading = time.monotonic()
        self._lock = threading.RLock()  # what is collected meanwhile may end a step
        self._base = time.monotonic()
        self._travel: time_machine.travel | None = None
        self._traveller: time_machine.Traveller | None = None
        self.live = False
        """Whether it goes by itself: see `go_live`."""
        self._live_since = 0.0
        self._over = False
        """Whether the process has its own clock again."""

    @property
    def moment(self) -> datetime:
        """What it shows, to one that does not read it."""
        return _EPOCH + timedelta(microseconds=self.now)

    @property
    def was_read(self) -> bool:
        """Whether it has been since the last step or sleep."""
        return self._readings > 0

    def go_live(self) -> None:
        """From now on it shows the real time, and whoever sleeps waits."""
        with self._lock:
            self._live_since = _MONOTONIC()
            self.live = True
            self._stop_travelling()

    def move_to(self, when: int | None) -> None:
        """A step has begun or ended. The clock never goes back."""
        with self._lock:
            self._readings = self._waits = 0
            if when is not None and when > self.now and not self.live:
                self._move(when - self.now)

    def begin(self, when: int | None) -> None:
        """A step begins. What the agent did before it took time, and so what it waits for since is as much later."""
        before = self.now
        self.move_to(when)
        loop = self._loop()
        if loop is not None and self.now > before:
            loop.postpone(before, (self.now - before) / 1e6)

    def sleep(self, seconds: float) -> None:
        """In place of `time.sleep`: the clock moves on, and nobody waits."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        if self.live:
            _SLEEP(seconds)
            return
        if self._is_aside():
            self._wait(seconds)
            return
        self.pass_by(seconds)
        _SLEEP(0)

    def pass_by(self, seconds: float) -> None:
        """So much time has passed for all."""
        with self._lock:
            self._readings = self._waits = 0
            if not self.live:
                self._move(round(seconds * 1_000_000))

    def _wait(self, seconds: float) -> None:
        """Until the others have come that far, or for so long."""
        until, deadline = self.now + round(seconds * 1_000_000), _MONOTONIC() + seconds
        while self.now < until and (left := deadline - _MONOTONIC()) > 0 and not self._over:
            _SLEEP(min(left, SLICE))

    async def until(self, when: int | None) -> bool:
        """Wait until it is that late, in an event loop that lives by this clock; False in another, which does not."""
        loop = self._loop()
        if loop is None or self.live or when is None or when <= self.now:
            await asyncio.sleep(0)
            return loop is not None or self.live
        over = asyncio.Event()
        timer = loop.exactly((when - self.now) / 1e6, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()
        return True

    def _loop(self) -> ReplayLoop | None:
        """The loop that runs here, if it lives by this clock."""
        loop = asyncio.get_running_loop() if in_loop() else None
        return cast("ReplayLoop", loop) if getattr(loop, "clock", None) is self else None

    def monotonic(self) -> float:
        """In place of `time.monotonic` and `time.perf_counter`."""
        return self.monotonic_ns() / 1e9

    def monotonic_ns(self) -> int:
        self._read()
        return self._since_ns()

    def seconds(self) -> float:
        """`monotonic` for those who do not wait by it, such as an event loop."""
        return self._since_ns() / 1e9

    def _since_ns(self) -> int:
        beyond = _MONOTONIC() - self._live_since if self.live else 0.0
        return round((self._base + beyond) * 1e9) + (self.now - self._started) * 1000

    def _read(self) -> int:
        """Count a reading. Returns 0."""
        with self._lock:
            self._readings += 1
            real = _MONOTONIC()
            passed, self._last_reading = real - self._last_reading, real
            self._waits += passed > WAIT
            if self.live:
                return 0
            if passed > WAIT and self._waits > WAITS:
                self._move(round(passed * 1_000_000))
            elif self._readings > PATIENCE:
                self._move(MICROSECONDS)
        return 0

    def _move(self, microseconds: int) -> None:
        self.now += microseconds
        if self._traveller is not None:
            self._traveller.shift(timedelta(microseconds=microseconds))

    def _stop_travelling(self) -> None:
        if self._travel is not None:
            self._travel.stop()
        self._travel = self._traveller = None

    def _named_as(self, real: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, under the name of the real one and with its signature: a step says what it calls.

        A module that is imported meanwhile may keep it: then it is the real one again afterwards.
        """

        @wraps(real)
        def named(*args: Any, **kwargs: Any) -> Any:
            return (real if self._over else function)(*args, **kwargs)

        return named

    @contextmanager
    def installed(self) -> Iterator[None]:
        """As long as this lasts the process has this clock, for all its threads."""
        replaced: dict[str, Callable[..., Any]] = {
            "sleep": self.sleep,
            "monotonic": self.monotonic,
            "monotonic_ns": self.monotonic_ns,
            "perf_counter": self.monotonic,
            "perf_counter_ns": self.monotonic_ns,
        }
        with ExitStack() as stack:
            whole, rest = divmod(self.now, 1_000_000)
            self._travel = time_machine.travel(whole, tick=False)  # a number leaves the time zone alone
            self._traveller = self._travel.start()
            self._traveller.shift(timedelta(microseconds=rest))
            stack.callback(self._stop_travelling)
            reading = self._traveller.time_ns
            vars(self._traveller)["time_ns"] = lambda: self._read() or reading()
            real = {name: getattr(time, name) for name in replaced}
            made = {name: self._named_as(real[name], function) for name, function in replaced.items()}
            self._over = False
            stack.callback(setattr, self, "_over", True)
            stack.enter_context(imported.replaced({real[name]: made[name] for name in made}))
            for name, function in made.items():
                stack.callback(setattr, time, name, real[name])
                setattr(time, name, function)
            yield


@contextmanager
def shortly_before(began: datetime | None) -> Iterator[None]:
    """As long as this lasts, time goes by from just before the beginning of a run on: what an import asks for the date.

    Nothing else of the clock is another one, for whatever the import starts may go on.
    """
    if began is None:
        yield
        return
    with time_machine.travel(began.timestamp() - IMPORT, tick=True):
        yield


def microseconds(when: datetime | None) -> int | None:
    """A recorded time as the clock takes it."""
    return None if when is None else (when - _EPOCH) // timedelta(microseconds=1)
