"""What is known of the agent's own code, run up to the step that is looked at. An immutable value; pure."""

import os
from dataclasses import dataclass, replace

from stepwell.app.present import clean
from stepwell.core.divergence import Divergence
from stepwell.core.rerun import Place, Report

CANCELLED = "cancelled"
"""What a replay that was ended on purpose says of itself."""
LONGEST_TITLE = 40
"""Characters of why a replay was refused that the title has."""


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent to replay runs with, as the command line names it."""

    name: str
    """`package.module:callable`."""
    python: str | None = None
    """An interpreter or a virtual environment; None for this process's."""
    pure: tuple[str, ...] = ()
    """Tools that are executed again."""
    timeout: float | None = None
    """Seconds that a replay may take; None for the time that one has by default."""
    memory: int | None = None
    """Bytes of address space that it may have; None for no limit."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """What came of the agent's code last, and where it parts from the recording as far as is known.

    `to` is the step that it was run to for `report`, None for the end of the run.
    """

    report: Report | None = None
    to: int | None = None
    milliseconds: float = 0.0
    diverged: Divergence | None = None
    """The last that was found; it stays while one looks at steps before it."""
    told: str = ""
    """That in words."""
    error: str = ""
    """Why the agent cannot be run at all."""
    slow: bool = False
    """Whether it is run right now, and for so long that this is said."""

    @property
    def step(self) -> int | None:
        """The step that gets the badge."""
        return None if self.diverged is None else self.diverged.step

    def with_report(self, report: Report, to: int | None, milliseconds: float, told: str) -> "Rerun":
        """With what came of running it to step `to`; `told` is its divergence in words."""
        made = replace(self, report=report, to=to, milliseconds=milliseconds, error="", slow=False)
        if report.divergence is not None:
            return replace(made, diverged=report.divergence, told=told)
        return replace(made, diverged=None, told="") if report.same and self._is_beyond(to) else made

    def _is_beyond(self, to: int | None) -> bool:
        """Whether a replay to step `to` would have met what was found before."""
        return to is None or (self.step is not None and to >= self.step)

    def title(self, *, edited: bool = False) -> str:
        """`AGENT same to 17`, `AGENT diverged at 6`, `AGENT hangs at agent.py:31`; `edited`: in a what-if."""
        report = self.report
        if self.error:
            return "AGENT cannot be run"
        if self.slow:
            return "AGENT running"
        if report is None:
            return "AGENT"
        if report.divergence is not None:
            return f"AGENT {at_step('asks anew' if edited else 'diverged', report.divergence)}"
        if report.refused is not None:
            return f"AGENT {_short(report.refused)}"
        return (
            f"AGENT same to {'the end' if self.to is None and report.stopped is None else report.last or 0}"
        )

    def words(self) -> str:
        """`agent to 17: 84 ms, the same`, or what is wrong; not yet cleaned."""
        report = self.report
        if self.error:
            return f"agent: {self.error}"
        if self.slow:
            return "agent: running; Ctrl-C stops it"
        if report is None:
            return ""
        if report.divergence is not None:
            return f"agent: {shortened(self.told)}"
        if report.refused is not None:
            return f"agent: {shortened(report.refused)}"
        if report.stopped is not None and report.stopped != f"step {self.to}":
            return f"agent: {self.milliseconds:.0f} ms, the same so far"
        return f"agent to {'the end' if self.to is None else self.to}: {self.milliseconds:.0f} ms, the same"

    @property
    def asks_anew(self) -> bool:
        """Whether it could go on for real from where it got."""
        return self.report is not None and self.report.leave is not None

    @property
    def is_well(self) -> bool:
        return not self.error and (self.slow or self.report is None or self.report.same)


def at_step(word: str, found: Divergence) -> str:
    """`diverged at 6`, `diverged after 6`"""
    if found.step is None and found.after is not None:
        return f"{word} after {found.after}"
    return f"{word} at {'the end' if found.step is None else found.step}"


def place_words(place: Place) -> str:
    """`agent.py:31 in triage`, the file as seen from the current folder; not yet cleaned."""
    return f"{shortened(place.file)}:{place.line} in {place.function}"


def shortened(text: str) -> str:
    """The text without the current folder in front of its files."""
    try:
        return text.replace(os.path.join(os.getcwd(), ""), "")
    except FileNotFoundError:  # it is gone meanwhile
        return text


def _short(refused: str) -> str:
    """`hangs at agent.py:31` of `hangs at agent.py:31 in wait, after 30 s (last step: 4)`."""
    if CANCELLED in refused:
        return CANCELLED
    text = clean(shortened(refused)).partition(" (")[0].partition(" in ")[0].partition(",")[0]
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"
