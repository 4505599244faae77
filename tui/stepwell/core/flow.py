"""Which later steps had an input that depended on what an earlier step gave, and where in it."""

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from stepwell.core.asked import Asking, still_asks
from stepwell.core.codec import dump
from stepwell.core.leaves import Leaf, leaves
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.restated import Restated, ended_before, scope_of
from stepwell.core.shown import viewed
from stepwell.core.sources import How, Place, Said, Source, Sources
from stepwell.core.state import PATCH, Path, patch_of, path_text, step_effect
from stepwell.core.steps import STATE_UPDATE, TOOL_CALL
from stepwell.core.world import MISSING
from stepwell.core.writings import changed_parts, is_word, tokens

RECENT = 2
"""Of so many steps it is still looked where what they gave stands in a prompt that is known to be stale."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A step whose input held what step `source` gave and would not give now."""

    number: int
    path: str
    """Where in the input of this one, of a state in that: `$.messages[4].content`."""
    source: int
    part: str
    """Which part of what the other one gave."""
    how: How

    @property
    def words(self) -> str:
        """`$.messages[4].content is from step 3 ($[0].id)`."""
        what = "asked for by" if self.how is How.CALL else "from"
        part = "" if self.part == "$" else f" ({self.part})"
        return f"{self.path} is {what} step {self.source}{part}"


@dataclass(frozen=True, slots=True)
class Change:
    """What step `number` gives now; MISSING is for nothing that is known."""

    number: int
    old: object
    new: object


@dataclass
class _Seen:
    """What the calls of one kind had for an input so far."""

    most: Counter[str] = field(default_factory=Counter)
    """Of each text, how often it stood in one of them."""
    stale: dict[tuple[object, ...], Stale] = field(default_factory=dict)
    """What of it depended on what is other now."""


class Traced(NamedTuple):
    """The steps that depended on what a step gave, and the numbers of those that enclose one of them or it."""

    stale: tuple[Stale, ...]
    unsettled: tuple[int, ...]
    same_end: bool
    """Whether the end of the run did not depend on it either."""


NOTHING = Traced((), (), True)


def trace(run: RecordedRun, change: Change, recorded: Restated) -> Traced:
    """What depended on what a step gave.

    A step depends on another one if a text of it stands in what is new in its input, whole or cut, in a form that is
    known, and would not stand there now; if it is the tool call that the other one asked for; or if it depends on
    such a step.
    """
    return _Trace(run, change, recorded).go()


def raised_by(step: RecordedStep) -> object:
    """What an agent may have seen of an error in place of an output, MISSING for none."""
    error = viewed(step.payload.error, None)
    return error.get("message") if isinstance(error, dict) else MISSING if error is None else error


