"""A debugger that goes to the steps during which a watched table changed."""

from dataclasses import replace

from textual import on

from stepwell.app.answers import toggle
from stepwell.app.changing import change_move, is_as_before
from stepwell.app.geometry import Pane
from stepwell.app.memory import Memory
from stepwell.app.messages import Changed, Failed, Grown, Written
from stepwell.app.mover import Mover
from stepwell.app.screens.changes import ChangesScreen
from stepwell.app.screens.replaying import Start
from stepwell.core.changed import ChangedSteps
from stepwell.store.connect import Target


class StoppingScreen(ChangesScreen):
    """Asks once which steps these are, and again when the run has grown."""

    def __init__(self, target: Target, start: Start, memory: Memory, mover: Mover | None = None) -> None:
        super().__init__(target, start, memory, mover)
        self._changed_steps: ChangedSteps | None = None
        self._to_go: list[int] = []
        """How many changes on, or back, each key wants that was pressed before these steps were known."""
        self._words = ""
        """Which change it has stopped at."""

    @property
    def looking(self) -> bool:
        """Whether it is yet to go to a change: what is pressed then is for the step that it comes to."""
        return bool(self._to_go)

    def to_change(self, count: int) -> None:
        """To the step `count` changes on; back where it is negative."""
        if self.view is None:
            return
        if self._changed_steps is not None:
            self._to_change(self._changed_steps, count)
            return
        self._to_go.append(count)
        self.say("looking for steps that changed a table; Ctrl-C cancels")
        self.worker.submit("written", self.mover.changed_steps)

    def _to_change(self, changed: ChangedSteps, count: int) -> None:
        """With TABLES on the screen, so that one sees what it has stopped for."""
        view = self.view
        if view is None:
            return
        move, is_change = change_move(view.timeline, changed, count)
        if is_change and not (view.tables and self.board.is_laid_out(Pane.TABLES)):
            self.view = toggle(replace(view, tables=False), "tables")
        self._words = (move.message or "") if is_change else ""
        self.apply(move)

    @on(Written)
    def _written(self, message: Written) -> None:
        # An answer without a step is asked for anew: a table may be watched by then.
        self._changed_steps = message.steps if message.steps.numbers else None
        wanted, self._to_go = self._to_go, []
        for count in wanted:
            self._to_change(message.steps, count)

    @on(Changed)
    def _shown(self, message: Changed) -> None:
        """A row may have been written as it was, or what was written been taken back within the step."""
        view, changes = self.view, message.changes
        if view is None or view.world is not message.world or isinstance(changes, str):
            return
        if view.message and view.message == self._words and is_as_before(changes):
            self.say(f"{self._words}: written, but as it was before")

    @on(Failed)
    def _not_written(self, message: Failed) -> None:
        if message.job == "written":
            self._to_go = []

    @on(Grown)
    def _has_grown(self) -> None:
        self._changed_steps = None
