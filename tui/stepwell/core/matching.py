"""Which recorded step a call of re-executed agent code is.

A call is the step that has its type, name, agent, enclosing block and input; of several the first that has not been
asked for, if possible one that the same thread or task took. Nothing else is ever an answer. What a served call did
inside is not asked for again. Within one thread or task the order counts; between them it does not.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from stepwell.core.divergence import Asked, Divergence, Kind, distance, first_difference
from stepwell.core.identity import Identities, Key, Lane, Question
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.world import MISSING


class Matcher:
    """The steps of a run that are still to be asked for. Not for several threads at once."""

    def __init__(self, run: RecordedRun, identities: Identities | None = None) -> None:
        self._run = run
        self._identities = identities or Identities(run)
        self._children: dict[int, list[RecordedStep]] = defaultdict(list)
        self._queues: dict[Key, list[int]] = defaultdict(list)
        self._lanes: dict[Lane, list[int]] = defaultdict(list)
        self._taken: dict[int, Lane] = {}
        """Threads and tasks that ask now, to those that asked then."""
        self._asked: dict[int, Counter[tuple[Key, bytes]]] = defaultdict(Counter)
        """What each thread or task that asks now has asked for, and how often."""
        self.pending: set[int] = set()
        for step in run.steps:
            if step.parent is not None and step.parent in run.by_number:
                self._children[step.parent].append(step)
        self._expect(step for step in run.steps if step.parent not in run.by_number)

    def _expect(self, steps: Iterable[RecordedStep]) -> None:
        for step in steps:
            self.pending.add(step.number)
            insort(self._queues[_key(step)], step.number)
            lane = self._identities.lanes.get(step.number)
            if lane is not None:
                insort(self._lanes[lane], step.number)

    def open(self, number: int) -> None:
        """What is inside of a step is executed, so that its steps are asked for."""
        self._expect(self._children.pop(number, ()))

    def ask(self, question: Question, lane: int) -> RecordedStep | Divergence | None:
        """The step that `question` is, asked by a thread or task `lane`; None where the recording ends before it."""
        step = self._found(question, lane)
        if step is None:
            return self._unmatched(question, lane)
        if (earlier := self._skipped(step, lane)) is not None:
            return self._out_of_order(earlier, step)
        self._take(step, question, lane)
        return step

    def _found(self, question: Question, lane: int) -> RecordedStep | None:
        own = self._taken.get(lane)
        others = set(self._taken.values()) - {own}
        second: RecordedStep | None = None
        third: RecordedStep | None = None
        for number in self._queues.get(question.key, ()):
            step = self._run.by_number[number]
            if not self._identities.is_asked_by(question, step):
                continue
            recorded = self._identities.lanes.get(number)
            if recorded is None or recorded == own:
                return step
            if own is None and recorded not in others:
                return step
            if recorded not in others:
                second = second or step
            third = third or step
        return second or third

    def _take(self, step: RecordedStep, question: Question, lane: int) -> None:
        self.pending.discard(step.number)
        self._queues[question.key].remove(step.number)
        self._asked[lane][question.key, question.digest] += 1
        recorded = self._identities.lanes.get(step.number)
        if recorded is not None:
            self._lanes[recorded].remove(step.number)
            if recorded not in self._taken.values():
                self._taken.setdefault(lane, recorded)

    def _skipped(self, step: RecordedStep, lane: int) -> RecordedStep | None:
        """A step that the same thread or task took before this one, and that has not been asked for.

        Where it is like one that this one has asked for, which then was another's, it has been.
        """
        recorded = self._identities.lanes.get(step.number)
        if recorded is None or self._lanes[recorded][0] == step.number:
            return None
        for number in self._lanes[recorded]:
            if number >= step.number:
                return None
            earlier = self._run.by_number[number]
            if not self._has_had(earlier, step, recorded, lane):
                return earlier
        return None

    def _has_had(self, earlier: RecordedStep, step: RecordedStep, recorded: Lane, lane: int) -> bool:
        what = (_key(earlier), self._identities.digest(earlier))
        count = sum(
            (_key(other), self._identities.digest(other)) == what
            for other in self._run.steps
            if other.number < step.number and self._identities.lanes.get(other.number) == recorded
        )
        return self._asked[lane][what] >= count

    def _out_of_order(self, earlier: RecordedStep, step: RecordedStep) -> Divergence:
        sides = self._identities.shown(earlier), self._identities.shown(step)
        return Divergence(Kind.ORDER, earlier.number, "$", sides[0].title(), sides[1].title(), *sides)

    def _unmatched(self, question: Question, lane: int) -> Divergence | None:
        """What was to be asked for instead."""
        asked = question.shown
        step = self._meant(question, asked, lane)
        if step is None:
            if not self._run.complete:
                return None
            return Divergence(Kind.NOT_RECORDED, None, "$", MISSING, asked.title(), None, asked)
        recorded = self._identities.shown(step)
        if (step.type, step.name) != question.key[:2]:
            return Divergence(
                Kind.NOT_RECORDED, step.number, "$", recorded.title(), asked.title(), recorded, asked
            )
        path, expected, actual = first_difference(recorded.value, asked.value)
        return Divergence(Kind.INPUT, step.number, path, expected, actual, recorded, asked)

    def _meant(self, question: Question, asked: Asked, lane: int) -> RecordedStep | None:
        """The step that most likely is what this call has become."""
        own = self._taken.get(lane)
        waiting = self._lanes.get(own) if own is not None else None
        if waiting:
            return self._run.by_number[waiting[0]]
        near = [
            step
            for step in self._first_of_each_lane()
            if (step.agent, step.parent) == (question.key.agent, question.key.parent)
        ]
        alike = [step for step in near if (step.type, step.name) == question.key[:2]]
        if alike:
            return min(alike, key=lambda step: distance(self._identities.shown(step).value, asked.value))
        return near[0] if near else None

    def _first_of_each_lane(self) -> Iterator[RecordedStep]:
        """The steps that may come next, in recorded order."""
        for number in sorted(self.pending):
            lane = self._identities.lanes.get(number)
            if lane is None or self._lanes[lane][0] == number:
                yield self._run.by_number[number]

    def left(self) -> Divergence | None:
        """What has never been asked for, once the agent has ended; steps without an outcome may be missing."""
        numbers = [n for n in sorted(self.pending) if not self._run.by_number[n].in_doubt]
        if not numbers:
            return None
        shown = self._identities.shown(self._run.by_number[numbers[0]])
        rest: Sequence[int] = numbers[1:]
        return Divergence(
            Kind.NEVER_ASKED, numbers[0], "$", shown.title(), MISSING, shown, None, others=tuple(rest)
        )


def _key(step: RecordedStep) -> Key:
    return Key(step.type, step.name, step.agent, step.parent)
