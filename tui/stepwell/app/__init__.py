"""The terminal app. Importing this package loads nothing of Textual; opening it does."""

import os
import sys
from typing import TYPE_CHECKING

from stepwell.errors import UsageError

if TYPE_CHECKING:
    from stepwell.app.rerun import Agent
    from stepwell.store.connect import Target


def open_app(target: "Target", address: str | None = None, agent: "Agent | None" = None) -> int:
    """Run the app on the list of runs, or on the run that `address` names; the exit status.

    With `agent`, its code is replayed to each step that one comes to.

    Raises UsageError where there is no terminal to run in, and whatever keeps the database or the run from
    being read, before the terminal is touched.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the debugger needs a terminal; without one: stepwell runs, steps, show, replay")
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        why = f"TERM={term} cannot show the debugger" if term else "the debugger has to know TERM"
        raise UsageError(f"{why}; set TERM, or use stepwell runs, steps, show, replay")
    from stepwell.app.start import run_app

    return run_app(target, address, agent)
