"""Which thread or task takes a step, as a number that two recordings of the same run may share."""

import asyncio
import sys
import threading
from concurrent.futures import thread as pools
from weakref import WeakKeyDictionary

_ITEM = pools._WorkItem.run.__code__
"""What runs one piece of work in a thread of a pool, which takes one after the other."""


class Lanes:
    """Numbers them in the order in which they are first seen."""

    def __init__(self) -> None:
        self._numbers: WeakKeyDictionary[object, int] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._count = 0

    def number(self) -> int:
        """The lane of the code that calls this."""
        worker = _worker()
        found = self._numbers.get(worker)
        if found is None:
            with self._lock:
                found = self._numbers.setdefault(worker, self._count)
                self._count += found == self._count
        return found


def _worker() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        task = None
    if task is not None:
        return task
    thread = threading.current_thread()
    return thread if thread is threading.main_thread() else _piece_of_work() or thread


def _piece_of_work() -> object:
    """What a pool has this thread do now, None for a thread of its own."""
    frame = sys._getframe()
    while (below := frame.f_back) is not None:
        frame = below
        if frame.f_code is _ITEM:
            return frame.f_locals.get("self")
    return None
