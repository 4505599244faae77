"""Asking before an agent goes on for real, and saying where it went."""

import shutil
import sys
import textwrap
from collections.abc import Iterator

from stepwell.app.present.leaving import warning
from stepwell.core.address import short_id
from stepwell.core.rerun import Leave, Report
from stepwell.core.steps import RunHead


def may_go_on(leave: Leave, *, asked: bool) -> bool:
    """Say what that means, and ask on the terminal whether it may, unless whoever started it has said so."""
    for text in warning(leave):
        print(_wrapped(text), file=sys.stderr, flush=True)
    if not asked:
        return True
    print("go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _wrapped(text: str) -> str:
    """By words, for a terminal, which would break within them."""
    columns = shutil.get_terminal_size().columns if sys.stderr.isatty() else len(text)
    return textwrap.fill(text, max(20, columns), break_long_words=False, break_on_hyphens=False)


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
