"""Where in the recording each thread or task of re-executed code is, which says as of when it sees the database."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from typing import NamedTuple

from stepwell.core.recorded import RecordedRun, RecordedStep


class Stand(NamedTuple):
    """Between two steps of a thread or task, or within one that is executed. `step` is None before the first.

    `begun` is the step that the agent has asked for and has no answer of yet: its body is executed. Else `step` was
    answered last, and `following` is the step that was asked for next, None where there was none.
    """

    step: int | None
    begun: bool
    following: int | None

    @property
    def title(self) -> str:
        """In words that follow `as of`."""
        if self.step is None:
            return "the first step"
        return f"step {self.step}"


class Moments:
    """Usable from any thread. Who has not asked for anything is where the whole run is."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._at: dict[int, Stand] = {}
        self._last = Stand(None, begun=False, following=run.steps[0].number if run.steps else None)
        self._lock = threading.Lock()
        self._lanes: dict[int | None, list[int]] = defaultdict(list)
        for step in run.steps:
            self._lanes[step.lane].append(step.number)

    def asked(self, step: RecordedStep, lane: int) -> None:
        """That thread or task has begun this step."""
        self._move(lane, Stand(step.number, begun=True, following=None))

    def answered(self, step: RecordedStep, lane: int) -> None:
        """It has what the step gave."""
        self._move(lane, Stand(step.number, begun=False, following=self._following(step)))

    def of(self, lane: int) -> Stand:
        """Where it is."""
        with self._lock:
            return self._at.get(lane, self._last)

    def _move(self, lane: int, stand: Stand) -> None:
        with self._lock:
            self._at[lane] = self._last = stand

    def _following(self, step: RecordedStep) -> int | None:
        """The next one of the same thread or task that is not inside of this one."""
        lane = self._lanes[step.lane]
        for number in lane[bisect_right(lane, step.number) :]:
            if not self._is_inside(number, step.number):
                return number
        return None

    def _is_inside(self, number: int | None, outer: int) -> bool:
        while number is not None and number > outer:
            found = self._run.by_number.get(number)
            number = None if found is None else found.parent
        return number == outer
