"""Runs and steps in words: what the screens flag with a letter is spelled out here."""

from collections.abc import Iterator

from stepwell.core.address import short_id
from stepwell.core.laps import Place
from stepwell.core.past import Verdict
from stepwell.core.steps import RunHead, StepHead

IN_DOUBT, NO_OUTPUT = "in doubt", "no output"


def why(run: RunHead) -> str:
    """What stands out about a run, empty where nothing does."""
    return "; ".join(_reasons(run))


def _reasons(run: RunHead) -> Iterator[str]:
    if run.unanswered:
        step = f" (step {run.unfinished_number})" if run.unfinished_number is not None else ""
        yield f"{IN_DOUBT if run.in_doubt else NO_OUTPUT}: {run.unfinished_name or 'a step'}{step}"
    if run.loop is not None:
        yield f"loop: {run.loop.name}, {run.loop.laps} laps from step {run.loop.first}"
    if run.error:
        yield short_error(run.error) + ("" if run.steps else " (no step was recorded)")
    if run.parent is not None:
        yield f"leaves {short_id(run.parent)} at step {run.forked_at}"
    if len(run.agents) > 1:
        yield f"{len(run.agents)} agents"


def flags(step: StepHead, run: RunHead, place: Place | None) -> list[str]:
    """What stands out about a step: `error`, `running`, `in doubt`, `no output`, `lap N`."""
    found = []
    if step.error is not None:
        found.append("error")
    elif step.in_doubt:
        found.append("running" if run.status == "running" else _unanswered(step, run))
    if place is not None and place.lap > 1:
        found.append(f"lap {place.lap}")
    return found


def _unanswered(step: StepHead, run: RunHead) -> str:
    """Only where a recorder began the step is it known that it may have taken effect."""
    return IN_DOUBT if step.started is not None and run.recorded else NO_OUTPUT


def short_error(error: str) -> str:
    """A recorded error without the modules of its type: `MaxTurnsError: 25 turns`."""
    type_, colon, message = error.partition(": ")
    return f"{type_.rpartition('.')[2] or type_}{colon}{message}"


def raised(run: RunHead) -> str:
    """`; it raised TypeError: no such model`, empty for a run that did not."""
    return f"; it raised {short_error(run.error)}" if run.error else ""


def tokens(step: StepHead) -> str:
    """`1204 in, 31 out`, of what is known."""
    known = ((step.tokens_in, "in"), (step.tokens_out, "out"))
    return ", ".join(f"{count} {word}" for count, word in known if count is not None)


def worth(verdict: Verdict | None) -> dict[str, str | None]:
    """How far rows of a table can be trusted, as JSON has it."""
    if verdict is None:
        return {"certainty": None, "why": None}
    return {"certainty": verdict.certainty.value, "why": verdict.why}
