"""Why a call of re-executed code may be no recorded step, or another than was expected, in words."""

from collections.abc import Mapping, Sequence, Set

from stepwell.core.codec import dump
from stepwell.core.divergence import Divergence, Kind
from stepwell.core.identity import Identities, Key, Question
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.waiting import Waiting

COPY = "contextvars.copy_context().run starts a thread inside of its step"


def out_of_order(identities: Identities, earlier: RecordedStep, step: RecordedStep) -> Divergence:
    """Of a step that came before `earlier`, which the same thread or task took first."""
    sides = identities.shown(earlier), identities.shown(step)
    then, now = (side.title() for side in sides)
    if then == now:
        then, now = (f"{side.title()} {dump(side.value)}" for side in sides)
    return Divergence(Kind.ORDER, earlier.number, "$", then, now, *sides)


def inside_of(identities: Identities, waiting: Mapping[Key, Waiting], question: Question) -> str | None:
    """Of a call that is a step but for the block that it is in, which a thread does not know by itself."""
    asked = identities.key_of(question)
    for key, alike in waiting.items():
        if key == asked._replace(parent=key.parent):
            for step in alike.matching(question):
                if step.parent is None:
                    return f"that call is step {step.number}, which was outside of any other"
                return f"that call is step {step.number}, inside of step {step.parent}; {COPY}"
    return None


def too_many(run: RecordedRun, identities: Identities, pending: Set[int], question: Question) -> str | None:
    """Of a call of which all that were recorded have been asked for."""
    alike = [step.number for step in run.steps if identities.has_key_of(step, question)]
    if not alike or not pending.isdisjoint(alike):
        return None
    name = question.key.name or question.key.type
    times = "once" if len(alike) == 1 else f"{len(alike)} times"
    return f"{name} was recorded {times}, this is call {len(alike) + 1}"


def of_a_thread(
    run: RecordedRun, lane: Sequence[RecordedStep], pending: Set[int], step: RecordedStep
) -> str | None:
    """Of a step that nobody may have been meant to ask for: a thread took it, which a call had started.

    `lane`: the steps of the thread or task that took it.
    """
    if step.started is None or lane[0] is not step:
        return None
    for other in run.steps:
        if other.number in pending or other.started is None or other.finished is None:
            continue
        if other.number < step.number and other.started <= step.started <= other.finished:
            return f"if a thread took it that the call of step {other.number} had started: {COPY}"
    return None
