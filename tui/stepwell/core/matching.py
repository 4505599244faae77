"""Which recorded step a call of re-executed agent code is.

A call is the step that has its type, name, agent, enclosing block and input; of several the first that has not been
asked for, if possible one that the same thread or task took. Nothing else is ever an answer. What a served call did
inside is not asked for again. Within one thread or task the order counts; between them it does not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stepwell.core.causes import inside_of, of_a_thread, out_of_order, too_many
from stepwell.core.divergence import Asked, Divergence, Kind, distance, first_difference
from stepwell.core.hints import unlike
from stepwell.core.identity import HIDDEN, Identities, Key, Lane, Question
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.restated import ended_before
from stepwell.core.shown import shown
from stepwell.core.tracks import Place, Tracks, Way
from stepwell.core.waiting import Waiting
from stepwell.core.world import MISSING


class Matcher:
    """The steps of a run that are still to be asked for. Not for several threads at once."""

    def __init__(self, run: RecordedRun, identities: Identities | None = None) -> None:
        self._run = run
        self._identities = identities or Identities(run)
        self._children: dict[int, list[RecordedStep]] = defaultdict(list)
        self._alike: dict[int, list[int]] = defaultdict(list)
        """Steps that have others inside, by their likeness."""
        self._waiting: dict[Key, Waiting] = {}
        self._tracks = Tracks(self._identities)
        self._places: dict[int, Place | None] = {}
        """Of the threads and tasks that ask now; None of one that takes what others took."""
        self._own: dict[int, Lane] = {}
        """Whose step each of them was given last."""
        self._asked: dict[int, Counter[int]] = defaultdict(Counter)
        """What each of them has asked for, and how often."""
        self._last: dict[int, int] = {}
        """The number of the step that each of them was given last; `_latest` is that of all."""
        self._latest = 0
        self._alike_to: dict[int, tuple[int, int]] = {}
        """The last step of each that as many did alike, so that its answer may be another's."""
        self._passed: dict[Lane, int] = {}
        """How many of the first steps of a recorded thread or task have been asked for, as far as that is known."""
        self.pending: set[int] = set()
        for step in run.steps:
            if step.parent is not None and step.parent in run.by_number:
                self._children[step.parent].append(step)
        self._expect(step for step in run.steps if step.parent not in run.by_number)

    def _expect(self, steps: Iterable[RecordedStep]) -> None:
        for step in steps:
            self.pending.add(step.number)
            self._tracks.expect(step)
            if (lane := self._lane(step)) is not None:
                self._passed.pop(lane, None)
            key = self._identities.key(step)
            if key not in self._waiting:
                self._waiting[key] = Waiting(self._run, self._identities)
            self._waiting[key].add(step)
            if step.number in self._children:
                self._alike[self._identities.likeness(step)].append(step.number)

    def open(self, number: int) -> None:
        """What is inside of a step is executed, so that its steps are asked for, as are those of all that are alike."""
        alike = self._alike.pop(self._identities.likeness(self._run.by_number[number]), ())
        for other in alike:
            self._expect(self._children.pop(other, ()))

    def ask(self, question: Question, lane: int, wanders: bool = False) -> RecordedStep | Divergence | None:
        """The step that `question` is, asked by a thread or task `lane`; None where the recording ends before it.

        One that `wanders` may take what another took: a thread of the agent's own that gets its work from a queue.
        Without a step nothing has changed, and it may be asked again.
        """
        step = self._on_its_way(question, lane) or self._beside(question, lane, wanders)
        if isinstance(step, RecordedStep):
            self._take(step, lane)
            return step
        return step or self._unmatched(question, lane)

    def _on_its_way(self, question: Question, lane: int) -> RecordedStep | None:
        """The step, where a thread or task that did all that this one has done took it next."""
        place = self._places.get(lane, self._tracks.start)
        way = None if place is None else self._tracks.way(place, question)
        step = None if way is None else self._first(way, self._own.get(lane), question.key.parent)
        if way is not None and step is not None:
            self._places[lane] = way.to
            if len(way.to.lanes) > 1:
                self._alike_to[lane] = step.number, len(way.to.lanes)
        return step

    def _first(self, way: Way, own: Lane | None, parent: int | None) -> RecordedStep | None:
        """Of what is left, that of the same block, and of the same thread or task, if possible."""
        steps = way.steps
        while steps and steps[0].number not in self.pending:
            del steps[0]
        if own is None and parent is None:
            return steps[0] if steps else None
        left = [step for step in steps if step.number in self.pending]
        return min(left, key=lambda s: (s.parent != parent, self._lane(s) != own, s.number), default=None)

    def _beside(self, question: Question, lane: int, wanders: bool) -> RecordedStep | Divergence | None:
        """The step, where nothing says who took it, or this one may take another's; else whether it comes too early."""
        early: Divergence | None = None
        for step in self._candidates(question):
            recorded = self._lane(step)
            skipped = None if recorded is None else self._skipped(step, recorded, lane)
            if skipped is not None:
                early = early or out_of_order(self._identities, skipped, step)
            elif recorded is None:
                return step
            elif wanders:
                self._places[lane] = None
                return step
            elif self._may_take(lane, recorded):
                return step
        return early

    def _may_take(self, lane: int, recorded: Lane) -> bool:
        """Whether it may have what another one took then: it took nothing of its own, or nobody else does that again.

        So work that one task did may be done in several, and the other way round, each in its order.
        """
        return (
            lane not in self._places
            or self._own.get(lane) == recorded
            or all(own != recorded for own in self._own.values())
        )

    def _candidates(self, question: Question) -> Iterator[RecordedStep]:
        """The steps that are what is asked, in recorded order."""
        key = self._identities.key_of(question)
        for name in dict.fromkeys((key.name, HIDDEN, None)):
            waiting = self._waiting.get(key._replace(name=name))
            for step in () if waiting is None else waiting.matching(question):
                if self._identities.has_key_of(step, question):
                    yield step

    def _lane(self, step: RecordedStep) -> Lane | None:
        return self._identities.lanes.get(step.number)

    def _take(self, step: RecordedStep, lane: int) -> None:
        self.pending.discard(step.number)
        self._waiting[self._identities.key(step)].remove(step)
        self._asked[lane][self._identities.likeness(step)] += 1
        self._last[lane] = self._latest = step.number
        recorded = self._lane(step)
        if recorded is not None:
            self._own[lane] = recorded

    def _skipped(self, step: RecordedStep, recorded: Lane, lane: int) -> RecordedStep | None:
        """A step that the same thread or task took before this one, and that has not been asked for.

        Where it is like one that this one has asked for, which then was another's, it has been.
        """
        steps = self._tracks.lanes[recorded]
        first = self._passed.get(recorded, 0)
        while steps[first].number not in self.pending:
            first += 1
        self._passed[recorded] = first
        if steps[first] is step:
            return None
        counts: Counter[int] = Counter()
        for earlier in steps:
            if earlier.number >= step.number:
                return None
            likeness = self._identities.likeness(earlier)
            counts[likeness] += 1
            if earlier.number in self.pending and self._asked[lane][likeness] < counts[likeness]:
                return earlier
        return None

    def _unmatched(self, question: Question, lane: int) -> Divergence | None:
        """What was to be asked for instead; None where what is asked may not have been recorded any more."""
        if not self._run.complete and self._may_be_beyond(lane):
            return None
        asked = question.shown
        step, other = self._meant(question, asked, lane), next(self._candidates(question), None)
        hint = (
            inside_of(self._identities, self._waiting, question)
            if other is None
            else f"that call is step {other.number}, another thread's or task's to make"
        )
        if step is None or not self._identities.has_key_of(step, question):
            hint = hint or too_many(self._run, self._identities, self.pending, question)
        if step is None:
            after = self._last.get(lane, self._latest) if self.pending else None
            return Divergence(
                Kind.NOT_RECORDED, None, "$", MISSING, asked.title(), None, asked, hint=hint, after=after
            )
        recorded = self._identities.shown(step)
        if not self._identities.has_key_of(step, question):
            sides = recorded.title(), asked.title()
            return Divergence(Kind.OTHER, step.number, "$", *sides, recorded, asked, hint=hint)
        then, now = map(shown, self._identities.beside(question, step))
        recorded, asked = replace(recorded, value=then), replace(asked, value=now)
        path, expected, actual = first_difference(then, now)
        hint = hint or self._cause(step, question, lane, alike=not distance(then, now, 1))
        return Divergence(Kind.INPUT, step.number, path, expected, actual, recorded, asked, hint=hint)

    def _cause(self, step: RecordedStep, question: Question, lane: int, *, alike: bool) -> str | None:
        """What may be the cause of another input, which may look alike."""
        if alike:
            return unlike(self._identities.value(step), question.held)
        if lane not in self._alike_to:
            return None
        number, count = self._alike_to[lane]
        return (
            f"{count} threads or tasks asked what step {number} asked, and get the answers in recorded order:"
            " a name or an input of its own tells a call apart"
        )

    def _may_be_beyond(self, lane: int) -> bool:
        """Whether a recording that was cut off may not have what the thread or task is about to do.

        It may even have begun later, if others were at work.
        """
        if lane not in self._places:
            return len(self._tracks.lanes) != 1 or not self.pending
        place = self._places[lane]
        return not self.pending if place is None else self._tracks.some_end_at(place)

    def _meant(self, question: Question, asked: Asked, lane: int) -> RecordedStep | None:
        """The step that most likely is what this call has become."""
        place = self._places.get(lane, self._tracks.start)
        near = [] if place is None else [s for s in self._tracks.next_of(place) if s.number in self.pending]
        own = [step for step in near if lane in self._own and self._lane(step) == self._own[lane]]
        if own:
            return own[0]
        if place is None or place is self._tracks.start:
            near = [*near, *(s for s in self._rest() if place is None or self._lane(s) is None)]
            key = self._identities.key_of(question)
            near = [step for step in near if self._identities.key(step)[2:] == key[2:]]
            if too_many(self._run, self._identities, self.pending, question) is not None:
                return None
        near.sort(key=lambda step: step.number)
        alike = [step for step in near if self._identities.has_key_of(step, question)]
        if alike:
            return min(alike, key=lambda step: distance(self._identities.shown(step).value, asked.value))
        return near[0] if near else None

    def _rest(self) -> Iterator[RecordedStep]:
        return (self._run.by_number[number] for number in self.pending)

    def lane_of(self, lane: int) -> Lane | None:
        """Whose step the thread or task `lane` was given last, None where it has not asked yet."""
        return self._own.get(lane)

    def left(self) -> Divergence | None:
        """What has never been asked for, once the agent has ended; steps without an outcome may be missing."""
        steps = [step for step in self._rest() if not step.in_doubt]
        if not steps:
            return None
        steps.sort(key=lambda step: step.number)
        first = self._identities.shown(steps[0])
        others = tuple(step.number for step in steps[1:])
        lane = self._lane(steps[0])
        taken = () if lane is None else self._tracks.lanes[lane]
        title = first.title()
        hint = of_a_thread(self._run, taken, self.pending, steps[0]) if taken else None
        return Divergence(
            Kind.NEVER_ASKED, steps[0].number, "$", title, MISSING, first, others=others, hint=hint
        )

    def missed(self, number: int) -> str | None:
        """Of a step that is another now: what was first in threads or tasks that had ended then, and are not begun."""
        here = self._run.by_number[number]
        first = [steps[0] for steps in self._tracks.lanes.values() if ended_before(steps[-1], here)]
        missed = sorted(step.number for step in first if step.number in self.pending)
        if not missed:
            return None
        call = self._identities.shown(self._run.by_number[missed[0]]).call()
        more = f" (and {len(missed) - 1} more)" if missed[1:] else ""
        return f"never asked until then: step {missed[0]} {call}{more}"
