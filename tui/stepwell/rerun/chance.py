"""`random`, `uuid` and `tempfile` as they were: what an agent draws is what it drew then."""

from __future__ import annotations

import os
import random
import uuid
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from stepwell.core.chance import from_json
from stepwell.core.codec import parse
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.recorder.chance import Os
from stepwell.recorder.context import current_frame
from stepwell.recorder.lanes import Lanes


class Chance:
    """Usable from any thread. Outside of `installed` nothing is changed."""

    def __init__(self, run: RecordedRun) -> None:
        """Raises EncodingError where what was drawn was edited by hand, and is no such thing any more."""
        self._begin = None if run.random is None else from_json(parse(run.random))
        self.lanes = Lanes()
        """Threads and tasks by the order in which they first draw, as the recorder numbers them."""
        self._drawn: dict[int, deque[bytes]] = defaultdict(deque)
        for lane, given in run.draws():
            self._drawn[lane].append(given)
        self._run = run
        self._given: dict[int, list[bytes]] = defaultdict(list)
        self.missing = False
        """Whether more was drawn than was recorded."""

    def after(self, step: RecordedStep) -> None:
        """What the step drew itself has been drawn."""
        state = None if step.random_after is None else from_json(parse(step.random_after))
        if state is not None:
            random.setstate(state)

    def since(self, steps: Collection[int]) -> dict[int, list[bytes]]:
        """What each lane has drawn in the replay beside what these steps of the recording say that it did."""
        told = Counter(lane for step in self._run.steps if step.number in steps for lane, _ in step.draws())
        return {lane: given[told[lane] :] for lane, given in self._given.copy().items()}

    def bytes(self, count: int) -> bytes:
        """In place of `os.urandom`, for `uuid` and `tempfile`; where the recorder notes nothing, that itself."""
        frame = current_frame()
        if frame is None or frame.served:
            return os.urandom(count)
        lane = self.lanes.number()
        mine = self._drawn.get(lane)
        is_there = mine is not None and len(mine) > 0 and len(mine[0]) == count
        self.missing = self.missing or not is_there
        given = mine.popleft() if mine is not None and is_there else os.urandom(count)
        self._given[lane].append(given)
        return given

    @contextmanager
    def installed(self) -> Iterator[None]:
        """As long as this lasts the process draws what was drawn."""
        before: Any = random.getstate()
        real = vars(uuid)["os"]
        if self._begin is not None:
            random.setstate(self._begin)
        vars(uuid)["os"] = Os(urandom=self.bytes)
        try:
            yield
        finally:
            vars(uuid)["os"] = real
            random.setstate(before)
