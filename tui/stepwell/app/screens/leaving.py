"""A debugger from which an agent's code goes on for real, where the recording has no answer to what it asks."""

from dataclasses import replace

from stepwell.app.answers import NO_AGENT
from stepwell.app.messages import OpenAddress
from stepwell.app.panes.bars import run_words
from stepwell.app.panes.live import LiveView
from stepwell.app.screens.supposing import SupposingScreen


class LeavingScreen(SupposingScreen):
    """It asks first, on a screen of its own, and opens the branch that came of it."""

    def action_live(self) -> None:
        view, agent = self.view, self.start.agent
        if view is None:
            return
        if agent is None:
            self.say(NO_AGENT)
            return
        from stepwell.app.going import Going  # of no use without an agent's code
        from stepwell.app.screens.live import LiveScreen

        going = Going(self.target, self.start.run.run_id, agent, view.what_if)
        self.app.push_screen(LiveScreen(going, LiveView(run_words(view), view.where)), self._went)

    def _went(self, opened: OpenAddress | None) -> None:
        if opened is not None and self.view is not None:
            self.mover.what_if = None  # it is in the branch
            self.view = replace(self.view, what_if=None)
            self.app.post_message(opened)
