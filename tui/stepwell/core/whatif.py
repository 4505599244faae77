"""What would be otherwise had a step given something else: told from the recording alone, without the agent's code."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from stepwell.core.codec import encode
from stepwell.core.edits import edit, output_of
from stepwell.core.flow import NOTHING, Change, Stale, raised_by, trace
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.restated import Restated, is_patch, scope_of, with_payload
from stepwell.core.state import PATCH, changes, diff, paths, same
from stepwell.core.steps import STATE_UPDATE
from stepwell.core.world import MISSING, Moment, World
from stepwell.core.world import Change as StateChange
from stepwell.errors import NotFoundError

__all__ = ["Stale", "WhatIf", "editable", "what_if"]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """A run in which step `number` gave `new` in place of `old`, both as for display.

    Of a state that is recorded as what changed in it, the two are the whole state after the step. `old` is MISSING
    where the step has no output.
    """

    run: RecordedRun
    number: int
    old: object
    new: object
    step: RecordedStep
    """The step as a branch stores it."""
    plain: tuple[tuple[str, str], ...]
    """Where in the output an object became plain data, and of which type it was."""
    stale: tuple[Stale, ...]
    """The later steps whose recorded input depended on what is other now, in order."""
    unsettled: tuple[int, ...]
    """Steps that began before these and enclose them: what they gave is not known any more."""
    comes_to_its_end: bool
    """Whether the run would end as it is recorded, as far as can be told."""
    _recorded: Restated
    _restated: Restated

    @property
    def unchanged(self) -> bool:
        return same(self.old, self.new)

    @property
    def stale_from(self) -> Stale | None:
        """The first of them."""
        return self.stale[0] if self.stale else None

    @cached_property
    def by_number(self) -> Mapping[int, Stale]:
        return {stale.number: stale for stale in self.stale}

    @cached_property
    def last(self) -> int:
        """The last step before the recording is stale: there a branch of it ends."""
        end = None if self.stale_from is None else self.stale_from.number
        return max(step.number for step in self.run.steps if end is None or step.number < end)

    def states(self, number: int, moment: Moment = Moment.AFTER) -> Mapping[str | None, object]:
        """The states as of a step, by scope: the recorded steps folded on what is other now."""
        return self._restated.at(number, moment).states

    def changed_states(self, number: int) -> tuple[StateChange, ...]:
        """What is other in them, from what was recorded to what is there now."""
        was, now = (folded.at(number, Moment.AFTER).states for folded in (self._recorded, self._restated))
        return tuple(
            change
            for scope in {**was, **now}
            for change in changes(scope, (), was.get(scope, MISSING), now.get(scope, MISSING))
        )

    def odd(self, number: int) -> Mapping[int, str]:
        """State steps up to this one that do not fit the state that they now have before them, and why."""
        return self._restated.at(number, Moment.AFTER).odd

    def applied(self, world: World) -> World:
        """A recorded world of the run as it would be."""
        if world.number < self.number or world.number not in self.run.by_number:
            return world
        folded = self._restated.at(world.number, world.moment)
        return replace(
            world,
            payload=self.step.payload if world.number == self.number else world.payload,
            states=folded.states,
            set_at=folded.set_at,
            changed=folded.changed,
            odd=folded.odd,
        )


def editable(run: RecordedRun, number: int) -> object:
    """What step `number` gave, for display, to be edited; MISSING for nothing. Raises NotFoundError.

    Of a state that is recorded as what changed in it, the whole state after the step.
    """
    step = _step(run, number)
    if is_patch(step):
        return _state(Restated(run.steps), step)
    return MISSING if step.payload.output is None else output_of(step.payload)


def what_if(run: RecordedRun, number: int, value: object) -> WhatIf:
    """The run with `value`, which is as for display, for what step `number` gave.

    What it says of a step depends on none after that one. Raises NotFoundError for no such step, EncodingError for a
    value that cannot be kept.
    """
    step, old = _step(run, number), editable(run, number)
    recorded = Restated(run.steps)
    plain: tuple[tuple[str, str], ...] = ()
    if is_patch(step):
        edited = _restated_step(step, recorded, value)
    else:
        made = edit(step.payload, value)
        edited = with_payload(step, output=made.output, output_exact=made.output_exact, error=None)
        plain = made.plain
    restated = recorded.with_step(edited)
    change = Change(number, raised_by(step) if old is MISSING else old, value)
    if step.type == STATE_UPDATE:
        change = Change(number, *(_state(folded, step) for folded in (recorded, restated)))
    traced = NOTHING if same(old, value) else trace(run, change, recorded)
    return WhatIf(run, number, old, value, edited, plain, *traced, recorded, restated)


def _state(folded: Restated, step: RecordedStep) -> object:
    """The one that the step made."""
    return folded.at(step.number, Moment.AFTER).states.get(scope_of(step), MISSING)


def _step(run: RecordedRun, number: int) -> RecordedStep:
    if number not in run.by_number:
        raise NotFoundError(f"run {str(run.head.run_id)[:8]} has no step {number}")
    return run.by_number[number]


def _restated_step(step: RecordedStep, recorded: Restated, value: object) -> RecordedStep:
    """A state step that makes the state `value`, as a recorder would write it."""
    before = recorded.before(step.number).get(scope_of(step), MISSING)
    ops = diff(before, value)
    given, gave = encode({PATCH: ops}), encode(paths(ops))
    texts = {
        "input": given.plain,
        "input_exact": given.exact,
        "output": gave.plain,
        "output_exact": gave.exact,
    }
    return with_payload(step, **texts, error=None)
