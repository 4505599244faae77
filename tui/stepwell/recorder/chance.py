"""What a run draws of chance, so that a replay can draw the same: the state of `random`, what others of Python give.

`uuid` takes its bytes from its module's `os`. From the first recorder of a process on, that is one that passes
everything on and notes what it gave to the run that asked. `tempfile` takes its names from the same. What a recorded
call draws is not noted, for a replay does not make the call.
"""

import base64
import os
import random
import tempfile
import uuid
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

from stepwell.core.chance import State, to_json
from stepwell.core.codec import dump
from stepwell.recorder.context import current_frame
from stepwell.recorder.lanes import Lanes

MOST = 10_000
"""So many draws of a run wait for a step to take them along; one that draws more can be replayed up to there."""

Mark = tuple[object, ...]

_SOME = 4
"""So many of the numbers of a state: that as many new ones are the same as the old ones does not happen."""


class Draws:
    """What was given to one run, by thread or task, until a step takes it along.

    Those that draw are numbered apart: whether a thread asks for its first step before a task draws is mere luck.
    Without a lock, as a collected object may draw in the middle of anything: nobody else is in the lane of the caller.
    """

    __slots__ = ("_by_lane", "_full", "_lanes", "_waiting")

    def __init__(self, lanes: Lanes) -> None:
        """`lanes` numbers them in the order in which they first draw."""
        self._lanes = lanes
        self._by_lane: dict[int, list[str]] = {}
        self._waiting = 0
        self._full = False

    def add(self, given: bytes, lane: int | None = None) -> None:
        """It was drawn by that one, or by whoever calls this."""
        lane = self._lanes.number() if lane is None else lane
        if self._full:
            return
        self._by_lane.setdefault(lane, []).append(given.hex())
        self._waiting += 1
        self._full = self._waiting >= MOST  # what came later would be drawn in place of what is missing

    def take(self, lane: int) -> str | None:
        """What the caller has drawn since it was asked last, as a JSON list; None for nothing.

        With its number where that is not `lane`, the one that it takes its step as.
        """
        if not self._by_lane or (number := self._lanes.known()) is None:
            return None
        if (given := self._by_lane.pop(number, None)) is None:
            return None
        taken = len(given)
        self._waiting -= taken  # without a call in between, at which another thread could count too
        return dump(given if number == lane else [f"{number} {text}" for text in given])

    def rest(self) -> str | None:
        """What no step took, as a JSON list, each after the number of its lane: `3 9f86…`; None for nothing."""
        given, self._by_lane = self._by_lane, {}
        return (
            dump([f"{lane} {text}" for lane, texts in given.copy().items() for text in texts])
            if given
            else None
        )


class Os:
    """Stands for the module `os` in another module, but for some of its functions."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


NAMES = "_name_sequence"
"""Where `tempfile` keeps what it takes the names of temporary files from; None before the first."""


def names(draw: Callable[[int], bytes]) -> Iterator[str]:
    """Such names, eight letters and digits each, of what `draw` gives. Usable from any thread, as no generator is."""
    return map(_name, map(draw, repeat(5)))


def _name(drawn: bytes) -> str:
    return base64.b32encode(drawn).decode().lower()


def watch() -> None:
    """Have what `uuid` and `tempfile` give noted for the run that asks. Once is enough."""
    if vars(uuid).get("os") is os:
        vars(uuid)["os"] = Os(urandom=_draw)
        vars(tempfile)[NAMES] = names(_draw)


def _draw(count: int) -> bytes:
    given = os.urandom(count)
    frame = current_frame()
    if frame is not None and not frame.served:
        frame.run.book.drew(given)
    return given


def own_uuid() -> uuid.UUID:
    """One of which no run knows, nor does a replay give it again."""
    return uuid.UUID(bytes=os.urandom(16), version=4)


class Dice:
    """What `random` stands at, as far as one run has recorded it."""

    __slots__ = ("mark",)

    def __init__(self) -> None:
        self.mark: Mark | None = None
        """Of what was noted last."""

    def note(self, known: Mark | None = None) -> str | None:
        """What it stands at now, as JSON text; None where that is what `known` is of, or there is none to be kept.

        A step knows the mark that was there when it began: what steps within it have noted, a replay does not see.
        """
        try:
            state = random.getstate()
        except NotImplementedError:  # an agent has put a `SystemRandom` in its place
            return None
        self.mark = _mark_of(state)
        if self.mark == known:
            return None
        made = to_json(state)
        return None if made is None else dump(made)


def _mark_of(state: State) -> Mark:
    """Equal for equal states: a draw moves the place, and when all numbers are used all are made anew."""
    _, words, gauss = state
    return (words[-1], *words[:_SOME], gauss)
