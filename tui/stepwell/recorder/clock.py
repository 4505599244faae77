"""Time as it is recorded: of a step the wall clock once, at the start, and monotonic time from there."""

import time


def now() -> int:
    """Wall clock, in microseconds since 1970."""
    return time.time_ns() // 1000


def tick() -> int:
    """Monotonic time in nanoseconds, for `since`."""
    return time.perf_counter_ns()


def since(started: int) -> int:
    """Microseconds since `tick` returned `started`."""
    return (time.perf_counter_ns() - started) // 1000
