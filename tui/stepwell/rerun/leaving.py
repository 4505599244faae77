"""Where an agent would go on for real, and whether it may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from stepwell.core.branching import Answered, Tail, going_on
from stepwell.core.recorded import RecordedStep
from stepwell.core.rerun import Leave
from stepwell.core.steps import STATE_UPDATE
from stepwell.rerun.dialogue import Dialogue
from stepwell.store.target import Target

LEFT_BEHIND = (
    "run.connection ended where the agent went on for real; one that it opens itself and gives to"
    " run.named(connection=…) stays"
)


@dataclass(frozen=True, slots=True)
class Live:
    """Where to record that an agent goes on for real, if `allow` lets it. `edited` is a step with another outcome."""

    target: Target
    allow: Callable[[Leave], bool]
    edited: RecordedStep | None = None
    name: str | None = None


def tail_of(dialogue: Dialogue, edited: RecordedStep | None = None) -> Tail:
    """The branch that would be begun now. Raises UsageError where none can be."""
    answered = Answered(dialogue.asked, dialogue.executed, dialogue.inside)
    return going_on(dialogue.run, answered, edited)


def leave_of(dialogue: Dialogue, tail: Tail, *, connected: bool = False) -> Leave:
    """What is to be said before it is begun. `connected` is whether the agent has used `run.connection`."""
    steps = (step for step in dialogue.run.steps if step.number not in dialogue.asked)
    counts = Counter(step.name or step.type for step in steps if step.type != STATE_UPDATE)
    return Leave(tail.steps + 1, tuple(counts.most_common()), connected or dialogue.run.connected)
