"""Which thread or task takes a step, as a number that two recordings of the same run may share."""

import sys
import threading
from asyncio import _get_running_loop, current_task
from concurrent.futures import thread as pools
from itertools import count
from weakref import WeakKeyDictionary

_ITEM = getattr(getattr(getattr(pools, "_WorkItem", None), "run", None), "__code__", None)
"""What runs one piece of work in a thread of a pool, which takes one after the other."""
_FEW = 256


class Lanes:
    """Numbers them in the order in which they are first seen.

    Without a lock, as a collected object may ask in the middle of anything: a lane is numbered by nobody else.
    """

    def __init__(self, process: int = 0) -> None:
        """`process` is the id of a forked process, of whose lanes its parent has none; 0 for the first of a run."""
        self._numbers: WeakKeyDictionary[object, int] = WeakKeyDictionary()
        self._count = count(process * _FEW % 2**30)

    def number(self) -> int:
        """The lane of the code that calls this."""
        worker = _worker()
        found = self._numbers.get(worker)
        return self._numbers.setdefault(worker, next(self._count)) if found is None else found

    def known(self) -> int | None:
        """The same, None where it has no number yet."""
        return self._numbers.get(_worker())


def in_pool() -> bool:
    """Whether a pool of threads has the code that calls this do."""
    return _piece_of_work() is not None


def _worker() -> object:
    if _get_running_loop() is not None and (task := current_task()) is not None:
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
