"""A debugger from which the database is asked: SQL at the step of the cursor."""

from stepwell.app.asker import Asker
from stepwell.app.pane_text import address_text
from stepwell.app.panes.sql import SqlView
from stepwell.app.screens.searching import SearchingScreen
from stepwell.app.screens.sql import SqlScreen
from stepwell.app.sql_history import History
from stepwell.settings import paths


class AskingScreen(SearchingScreen):
    """Opens other screens on the database as of a step; coming back finds the run as it was left."""

    def action_sql(self) -> None:
        view = self.view
        if view is None:
            return
        step = view.timeline.current
        if step is None:
            self.say("the run has no steps to ask at")
            return
        moment = view.timeline.moment
        asker = Asker(self.target, self.start.run.run_id, step.number, moment)
        shown = SqlView(f"{address_text(view)} {moment}", view.where)
        self.app.push_screen(SqlScreen(asker, History(paths().state), shown))
