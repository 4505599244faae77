"""Where in the recording each thread or task of re-executed code is, which says as of when it sees the database."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict

from stepwell.core.omitted import Stand
from stepwell.core.recorded import RecordedRun, RecordedStep


class Moments:
    """Usable from any thread. Who has not asked for anything is where the whole run is."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._at: dict[int, tuple[RecordedStep, bool]] = {}
        """The step that each has asked for last, and whether it has no answer of it yet."""
        self._last: tuple[RecordedStep, bool] | None = None
        self._asked: dict[int, int] = {}
        """Who has asked for which step."""
        self._ended: list[int] = []
        """Of the steps that have been answered their places in the order in which they ended then."""
        self._by_end = {step.finished_order: step for step in run.steps}
        self._lanes: dict[int | None, list[int]] = defaultdict(list)
        for step in run.steps:
            self._lanes[step.lane].append(step.number)

    def asked(self, step: RecordedStep, lane: int) -> None:
        """That thread or task has begun this step."""
        self._asked[step.number] = lane
        self._at[lane] = self._last = step, True

    def answered(self, step: RecordedStep) -> None:
        """Who asked for it has what the step gave."""
        self._at[self._asked[step.number]] = self._last = step, False
        if step.finished_order is not None:
            insort(self._ended, step.finished_order)

    def of(self, lane: int) -> Stand:
        """Where it is."""
        found = self._at.get(lane, self._last)
        if found is None:
            return Stand(None, begun=False, following=self._run.steps[0].number if self._run.steps else None)
        step, begun = found
        following = None if begun else self._following(step)
        latest = self._latest(step, begun, following)
        return Stand(step.number, begun, following) if latest is None else Stand(latest, False, following)

    def _latest(self, step: RecordedStep, begun: bool, following: int | None) -> int | None:
        """The step of another thread or task that had ended last since then, and before what came next here.

        Whoever waited for it saw what it did; whoever did not may have.
        """
        if begun:
            since, until = (
                step.finished_before,
                None if step.finished_order is None else step.finished_order - 1,
            )
        else:
            since = step.finished_order
            until = None if following is None else self._run.by_number[following].finished_before
        at = len(self._ended) if until is None else bisect_right(self._ended, until)
        if since is None or at == 0 or self._ended[at - 1] <= since:
            return None
        return self._by_end[self._ended[at - 1]].number

    def _following(self, step: RecordedStep) -> int | None:
        """The next one of the same thread or task that is not inside of this one."""
        lane = self._lanes[step.lane]
        later = (lane[place] for place in range(bisect_right(lane, step.number), len(lane)))
        return next((number for number in later if not self._is_inside(number, step.number)), None)

    def _is_inside(self, number: int | None, outer: int) -> bool:
        while number is not None and number > outer:
            found = self._run.by_number.get(number)
            number = None if found is None else found.parent
        return number == outer
