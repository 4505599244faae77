"""A debugger that runs the agent's own code, where there is one, to each step that one comes to."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from stepwell.app.answers import NO_AGENT
from stepwell.app.memory import Memory
from stepwell.app.messages import Grown, Reran
from stepwell.app.mover import Mover
from stepwell.app.panes.bars import run_words
from stepwell.app.screens.asking import AskingScreen
from stepwell.app.screens.divergence import DivergenceScreen
from stepwell.app.screens.replaying import Start
from stepwell.app.view import View
from stepwell.app.worker import Worker
from stepwell.core import moves
from stepwell.core.whatif import WhatIf
from stepwell.store.connect import Target

if TYPE_CHECKING:
    from stepwell.app.runner import Runner

HURRY = 0.05
"""From one attempt to end a replay to the next."""
SLOW = 0.3
"""Seconds after which it is said that the agent runs."""


class RerunningScreen(AskingScreen):
    """A move never waits for the agent: what came of it is told when it is known, and not for a step one has left."""

    def __init__(self, target: Target, start: Start, memory: Memory, mover: Mover | None = None) -> None:
        super().__init__(target, start, memory, mover)
        self.runner: Runner | None = None
        self._agents: Worker | None = None
        if start.agent is not None:
            from stepwell.app import runner  # of no use without an agent's code

            self.runner = start.runner or runner.Runner(target, start.run.run_id, start.agent)
            self._agents = Worker(lambda message: self.post_message(runner.told(message)), self.runner.close)
        self._run_to: tuple[int | None, WhatIf | None] | None = None
        """What the agent was run to last, or is being run to."""
        self._asked: object | None = None
        """What is waited for, None for nothing."""
        self._newest_run = self._ended_run = 0
        """The worker's newest job, and one that was cancelled."""

    @property
    def settled(self) -> bool:
        return super().settled and self._asked is None

    def on_mount(self) -> None:
        if self._agents is not None and self.runner is not None:
            self._agents.start()
            self._agents.rest_with(self, self.runner.cancel)
            self._agents.submit("start", self.runner.start)

    def on_unmount(self) -> None:
        if self._agents is not None and self.runner is not None:
            self.runner.cancel()
            self._agents.stop()

    def _replay(self) -> None:
        super()._replay()
        view = self.view
        if view is not None and view.timeline.current is not None:
            steps = view.timeline.steps
            is_end = view.timeline.cursor == len(steps) - 1 and not view.timeline.running
            self.rerun(None if is_end else view.timeline.current.number)

    def rerun(self, to: int | None) -> None:
        """Run the agent to step `to`, None for as far as it goes, unless that is what was done last."""
        view, runner, agents = self.view, self.runner, self._agents
        if view is None or runner is None or agents is None or self._run_to == (to, view.what_if):
            return
        what_if = view.what_if
        self._run_to, self._asked = (to, what_if), (asked := object())
        self._newest_run = agents.submit("agent", lambda: runner.replay(asked, to, what_if))
        self._hurry()
        self.set_timer(SLOW, partial(self._say_slow, asked))

    def cancel_agent(self) -> bool:
        """End the replay that is under way; whether there is one."""
        if self._asked is None:
            return False
        self._ended_run = self._newest_run
        self._hurry()
        return True

    def _hurry(self) -> None:
        """End what is run and not wanted any more: again and again, for it may only be about to begin."""
        runner, agents = self.runner, self._agents
        if runner is None or agents is None:
            return
        current = agents.current
        if current and (current != self._newest_run or current == self._ended_run):
            agents.cancel(current, runner.cancel)
            self.set_timer(HURRY, self._hurry)

    def _say_slow(self, asked: object) -> None:
        view = self.view
        if view is not None and view.agent is not None and self._asked is asked:
            self._show_agent(replace(view, agent=replace(view.agent, slow=True)))

    def _show_agent(self, view: View) -> None:
        """Paint it, unless a world is waited for, with which it will be painted."""
        self.view = view
        if not (view.busy and view.stale):
            self.board.show(view)

    @on(Reran)
    def _reran(self, message: Reran) -> None:
        view = self.view
        if view is None or view.agent is None or (message.asked is None and not message.error):
            return
        if message.asked is not None and message.asked is not self._asked:
            return
        self._asked = None
        to = None if self._run_to is None else self._run_to[0]
        if message.report is None:
            self._run_to = None  # the next move tries again
            agent = replace(view.agent, report=None, error=message.error, slow=False)
        else:
            agent = view.agent.with_report(message.report, to, message.milliseconds, message.told)
        self._show_agent(replace(view, agent=agent))

    @on(Grown)
    def _run_has_grown(self) -> None:
        if self.runner is not None:
            self.runner.renew()
            self._run_to = None

    def action_divergence(self) -> None:
        """To the step where the agent parts from the recording; at that step both sides."""
        view = self.view
        if view is None:
            return
        found = None if view.agent is None else view.agent.diverged
        step = view.timeline.current
        if view.agent is None:
            self.say(NO_AGENT)
        elif found is None:
            self.say("as far as the agent was run it does what was recorded; G runs it to the end")
        elif step is None or found.step in (None, step.number):
            self.app.push_screen(DivergenceScreen(found, view.agent.told, run_words(view)), self._sides_left)
        else:
            self.go_to_number(found.step)

    def go_to_number(self, number: int) -> None:
        """To a step, as a jump that can be undone."""
        if self.view is not None:
            move = moves.go_to_number(self.view.timeline, number)
            self.apply(replace(move, message=move.message or "D shows both sides"))

    def _sides_left(self, step: int | None) -> None:
        if step is not None:
            self.go_to_number(step)
