"""Threads that run while a test goes on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def running(threads: Sequence[Thread], stop: Event) -> Iterator[None]:
    """Have them run until the block is left, which tells them by `stop`, and waits for them."""
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
