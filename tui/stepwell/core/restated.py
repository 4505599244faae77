"""The states of a run whose steps are folded anew, one of them being another than was recorded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stepwell.core.recorded import RecordedStep
from stepwell.core.shown import viewed
from stepwell.core.state import Folded, StateStep, fold, patch_of
from stepwell.core.steps import STATE_UPDATE, Payload
from stepwell.core.world import SHARED, Moment


def scope_of(step: RecordedStep) -> str | None:
    return SHARED if step.name == "shared" else step.agent


def is_patch(step: RecordedStep) -> bool:
    """Whether the step has its state in its input, as the difference to the one before."""
    return step.type == STATE_UPDATE and patch_of(_given(step)) is not None


def _given(step: RecordedStep) -> object:
    return viewed(step.payload.input, step.payload.input_exact)


class Restated:
    """The finished state steps of a run, in the order in which they took effect."""

    def __init__(self, steps: Iterable[RecordedStep]) -> None:
        self._all = {step.number: step for step in steps}
        finished = [
            step
            for step in self._all.values()
            if step.type == STATE_UPDATE and step.payload.output is not None
        ]
        self._order = sorted(finished, key=lambda step: (step.finished_order or step.number, step.number))
        self.steps = {step.number: _state_step(step) for step in finished}

    def with_step(self, step: RecordedStep) -> "Restated":
        """The same with another step in place of the one with its number."""
        return Restated(step if old.number == step.number else old for old in self._all.values())

    def at(self, number: int, moment: Moment) -> Folded:
        """What the steps of the world of step `number` come to."""
        here = self._all[number]
        done = moment is Moment.AFTER and not here.in_doubt
        inside = _ended_by if done else ended_before
        return self._fold([step for step in self._order if inside(step, here)], number)

    def before(self, number: int) -> Mapping[str | None, object]:
        """The states on which step `number` took effect."""
        here = self._all[number]
        return self._fold(
            [step for step in self._order if step.number != number and _ended_by(step, here)], number
        ).states

    def _fold(self, steps: Sequence[RecordedStep], number: int) -> Folded:
        return fold([self.steps[step.number] for step in steps], number)


def _ended_by(step: RecordedStep, here: RecordedStep) -> bool:
    """Whether a step had finished when this one had."""
    if step.finished_order is not None and here.finished_order is not None:
        return step.finished_order <= here.finished_order
    return step.number <= here.number


def ended_before(step: RecordedStep, here: RecordedStep) -> bool:
    """Whether a step had finished when this one began."""
    if step.number >= here.number:
        return False
    if step.finished_order is not None and here.finished_before is not None:
        return step.finished_order <= here.finished_before
    if step.finished is None or here.started is None:
        return True
    return step.finished <= here.started


def _state_step(step: RecordedStep) -> StateStep:
    given = _given(step)
    patch = patch_of(given) is not None
    gave = None if patch else viewed(step.payload.output, step.payload.output_exact)
    return StateStep(step.number, scope_of(step), given if patch else None, gave)


def with_payload(step: RecordedStep, **texts: str | None) -> RecordedStep:
    """The step with other texts in its payload, which is whole then."""
    old = step.payload
    names = ("input", "input_exact", "output", "output_exact", "error", "problem")
    values = {name: getattr(old, name) for name in names} | texts
    return replace(step, payload=Payload(old.number, **values))
