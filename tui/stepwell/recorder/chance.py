"""What a run draws of chance, so that a replay can draw the same: the state of `random`, and what `uuid` gives.

`uuid` takes its bytes from its module's `os`. From the first recorder of a process on, that is one that passes
everything on and notes what it gave to the run that asked. What a recorded call draws is not noted, for a replay does
not make the call.
"""

import os
import random
import threading
import uuid
from collections.abc import Callable
from typing import Any

from stepwell.core.chance import State, to_json
from stepwell.core.codec import dump
from stepwell.recorder.context import current_frame


class Draws:
    """What `uuid` gave to one run, by lane, until a step takes it along."""

    __slots__ = ("_by_lane", "_lock")

    def __init__(self) -> None:
        self._by_lane: dict[int, list[str]] = {}
        self._lock = threading.Lock()

    def add(self, lane: int, given: bytes) -> None:
        with self._lock:
            self._by_lane.setdefault(lane, []).append(given.hex())

    def take(self, lane: int) -> str | None:
        """What a lane has drawn since it was asked last, as a JSON list; None for nothing."""
        if not self._by_lane:
            return None
        with self._lock:
            given = self._by_lane.pop(lane, None)
        return None if given is None else dump(given)

    def rest(self) -> str | None:
        """What all have drawn that no step took."""
        with self._lock:
            given = [text for texts in self._by_lane.values() for text in texts]
            self._by_lane.clear()
        return dump(given) if given else None


class Os:
    """Stands for the module `os` in `uuid`."""

    def __init__(self, draw: Callable[[int], bytes]) -> None:
        self.urandom = draw

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def watch_uuid() -> None:
    """Have what `uuid` gives noted for the run that asks. Once is enough."""
    if vars(uuid)["os"] is os:
        vars(uuid)["os"] = Os(_draw)


def _draw(count: int) -> bytes:
    given = os.urandom(count)
    frame = current_frame()
    if frame is not None and not frame.served:
        frame.run.book.drew(given)
    return given


def state() -> State:
    """What `random` stands at."""
    return random.getstate()


def change(before: State | None) -> str | None:
    """What `random` stands at now as JSON text, None where it has not been drawn from since `before`."""
    if before is None:
        return None
    now = random.getstate()
    if now == before:
        return None
    made = to_json(now)
    return None if made is None else dump(made)