class _Trace:
    def __init__(self, run: RecordedRun, change: Change, recorded: Restated) -> None:
        self._run, self._change, self._recorded = run, change, recorded
        self._seen: defaultdict[tuple[object, ...], _Seen] = defaultdict(_Seen)
        self._stale: dict[int, Stale] = {}
        self._unsettled: set[int] = set()
        self._sources = Sources()
        self._asking = Asking()
        self._said = Said()
        self._under_way: list[RecordedStep] = []
        self._ended: list[RecordedStep] = []
        """By their numbers."""
        self._open = list(self._enclosing(change.number))
        self._pair = change.old, change.new

    def go(self) -> Traced:
        for step in self._run.steps:
            self._asking.take(step)
            given = list(leaves(_given(step)))
            self._hear(step)
            self._close(step)
            if step.number == self._change.number:
                self._sources.add(Source(step, *self._pair, self._id_of(step)))
            elif step.number > self._change.number and (found := self._depends(step, given)) is not None:
                self._stale[step.number] = found
                self._lost(step)
            self._note(step, given)
            self._carry(step)
        self._close(None)
        return Traced(tuple(self._stale.values()), tuple(sorted(self._unsettled)), self._is_same_end())

    def _is_same_end(self) -> bool:
        own = self._run.by_number[self._change.number]
        if self._stale or self._unsettled or own.payload.error is not None:
            return False
        result = viewed(self._run.result, self._run.result_exact)
        return not (self._is_told_in(result, None, self._run.steps) or self._may_be_told_in(result))

    def _may_be_told_in(self, result: object) -> bool:
        """Whether a value that is other now is in the result, be it by chance, and was not known before."""
        if self._run.result is None or self._change.old is MISSING:
            return self._change.old is MISSING
        texts = [dump(result), *(leaf.text.strip() for leaf in leaves(result))]
        for part in changed_parts(self._change.old, self._change.new):
            value = part.old.strip() if isinstance(part.old, str) else dump(part.old)
            if value in texts:
                return True
            if any(is_word(value, text) for text in texts) and not self._said.holds(
                [value], self._change.number
            ):
                return True
        return False

    def _is_told_in(self, value: object, agent: str | None, steps: Sequence[RecordedStep]) -> bool:
        """Whether a part of what is other now stands in a value."""
        places = [self._place(leaf, agent, 1, steps) for leaf in leaves(value)]
        return any(
            source.in_leaf(place) is not None
            for place in places
            for source in self._sources.that_may_be_in(place)
        )

    def _carry(self, step: RecordedStep) -> None:
        """A state that is other stays so with what later steps do to it, until they have done away with it."""
        own = self._run.by_number[self._change.number]
        if (
            own.type != STATE_UPDATE
            or step.number <= own.number
            or (effect := self._recorded.steps.get(step.number)) is None
        ):
            return
        if step.type == STATE_UPDATE and scope_of(step) == scope_of(own):
            old, new = (step_effect(state, effect)[0] for state in self._pair)
            self._pair = old, new
            self._sources.add(Source(own, old, new))

    def _enclosing(self, number: int) -> Iterator[int]:
        parent = self._run.by_number[number].parent
        while parent is not None and parent in self._run.by_number and parent < number:
            yield parent
            number, parent = parent, self._run.by_number[parent].parent

    def _note(self, step: RecordedStep, given: Sequence[Leaf]) -> None:
        """What later steps are compared with."""
        self._asking.add(step)
        most = self._seen[_kind(step)].most
        self._said.add(leaf.text for leaf in given if leaf.text not in most)
        self._said.begin(step.number)
        self._under_way.append(step)
        for text, count in Counter(leaf.text for leaf in given).items():
            if count > most[text]:
                most[text] = count

    def _hear(self, here: RecordedStep) -> None:
        """What has ended by now is known."""
        ended = [step for step in self._under_way if ended_before(step, here)]
        self._under_way = [step for step in self._under_way if not ended_before(step, here)]
        for step in ended:
            insort(self._ended, step, key=lambda step: step.number)

    def _id_of(self, step: RecordedStep) -> str | None:
        asked = self._asking.of(step.number)
        return None if asked is None else asked.id

    def _lost(self, step: RecordedStep) -> None:
        """Nobody knows what the step would give; steps that enclose it, neither."""
        gave = _given(step) if _is_patch(step) else viewed(step.payload.output, step.payload.output_exact)
        self._sources.add(Source(step, gave, MISSING, self._id_of(step)))
        self._open += [number for number in self._enclosing(step.number) if number not in self._open]

    def _close(self, here: RecordedStep | None) -> None:
        """Look at the steps that enclose others and have ended by now: what they gave may have come from those."""
        for number in list(self._open):
            step = self._run.by_number[number]
            if here is not None and (not ended_before(step, here) or self._is_inside(here, number)):
                continue
            self._open.remove(number)
            if self._sources.get(number) is None and self._is_unsettled(step):
                self._unsettled.add(number)
                self._lost(step)

    def _is_inside(self, step: RecordedStep, number: int) -> bool:
        return step.number == number or number in self._enclosing(step.number)

    def _is_unsettled(self, step: RecordedStep) -> bool:
        if any(self._is_inside(self._run.by_number[number], step.number) for number in self._stale):
            return True
        inner = [other for other in self._run.steps if self._is_inside(other, step.number)]
        return self._is_told_in(viewed(step.payload.output, step.payload.output_exact), step.agent, inner)

    def _depends(self, step: RecordedStep, given: Sequence[Leaf]) -> Stale | None:
        if step.type == TOOL_CALL and (found := self._asked_for(step)) is not None:
            return found
        seen = self._seen[_kind(step)]
        carried = ((leaf, seen.stale[leaf.kind]) for leaf in given if leaf.kind in seen.stale)
        first = next(
            (replace(old, number=step.number, path=_path_in(step, leaf.path)) for leaf, old in carried), None
        )
        new = list(_new(given, seen.most))
        copies = Counter(leaf.text for leaf in new)
        for leaf in new:
            place = self._place(leaf, step.agent, copies[leaf.text], self._ended)
            sources = (
                source for source in self._sources.that_may_be_in(place) if self._reaches(source, step)
            )
            found = self._found(step, place, islice(sources, None if first is None else RECENT))
            if found is not None:
                seen.stale[leaf.kind] = found
                first = first or found
        return first

    def _place(self, leaf: Leaf, agent: str | None, copies: int, steps: Sequence[RecordedStep]) -> Place:
        words = tuple(tokens(leaf.text))
        return Place(leaf, words, agent, copies, steps, self._stale, self._asking.ids, self._said)

    def _found(self, step: RecordedStep, place: Place, sources: Iterator[Source]) -> Stale | None:
        for source in sources:
            if (part := source.in_leaf(place)) is not None:
                path = _path_in(step, place.leaf.path)
                is_whole = source.number == self._change.number
                of = path_text(part) if is_whole else _path_of(source.step, part)
                return Stale(step.number, path, source.number, of, source.how)
        return None

    def _reaches(self, source: Source, step: RecordedStep) -> bool:
        """Whether the one had ended when the other began, and does not enclose it."""
        if self._is_inside(step, source.number):
            return False
        return source.number > step.number or ended_before(source.step, step)

    def _asked_for(self, step: RecordedStep) -> Stale | None:
        """Where a reply asked for this tool call, and would not now."""
        asked = self._asking.of(step.number)
        if asked is None or (source := self._sources.get(asked.number)) is None:
            return None
        if source.new is not MISSING and still_asks(source.new, asked, step):
            return None
        return Stale(step.number, "$", source.number, path_text(asked.path), How.CALL)


