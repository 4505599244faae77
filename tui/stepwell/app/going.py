"""The jobs of the worker that lets an agent go on for real."""

from uuid import UUID

from stepwell.app.messages import Reran
from stepwell.app.rerun import Agent
from stepwell.app.runner import edits_of, process_of
from stepwell.core.rerun import Leave
from stepwell.core.whatif import WhatIf
from stepwell.errors import UsageError
from stepwell.rerun.child.process import LIVE_SECONDS, TIMEOUT, AgentProcess
from stepwell.store.connect import Target


class Going:
    """Used by one worker thread only, except `cancel`. Each process ends with what it was for."""

    def __init__(self, target: Target, run_id: UUID, agent: Agent, what_if: WhatIf | None = None) -> None:
        self._target, self._run_id, self._agent, self._what_if = target, run_id, agent, what_if
        self._process: AgentProcess | None = None

    def look(self) -> Reran:
        """Where it would. Raises StepwellError, UsageError where that is before what is edited."""
        found = self._run(TIMEOUT)
        leave = None if found.report is None else found.report.leave
        if leave is not None and self._what_if is not None and leave.step <= self._what_if.number:
            raise UsageError(
                f"the agent asks anew at {leave.step}, before step {self._what_if.number}, which is edited:"
                " u undoes that"
            )
        return found

    def go(self, leave: Leave) -> Reran:
        """Go on there, and nowhere else; asked with where. Raises StepwellError."""
        return self._run(LIVE_SECONDS, leave)

    def _run(self, seconds: float, leave: Leave | None = None) -> Reran:
        with process_of(self._target, self._run_id, self._agent, seconds) as process:
            self._process = process
            live = None if leave is None else leave.step
            report = process.replay(None, edits_of(self._what_if), live=live)
            return Reran(leave, report, process.milliseconds)

    def cancel(self) -> None:
        """End what is under way."""
        process = self._process
        if process is not None:
            process.cancel()
