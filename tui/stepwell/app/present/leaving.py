"""What is said before an agent goes on for real, and where it does not."""

from collections.abc import Iterator

from stepwell.app.present.text import clean
from stepwell.core.divergence import Kind
from stepwell.core.rerun import Leave, Report

SEVERAL = 6
"""So many names of what may be called are told."""


def warning(leave: Leave) -> Iterator[str]:
    """Which calls that will be, and what becomes of them."""
    yield f"from step {leave.step} on the agent will call models and tools for real, and reach what they reach;"
    yield "each call is recorded, in a branch of this run; nothing is redacted there"
    yield "Ctrl-C ends it at any time; what it has done by then stays in the branch"
    if leave.connection:
        yield (
            "run.connection ends there, and raises if it is used; the agent may open its own,"
            " and give it to run.named(connection=…)"
        )
    if leave.then:
        calls = ", ".join(clean(f"{name} x{count}") for name, count in leave.then[:SEVERAL])
        more = f", and {len(leave.then) - SEVERAL} more" if len(leave.then) > SEVERAL else ""
        yield f"the recorded run called from there on: {calls}{more}; the agent may call others"


def stayed(report: Report, leave: Leave | None) -> str:
    """Why it did not go on, though it might have where `leave` says, if anywhere."""
    if leave is None and report.same and report.stopped is None:
        why = ": the recording had an answer to all that the agent asked"
    elif leave is None and report.refused is not None:
        why = f": the agent got to no question without a recorded answer; {report.refused}"
    elif leave is None and report.divergence is not None and report.divergence.kind is Kind.OUTCOME:
        step = report.divergence.step
        why = (
            f": what step {step} gave is no question, and only one without a recorded answer is gone on from"
        )
    elif leave is None:
        why = ": the agent ended before it asked for anything that has no recorded answer"
    elif report.leave is None:
        why = f": this time the agent did not get to step {leave.step}"
    elif report.leave.step != leave.step:
        why = f": this time it would have been from step {report.leave.step} on, not {leave.step}; try again"
    else:
        why = ""  # the report has said so
    return f"nothing went on for real, and no branch was made{why}"