def _kind(step: RecordedStep) -> tuple[object, ...]:
    return step.type, step.agent, step.name if step.type == TOOL_CALL else None


def _is_patch(step: RecordedStep) -> bool:
    return (
        step.type == STATE_UPDATE
        and patch_of(viewed(step.payload.input, step.payload.input_exact)) is not None
    )


def _path_in(step: RecordedStep, path: Path) -> str:
    """Of a path in what `_given` has of a step."""
    is_by_hand = step.type == STATE_UPDATE and not _is_patch(step)
    return path_text(path[1:]) if is_by_hand else _path_of(step, path)


def _path_of(step: RecordedStep, path: Path) -> str:
    """Of one into the difference to a state, that in the state."""
    ops = patch_of(viewed(step.payload.input, step.payload.input_exact))
    if step.type == STATE_UPDATE and ops is not None and path[1:]:
        where = ops[int(path[1])]["set"]
        if isinstance(where, list) and all(isinstance(part, str | int) for part in where):
            return path_text((*where, *path[3:]))
    return path_text(path)


def _given(step: RecordedStep) -> object:
    """What a step was given; of a difference to a state what it sets, and of a state put out by hand that."""
    given = viewed(step.payload.input, step.payload.input_exact)
    if step.type != STATE_UPDATE:
        return given
    ops = patch_of(given)
    if ops is None:
        return [given, viewed(step.payload.output, step.payload.output_exact)]
    return {PATCH: [{"to": op.get("to")} if isinstance(op, dict) and "set" in op else None for op in ops]}


def _new(given: Sequence[Leaf], most: Counter[str]) -> Iterator[Leaf]:
    """The leaves that are more than there ever were of their text; the last ones, since prompts grow at the end."""
    counts = Counter(leaf.text for leaf in given)
    skip = Counter({text: most[text] for text, count in counts.items() if count > most[text]})
    for leaf in given:
        if counts[leaf.text] <= most[leaf.text]:
            continue
        if skip[leaf.text] > 0:
            skip[leaf.text] -= 1
            continue
        yield leaf
