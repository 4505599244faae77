"""A debugger from which the database is asked: its tables and SQL at the step of the cursor."""

from textual.screen import Screen

from stepwell.app.asker import Asker
from stepwell.app.browser import Browser
from stepwell.app.pane_text import address_text
from stepwell.app.panes.browser import BrowserView
from stepwell.app.panes.sql import SqlView
from stepwell.app.screens.browser import BrowserScreen
from stepwell.app.screens.searching import SearchingScreen
from stepwell.app.screens.sql import SqlScreen
from stepwell.app.sql_history import History
from stepwell.app.view import View
from stepwell.core.world import Moment
from stepwell.settings import paths


class AskingScreen(SearchingScreen):
    """Opens other screens on the database as of a step; coming back finds the run as it was left."""

    def action_sql(self) -> None:
        if (place := self._place()) is not None:
            self.app.push_screen(self._asking(*place))

    def action_browse(self) -> None:
        if (place := self._place()) is not None:
            view, number, moment = place
            browser = Browser(self.target, self.start.run.run_id, number, moment)
            shown = BrowserView(f"{address_text(view)} {moment}", view.where)
            self.app.push_screen(BrowserScreen(browser, shown, lambda: self._asking(view, number, moment)))

    def _asking(self, view: View, number: int, moment: Moment) -> Screen[None]:
        asker = Asker(self.target, self.start.run.run_id, number, moment)
        return SqlScreen(asker, History(paths().state), SqlView(f"{address_text(view)} {moment}", view.where))

    def _place(self) -> tuple[View, int, Moment] | None:
        """Step and moment of the cursor, where there is a step."""
        view = self.view
        step = None if view is None else view.timeline.current
        if view is None or step is None:
            self.say("the run has no steps to ask at")
            return None
        return view, step.number, view.timeline.moment
