"""An event loop that lives by a replay's clock: a timer that is next comes at once, and the clock moves on to it.

So time-outs, sleeps and the order of what runs side by side come out as they were recorded, in no time. While other
threads are at work, or a descriptor is waited for, it waits as any loop does, and the clock goes by the real time.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import thread as pools
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any
from weakref import WeakSet

from stepwell.rerun.clock import Clock
from stepwell.rerun.stops import Stop

SLICE = 0.01
"""Seconds that are waited at a time for what is not the loop's own."""
_real = time.perf_counter
_BEGINS = "__init__"
_IDLE = pools._worker.__code__
"""What a thread of a pool is in while it waits for work."""


class _Selector(selectors.BaseSelector):
    """Waits as the loop's clock does."""

    def __init__(self, clock: Clock, stuck: Callable[[], None]) -> None:
        self._real = selectors.DefaultSelector()
        self.follow(clock, stuck)
        self.outside = 0
        """How much work is under way in threads of a pool."""

    def follow(self, clock: Clock, stuck: Callable[[], None]) -> None:
        self._clock, self._stuck = clock, stuck

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if self._clock.live:
            return self._real.select(timeout)
        if self._waits_for_others():
            began = _real()
            ready = self._real.select(SLICE if timeout is None else min(timeout, SLICE))
            self._clock.pass_by(_real() - began)
            return ready
        if ready := self._real.select(0):  # of a thread that has just ended
            return ready
        if timeout is None:  # nothing but another thread or a signal can wake it
            ready = self._real.select(SLICE)
            if not ready and not self._waits_for_others():
                self._stuck()
            return ready
        self._clock.pass_by(max(timeout, 1e-6))
        return []

    def _waits_for_others(self) -> bool:
        if self.outside or len(self._real.get_map()) > 1:  # one is the loop's own
            return True
        aside = {threading.current_thread(), threading.main_thread(), *pools._threads_queues}
        if any(not thread.daemon for thread in set(threading.enumerate()) - aside):
            return True
        frames = sys._current_frames()
        for thread, queue in list(pools._threads_queues.items()):
            frame = (
                frames.get(thread.ident or 0) if thread.is_alive() else None
            )  # another may have its number now
            if frame is not None and (frame.f_code is not _IDLE or not queue.empty()):
                return True
        return False


class ReplayLoop(asyncio.SelectorEventLoop):
    """`stuck` is called when nothing that the loop knows of will ever happen."""

    def __init__(self, clock: Clock, stuck: Callable[[], None] = lambda: None) -> None:
        self.clock = clock
        self._selector_of_replay = _Selector(clock, stuck)
        self._since = clock.now
        """When the clock moved last, as far as timers were made since: these are `_recent`."""
        self._recent: list[asyncio.TimerHandle] = []
        super().__init__(self._selector_of_replay)

    def time(self) -> float:
        """Where the agent asks for it, as `while loop.time() < deadline` does, that is a reading of the clock."""
        asker = str(sys._getframe(1).f_globals.get("__name__"))
        return self.clock.seconds() if asker.partition(".")[0] == "asyncio" else self.clock.monotonic()

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]  # typeshed spells it with type variables
        timer = super().call_at(when, callback, *args, context=context)
        if self._since != self.clock.now:
            self._since, self._recent = self.clock.now, []
        self._recent.append(timer)
        return timer

    def follow(self, clock: Clock, stuck: Callable[[], None]) -> None:
        """From now on live by another clock."""
        self.clock = clock
        self._selector_of_replay.follow(clock, stuck)
        self._since, self._recent = clock.now, []

    def exactly(self, seconds: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        """Call it after so long, whatever else takes time."""
        return super().call_at(self.clock.seconds() + seconds, callback)

    def postpone(self, since: int, seconds: float) -> None:
        """The timers that were made when the clock showed `since` were made so much later."""
        if self._since != since:
            return
        for timer in self._recent:
            timer._when += seconds  # type: ignore[attr-defined]  # there is no other way to move one
        heapq.heapify(self._scheduled)  # type: ignore[attr-defined]  # their order

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Stop):  # of which the report says more
            super().call_exception_handler(context)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]  # typeshed spells it with type variables
        future = super().run_in_executor(executor, func, *args)
        selector = self._selector_of_replay
        selector.outside += 1

        def done(_: object) -> None:
            selector.outside -= 1

        future.add_done_callback(done)
        return future


class _Early(asyncio.DefaultEventLoopPolicy):
    """Makes loops for an agent's module, before there is a replay."""

    def __init__(self) -> None:
        super().__init__()
        self.made: WeakSet[ReplayLoop] = WeakSet()

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        clock = Clock(0)
        clock.go_live()
        loop = ReplayLoop(clock)
        self.made.add(loop)
        return loop


def await_replays() -> None:
    """From now on event loops that are made will live by the clock of a replay, unless they run already by then."""
    _set(_Early())


@contextmanager
def installed(clock: Clock, stuck: Callable[[], None]) -> Iterator[None]:
    """As long as this lasts, event loops that are made live by the clock."""

    class Loop(ReplayLoop):
        def __init__(self) -> None:
            super().__init__(clock, stuck)

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            return Loop()

    before = _set(Policy())
    for early in before.made if isinstance(before, _Early) else ():
        if not early.is_running():
            early.follow(clock, stuck)
    try:
        with _told_otherwise(Loop):
            yield
    finally:
        _set(before)


def _set(policy: asyncio.AbstractEventLoopPolicy) -> asyncio.AbstractEventLoopPolicy:
    """Set it, and say which was set before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        before = asyncio.get_event_loop_policy()
        asyncio.set_event_loop_policy(policy)
    return before


@contextmanager
def _told_otherwise(kind: Callable[[], ReplayLoop]) -> Iterator[None]:
    """As long as this lasts, what is told to make a loop of another kind makes one of this: runners, and uvloop."""
    names = vars(sys.modules.get("uvloop", ModuleType("uvloop")))
    begin, loop = vars(asyncio.Runner)[_BEGINS], names.get("Loop")

    def begin_in_loop(runner: asyncio.Runner, *, debug: Any = None, loop_factory: Any = None) -> None:
        begin(runner, debug=debug, loop_factory=loop_factory and partial(_made, loop_factory, kind))

    setattr(asyncio.Runner, _BEGINS, begin_in_loop)
    names["Loop"] = kind
    try:
        yield
    finally:
        names["Loop"] = loop
        setattr(asyncio.Runner, _BEGINS, begin)


def _made(
    factory: Callable[[], asyncio.AbstractEventLoop], kind: Callable[[], ReplayLoop]
) -> asyncio.AbstractEventLoop:
    """The loop of the factory, which may have prepared it, but for one of Python's own that knows no such clock."""
    loop = factory()
    if isinstance(loop, ReplayLoop) or not isinstance(loop, asyncio.BaseEventLoop):
        return loop
    loop.close()
    return kind()
