"""What a branch of a run has of its own: the steps from the fork on, and of those before it what it has otherwise."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.steps import STATE_UPDATE
from stepwell.errors import UsageError

if TYPE_CHECKING:
    from stepwell.core.whatif import WhatIf


@dataclass(frozen=True, slots=True)
class Own:
    """A step that a branch has a row of. `place` is its place in the order of finishing, None for none.

    `before` is how many of the branch's steps had finished when it began, None where that is not recorded.
    """

    number: int
    place: int | None
    before: int | None = None
    open: bool = False
    """What it gave is not known in the branch: it has no outcome there."""
    input: str | None = None
    """The whole of what it was given, with `input_exact`, where that is not as the run has stored it."""
    input_exact: str | None = None

    def is_other(self, step: RecordedStep) -> bool:
        """Whether its times are not those that it has in the run."""
        return (self.place, self.before) != (step.finished_order, step.finished_before)


@dataclass(frozen=True, slots=True)
class Tail:
    """A branch that leaves a run at step `number`, from which on no step is the run's any more."""

    number: int
    own: tuple[Own, ...]
    steps: int
    """The number of its last step."""
    finished: int
    """How many numbers up to that are not of a step without an outcome; of those that it has no step of, all."""
    edited: RecordedStep | None = None
    """Step `number` with another outcome; None where it has none of its own."""
    whole: bool = False
    """It has all steps of the run, and comes to the same end as far as can be told."""


def tail_of(what_if: WhatIf) -> Tail:
    """The branch of a what-if: its steps up to the first that is stale."""
    run = what_if.run
    kept = {step.number for step in run.steps if step.number <= what_if.last}
    return _tail(run, what_if.number, kept, what_if.unsettled, what_if.step, what_if.comes_to_its_end)


@dataclass(frozen=True, slots=True)
class Answered:
    """How far a replay has got: the steps that it `asked` for; those of them that are `executed` again, so that what
    was recorded inside of them is asked for as well; and of these the ones that it is still `inside` of.
    """

    asked: Collection[int]
    executed: Collection[int] = ()
    inside: Collection[int] = ()


def going_on(run: RecordedRun, answered: Answered, edited: RecordedStep | None) -> Tail:
    """The branch in which an agent goes on for real: it has what was answered and nothing else of the run.

    What it is inside of has no outcome yet. `edited` is a step with another outcome, one that was asked for. Raises
    UsageError where a step before it was not.
    """
    kept = {step.number for step in run.steps if _is_answered(run, step, answered)}
    last = max(kept, default=0)
    missing = next((step.number for step in run.steps if step.number not in kept), last + 1)
    if edited is not None and missing < edited.number:
        raise UsageError(f"step {missing} was not asked for, and comes before step {edited.number}")
    number = min(missing, last + 1) if edited is None else edited.number
    return _tail(run, number, kept, answered.inside, edited, whole=False)


def _is_answered(run: RecordedRun, step: RecordedStep, answered: Answered) -> bool:
    """Whether it was asked for, or is inside of one that was answered without being executed."""
    at: RecordedStep | None = step
    while at is not None and at.number not in answered.asked:
        at = None if at.parent is None else run.by_number.get(at.parent)
    return at is not None and (at is step or at.number not in answered.executed)


def _tail(
    run: RecordedRun,
    number: int,
    numbers: Collection[int],
    unsettled: Collection[int],
    edited: RecordedStep | None,
    whole: bool,
) -> Tail:
    kept = [step for step in run.steps if step.number in numbers]
    gone = [step for step in run.steps if step.number not in numbers]
    last = max(numbers, default=0)
    own_number = None if edited is None else number
    # What is in doubt may come to an outcome in the run yet, and is not to have that here.
    in_doubt = {step.number for step in kept if step.in_doubt and step.number != own_number}
    opened = {*unsettled, *_enclosing(run, gone), *in_doubt}
    done = [step for step in kept if step.number == own_number or step.number not in opened]
    orders = sorted(step.finished_order for step in done if step.finished_order is not None)
    places = dict(_places(done, orders))
    rows = (
        Own(
            step.number,
            places.get(step.number),
            _before(step, orders),
            step.number in opened,
            *_input(step, number, edited),
        )
        for step in kept
    )
    own = tuple(
        row for row in rows if row.number >= number or row.open or row.is_other(run.by_number[row.number])
    )
    finished = last - (len(kept) - len(done))
    return Tail(number, own, last, finished, edited, whole and not gone and run.complete)


def _before(step: RecordedStep, orders: Sequence[int]) -> int | None:
    """How many of those that finished in these places had done so when the step began."""
    return None if step.finished_before is None else bisect_right(orders, step.finished_before)


def _input(step: RecordedStep, number: int, edited: RecordedStep | None) -> tuple[str | None, str | None]:
    """Of a step with another state, and of a difference to a step that is not the branch's own."""
    payload = step.payload
    if edited is not None and step.number == number and step.type == STATE_UPDATE:
        return edited.payload.input, edited.payload.input_exact
    base = payload.chain[0].base if payload.chain else None
    if base is None or base >= number or payload.problem is not None:
        return None, None
    return payload.input, payload.input_exact


def _enclosing(run: RecordedRun, steps: Iterable[RecordedStep]) -> set[int]:
    """The steps inside of which these were taken, but for themselves."""
    found: set[int] = set()
    own = {step.number for step in steps}
    for step in (run.by_number[number] for number in own):
        parent = step.parent
        while parent is not None and parent in run.by_number and parent not in found:
            found.add(parent)
            parent = run.by_number[parent].parent
    return found - own


def _places(done: Iterable[RecordedStep], orders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The numbers of steps with their places among these; what has finished only now is the last."""
    late = count(len(orders) + 1)
    for step in done:
        if step.finished_order is not None:
            yield step.number, bisect_right(orders, step.finished_order)
        elif orders:
            yield step.number, next(late)
