"""Why a process that replayed has not said what came of it, in words."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass

from stepwell.core.rerun import Place
from stepwell.rerun.places import Places

_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)')
_LIKELY = "; most likely the system was out of memory"


@dataclass(frozen=True, slots=True)
class Death:
    """`status` as `os.waitpid` has it, None where that is not known; `trace` is what `faulthandler` wrote."""

    status: int | None
    trace: str
    timeout: float
    importing: bool = False
    killed: str | None = None
    """Why it was killed by whoever asked for the replay, None where it was not."""

    def words(self, places: Places) -> str:
        """`hangs at agent.py:31 in wait, after 30 s`."""
        place = self._place(places)
        at = "" if place is None else f" at {place}"
        doing = "importing the agent " if self.importing else ""
        if "Timeout (" in self.trace:
            return f"{doing}hangs{at}, after {self.timeout:g} s"
        if self.killed is not None:
            return f"{doing}{self.killed}"
        if self.status is None:
            return f"{doing}ended, nobody knows how"
        code = os.waitstatus_to_exitcode(self.status)
        if code >= 0:
            return f"{doing}ended by os._exit({code}){at}"
        name = signal_name(-code)
        if name == "SIGKILL":
            return f"{doing}was killed by SIGKILL{_LIKELY}"
        return f"{doing}died of {name}{at}"

    def _place(self, places: Places) -> Place | None:
        """Of the thread that died; of a process that hangs, that of its main thread, which is shown last."""
        stacks = re.split(r"\n\n|^(?=Thread |Current thread )", self.trace, flags=re.MULTILINE)
        stacks = [stack for stack in stacks if _FRAME.search(stack)]
        if not stacks:
            return None
        current = [stack for stack in stacks if stack.startswith("Current thread")]
        return places.pick(
            Place(found["file"], int(found["line"]) if found["line"].isdigit() else 0, found["function"])
            for found in _FRAME.finditer((current or stacks[-1:])[0])
        )


def signal_name(number: int) -> str:
    """`SIGKILL`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
