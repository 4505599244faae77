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
from stepwell.app.present import clean
from stepwell.app.rerun import CANCELLED, Rerun
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

LEAVING = (0.1, 0.5, 2.0)
"""Seconds that a replay may take to end after each of so many attempts to end it."""
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
        self._run_at: tuple[int, WhatIf | None] | None = None
        """Where one was when the agent was run last."""
        self._run_to: int | None = None
        """The step that it was run to, or is being run to; None for as far as it goes."""
        self._asked: object | None = None
        """What is waited for, None for nothing."""
        self._looking = False
        """Whether that is to find out where the agent parts from the recording."""
        self._newest_run = self._ended_run = self._cut_short = 0
        """The worker's newest job, one that was cancelled, and one that was ended as the app was suspended."""

    @property
    def settled(self) -> bool:
        return super().settled and self._asked is None

    def on_mount(self) -> None:
        if self._agents is not None and self.runner is not None:
            self._agents.start()
            self._agents.rest_with(self, self._rest)
            self._agents.submit("start", self.runner.start)

    def _rest(self) -> None:
        """End what is run as the app is suspended: it is run again, as nobody has asked for its end."""
        if self._agents is not None and self.runner is not None:
            self._cut_short = self._agents.current
            self.runner.cancel()

    def on_unmount(self) -> None:
        if self._agents is not None and self.runner is not None:
            for patience in LEAVING:
                self.runner.cancel()
                self._agents.stop(patience)
                if not self._agents.busy:
                    return

    def _replay(self) -> None:
        super()._replay()
        self._rerun_here()

    def arrived(self) -> None:
        """Also where one has come back to before the step that one was going to was there."""
        super().arrived()
        self._rerun_here()

    def _rerun_here(self) -> None:
        """Run the agent to the step at the cursor, unless that was done last.

        As far as it goes at the last step, and where something has been edited: to the question that it asks anew.
        """
        view, runner, agents = self.view, self.runner, self._agents
        step = None if view is None else view.timeline.current
        if view is None or step is None or runner is None or agents is None:
            return
        what_if, before = view.what_if, self._run_at
        if before == (step.number, what_if):
            return
        is_end = view.timeline.cursor == len(view.timeline.steps) - 1 and not view.timeline.running
        is_edited = what_if is not None and (before is None or before[1] is not what_if)
        self._run_at = step.number, what_if
        self._run_agent(agents, runner, None if is_end or is_edited else step.number, what_if)

    def _run_agent(self, agents: Worker, runner: "Runner", to: int | None, what_if: WhatIf | None) -> None:
        self._run_to, self._looking, self._asked = to, False, (asked := object())
        self._newest_run = agents.submit("agent", lambda: runner.replay(asked, to, what_if))
        self._hurry()
        self.set_timer(SLOW, partial(self._say_slow, asked))

    @property
    def is_asking(self) -> bool:
        """Whether the status line waits for an answer."""
        return False

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
        wanted = self._asked if message.report is not None else self._newest_run or message.asked
        if view is None or view.agent is None or message.asked != wanted:
            return
        self._asked = None
        if self._cut_short and self._cut_short == self._newest_run:
            self._run_at = None
            self._rerun_here()
            return
        if message.report is None:
            self._run_at = None  # the next move tries again
            agent = replace(view.agent, report=None, error=message.error, slow=False)
        else:
            agent = view.agent.with_report(message.report, self._run_to, message.milliseconds, message.told)
        keeps = agent.is_well or self.is_asking
        self._show_agent(replace(view, agent=agent, message=view.message if keeps else ""))
        if self._looking and agent.report is not None and agent.report.refused is None:
            self._looking = False
            if self.is_current and not self.is_asking:
                self.action_divergence()

    @on(Grown)
    def _run_has_grown(self) -> None:
        if self.runner is not None:
            self.runner.renew()
            self._run_at = None

    def action_divergence(self) -> None:
        """To the step where the agent parts from the recording; at that step both sides.

        Where none is known the agent is run as far as it goes first, unless one moves on before it has got there.
        """
        view = self.view
        if view is None:
            return
        found = None if view.agent is None else view.agent.diverged
        step = view.timeline.current
        if view.agent is None:
            self.say(NO_AGENT)
        elif found is None:
            self._look(view, view.agent)
        elif step is None or found.step in (None, step.number):
            self.app.push_screen(DivergenceScreen(found, view.agent.told, run_words(view)), self._sides_left)
        else:
            self.go_to_number(found.step)

    def _look(self, view: View, agent: Rerun) -> None:
        """Find out whether it parts from the recording beyond the step at the cursor."""
        is_awaited, is_to_end = self._asked is not None, self._run_to is None
        refused = agent.error or (agent.report.refused if agent.report is not None else None)
        if refused and CANCELLED not in refused and not is_awaited:
            self.say(clean(agent.words()))
        elif agent.report is not None and is_to_end and not refused and not is_awaited:
            self.say("the agent does what was recorded, as far as it goes")
        elif self._agents is not None and self.runner is not None:
            if not (is_awaited and is_to_end):
                self._run_agent(self._agents, self.runner, None, view.what_if)
            self._looking = True
            self._show_agent(replace(view, message=""))

    def go_to_number(self, number: int) -> None:
        """To a step, as a jump that can be undone."""
        if self.view is not None:
            move = moves.go_to_number(self.view.timeline, number)
            self.apply(replace(move, message=move.message or "D shows both sides"))

    def _sides_left(self, step: int | None) -> None:
        if step is not None:
            self.go_to_number(step)
