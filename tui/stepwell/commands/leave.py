"""Asking before an agent goes on for real, and saying where it went."""

import sys
from collections.abc import Iterator

from stepwell.app.present.text import clean
from stepwell.core.address import short_id
from stepwell.core.rerun import Leave, Report
from stepwell.core.steps import RunHead

SEVERAL = 6
"""So many names of what may be called are told."""


def may_go_on(leave: Leave) -> bool:
    """Ask on the terminal whether it may."""
    print(*_warning(leave), sep="\n", file=sys.stderr)
    print("go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _warning(leave: Leave) -> Iterator[str]:
    yield f"from step {leave.step} on the agent will call models and tools for real, and reach what they reach;"
    yield "each call is recorded, in a branch of this run; nothing is redacted there"
    yield "Ctrl-C ends it at any time; what it has done by then stays in the branch"
    if leave.then:
        calls = ", ".join(clean(f"{name} x{count}") for name, count in leave.then[:SEVERAL])
        more = f", and {len(leave.then) - SEVERAL} more" if len(leave.then) > SEVERAL else ""
        yield f"the recorded run called from there on: {calls}{more}; the agent may call others"


def went(report: Report, branch: RunHead) -> Iterator[str]:
    """Where it went, and how that ended."""
    short = short_id(branch.run_id)
    first = branch.forked_at if branch.forked_at is not None else branch.steps
    # The database may learn a moment later that whoever wrote it is gone.
    status = "died" if report.refused is not None and branch.status == "running" else branch.status
    yield f"went on for real: steps {first}-{branch.steps} of the branch {short}, {status}"
    if report.stopped is not None:
        yield f"it ended with {report.stopped}"
    if report.refused is not None:
        yield f"it {report.refused}"
    yield f"open it: stepwell {short}"


def stayed(report: Report, leave: Leave | None) -> str:
    """Why it did not go on, though it might have where `leave` says, if anywhere."""
    if leave is None and report.same and report.stopped is None:
        why = ": the recording had an answer to all that the agent asked"
    elif leave is None:
        why = ": the agent ended before it asked for anything that has no recorded answer"
    elif report.leave is None:
        why = f": this time the agent did not get to step {leave.step}"
    elif report.leave.step != leave.step:
        why = f": this time it would have been from step {report.leave.step} on, not {leave.step}; try again"
    else:
        why = ""  # the report has said so
    return f"nothing went on for real, and no branch was made{why}"
