"""The jobs of the worker that lets an agent go on for real."""

from uuid import UUID

from stepwell.app.messages import Reran
from stepwell.app.rerun import Agent
from stepwell.app.runner import edits_of, process_of
from stepwell.core.rerun import Leave
from stepwell.core.whatif import WhatIf
from stepwell.rerun.child.process import LIVE_SECONDS, TIMEOUT
from stepwell.store.connect import Target


class Going:
    """Used by one worker thread only, except `cancel`. Each process ends with what it was for.

    Raises UsageError for what can be no agent.
    """

    def __init__(self, target: Target, run_id: UUID, agent: Agent, what_if: WhatIf | None = None) -> None:
        self._looking = process_of(target, run_id, agent, TIMEOUT)
        self._live = process_of(target, run_id, agent, LIVE_SECONDS)
        self._what_if = what_if

    def look(self) -> Reran:
        """Where it would. Raises StepwellError."""
        with self._looking as process:
            return Reran(None, process.replay(None, edits_of(self._what_if)), process.milliseconds)

    def go(self, leave: Leave) -> Reran:
        """Go on there, and nowhere else; asked with where. Raises StepwellError."""
        with self._live as process:
            report = process.replay(None, edits_of(self._what_if), live=leave.step)
            return Reran(leave, report, process.milliseconds)

    def cancel(self) -> None:
        """End what is under way."""
        self._looking.cancel()
        self._live.cancel()

    def close(self) -> None:
        self._looking.close()
        self._live.close()
