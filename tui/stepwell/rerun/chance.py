"""`random` and `uuid` as they were: the numbers that an agent draws are those that it drew then."""

from __future__ import annotations

import os
import random
import uuid
from collections import defaultdict, deque
from collections.abc import Iterator
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

    def __init__(self, run: RecordedRun, lanes: Lanes) -> None:
        """`lanes` numbers threads and tasks as the recorder did: in the order in which they first draw or ask.

        Raises EncodingError where what was drawn was edited by hand, and is no such thing any more.
        """
        self._begin = None if run.random is None else from_json(parse(run.random))
        self._lanes = lanes
        self._drawn: dict[int, deque[bytes]] = defaultdict(deque)
        for lane, given in run.draws():
            self._drawn[lane].append(given)
        self.missing = False
        """Whether more was drawn than was recorded."""

    def after(self, step: RecordedStep) -> None:
        """What the step drew itself has been drawn."""
        state = None if step.random_after is None else from_json(parse(step.random_after))
        if state is not None:
            random.setstate(state)

    def bytes(self, count: int) -> bytes:
        """In place of `os.urandom`, for `uuid`; where the recorder notes nothing, that itself."""
        frame = current_frame()
        if frame is None or frame.served:
            return os.urandom(count)
        mine = self._drawn.get(self._lanes.number())
        if mine and len(mine[0]) == count:
            return mine.popleft()
        self.missing = True
        return os.urandom(count)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """As long as this lasts the process draws what was drawn."""
        before: Any = random.getstate()
        real = vars(uuid)["os"]
        if self._begin is not None:
            random.setstate(self._begin)
        vars(uuid)["os"] = Os(self.bytes)
        try:
            yield
        finally:
            vars(uuid)["os"] = real
            random.setstate(before)
