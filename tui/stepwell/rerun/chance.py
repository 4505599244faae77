"""`random` and `uuid` as they were: the numbers that an agent draws are those that it drew then."""

from __future__ import annotations

import os
import random
import threading
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stepwell.core.chance import from_json
from stepwell.core.codec import parse
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.recorder.chance import Os


class Chance:
    """Usable from any thread. Outside of `installed` nothing is changed."""

    def __init__(self, run: RecordedRun) -> None:
        self._begin = None if run.random is None else from_json(parse(run.random))
        self._drawn = deque(bytes.fromhex(text) for step in run.steps for text in step.drawn)
        self._drawn.extend(bytes.fromhex(text) for text in run.drawn)
        self._lock = threading.Lock()
        self.missing = False
        """Whether more was drawn than was recorded."""

    def after(self, step: RecordedStep) -> None:
        """What the step drew itself has been drawn."""
        state = None if step.random_after is None else from_json(parse(step.random_after))
        if state is not None:
            random.setstate(state)

    def bytes(self, count: int) -> bytes:
        """In place of `os.urandom`, for `uuid`."""
        with self._lock:
            if self._drawn and len(self._drawn[0]) == count:
                return self._drawn.popleft()
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
