"""What each recorded thread or task took, and how far those have come that do it again.

Which of them is which shows only in what they ask for. So as long as several did the same from their beginning on, who
does that again may be any of them, and is so until it does what only some did.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from operator import attrgetter

from stepwell.core.identity import Identities, Lane, Question
from stepwell.core.recorded import RecordedStep

_number = attrgetter("number")


class Place:
    """Where recorded threads or tasks are that did the same up to here: each has taken `depth` steps."""

    __slots__ = ("depth", "lanes", "ways")

    def __init__(self, lanes: list[Lane], depth: int) -> None:
        self.lanes, self.depth = lanes, depth
        self.ways: dict[int, Way] | None = None
        """By the likeness of the step that comes next; None before anybody asks."""


class Way:
    """The step that some of those took next, like `step`: `steps` are alike, one of each, in recorded order.

    Whoever takes one may leave it out.
    """

    __slots__ = ("step", "steps", "to")

    def __init__(self, step: RecordedStep, to: Place) -> None:
        self.step, self.to = step, to
        self.steps: list[RecordedStep] = []


class Tracks:
    """The steps that are expected, by recorded thread or task. Steps of which it is not known are none of these."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities
        self.lanes: dict[Lane, list[RecordedStep]] = {}
        """All that are expected of each, taken or not."""
        self.start = Place([], 0)

    def expect(self, step: RecordedStep) -> None:
        lane = self._identities.lanes.get(step.number)
        if lane is None:
            return
        if lane not in self.lanes:
            self.lanes[lane] = []
            self.start.lanes.append(lane)
        insort(self.lanes[lane], step, key=_number)
        if self.lanes[lane][0] is step:
            self.start.ways = None

    def way(self, place: Place, question: Question) -> Way | None:
        """Where who is at `place` goes by asking that."""
        ways = self._ways(place)
        found = ways.get(self._identities.likeness_of(question))
        if found is not None:
            return found
        return next((way for way in ways.values() if self._fits(question, way.step)), None)

    def _fits(self, question: Question, step: RecordedStep) -> bool:
        """Whether a step of which not all was recorded may be what is asked."""
        return (
            self._identities.is_loose(step)
            and self._identities.has_key_of(step, question)
            and self._identities.is_asked_by(question, step)
        )

    def next_of(self, place: Place) -> Iterator[RecordedStep]:
        """What those who are there took next."""
        for lane in place.lanes:
            if place.depth < len(self.lanes[lane]):
                yield self.lanes[lane][place.depth]

    def some_end_at(self, place: Place) -> bool:
        """Whether the recording of one of them ends there."""
        return any(len(self.lanes[lane]) == place.depth for lane in place.lanes)

    def _ways(self, place: Place) -> dict[int, Way]:
        if place.ways is None:
            place.ways = {}
            for step in sorted(self.next_of(place), key=_number):
                way = place.ways.setdefault(
                    self._identities.likeness(step), Way(step, Place([], place.depth + 1))
                )
                way.steps.append(step)
                way.to.lanes.append(self._identities.lanes[step.number])
        return place.ways
