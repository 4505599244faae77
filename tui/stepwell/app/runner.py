"""The jobs of the worker that runs the agent's own code, in a process that is kept ready between moves."""

import threading
from uuid import UUID

from textual.message import Message

from stepwell.app.messages import Failed, Reran
from stepwell.app.rerun import Agent
from stepwell.core.steps import STATE_UPDATE
from stepwell.core.whatif import WhatIf
from stepwell.errors import UsageError
from stepwell.rerun.child.process import NO_EDITS, TIMEOUT, AgentProcess, Edits
from stepwell.store.connect import Target


class Runner:
    """Used by one worker thread only, except `cancel` and `renew`."""

    def __init__(self, target: Target, run_id: UUID | str, agent: Agent) -> None:
        self._target, self._run_id, self._agent = target, run_id, agent
        self._process: AgentProcess | None = None
        self._outdated = threading.Event()

    def _made(self) -> AgentProcess:
        if self._process is None:
            self._process = process_of(self._target, self._run_id, self._agent)
        return self._process

    def start(self) -> None:
        """Have the agent's module imported meanwhile. Raises UsageError, DatabaseError."""
        self._made().start()

    def replay(self, asked: object, to: int | None, what_if: WhatIf | None = None) -> Reran:
        """Run the agent to step `to`. `asked` comes back with the answer. Raises StepwellError."""
        if self._outdated.is_set():
            self._outdated.clear()
            self.close()
            self._process = None
        process = self._made()
        report = process.replay(to, edits_of(what_if))
        return Reran(asked, report, process.milliseconds)

    def renew(self) -> None:
        """The run has become another: have it read again for the next replay."""
        self._outdated.set()

    def cancel(self) -> None:
        """End the replay that is under way."""
        process = self._process
        if process is not None:
            process.cancel()

    def close(self) -> None:
        if self._process is not None:
            self._process.close()


def told(message: Message) -> Message:
    """What a job of it came to, for its screen: what went wrong with the agent is not wrong with the run."""
    return Reran(message.number, None, 0.0, message.text) if isinstance(message, Failed) else message


def check(agent: Agent) -> None:
    """Raises UsageError for what can be no agent, no interpreter, or no limit."""
    process_of(Target("", "argument", ""), "", agent)


def process_of(target: Target, run_id: UUID | str, agent: Agent, seconds: float = TIMEOUT) -> AgentProcess:
    """What replays a run through an agent, within `seconds` where the agent has no time of its own."""
    return AgentProcess(
        target,
        run_id,
        agent.name,
        python=agent.python,
        pure=agent.pure,
        timeout=seconds if agent.timeout is None else agent.timeout,
        memory=agent.memory,
    )


def edits_of(what_if: WhatIf | None) -> Edits:
    """What a what-if has a step give. Raises UsageError where the agent's code cannot be given that."""
    if what_if is None:
        return NO_EDITS
    if what_if.step.type == STATE_UPDATE:
        raise UsageError("a state is the agent's own doing: its code cannot be given another one")
    payload = what_if.step.payload
    assert payload.output is not None  # an edit is always an output
    return {what_if.number: (payload.output, payload.output_exact)}
