"""A debugger that tells, while TABLES is shown, what each step changed in the database."""

from dataclasses import replace
from functools import partial

from textual import on

from stepwell.app.geometry import Pane
from stepwell.app.memory import Memory
from stepwell.app.messages import Changed
from stepwell.app.mover import Mover
from stepwell.app.screens.replaying import PATIENCE, ReplayingScreen, Start
from stepwell.app.view import View
from stepwell.core.moves import Move
from stepwell.core.world import World
from stepwell.store.connect import Target


class ChangesScreen(ReplayingScreen):
    """Reads what changed after the move that led to a step, and not at all while the pane is hidden."""

    def __init__(self, target: Target, start: Start, memory: Memory, mover: Mover | None = None) -> None:
        super().__init__(target, start, memory, mover)
        self._wanted: World | None = None
        """The last world of which it was asked."""
        self._job = 0

    @property
    def settled(self) -> bool:
        view = self.view
        return super().settled and not (view is not None and view.lags and self._wanted is view.world)

    def show(self, view: View) -> None:
        super().show(view)
        if not view.tables:
            self._wanted = None
        elif view.lags and self._wanted is not view.world and self.board.is_laid_out(Pane.TABLES):
            self._read(view)

    def _read(self, view: View) -> None:
        self._wanted = world = view.world
        assert world is not None
        self._job = self.worker.submit("tables", lambda: self.mover.changes(world))
        self.set_timer(PATIENCE, partial(self._show_reading, world))

    def apply(self, move: Move, *, follow: bool = False, mark: str = "") -> None:
        """What is read for the step before gives way to the move, where it takes long.

        A move that ends where it began reads again: a table's verdict changes when who wrote it commits.
        """
        if self.view is not None and not self._job:
            self.view, self._wanted = replace(self.view, changes_of=None), None
        super().apply(move, follow=follow, mark=mark)
        if self.view is not None and self.view.stale and self._job:
            self.worker.drop("tables")
            self.set_timer(PATIENCE, partial(self._give_way, self._job))
            self._wanted, self._job = None, 0

    def _give_way(self, number: int) -> None:
        if self.worker.current == number:
            cancel = partial(self.worker.cancel, number, self.mover.cancel)
            self.run_worker(cancel, thread=True, exclusive=True, group="cancel")

    def _show_reading(self, world: World) -> None:
        view = self.view
        if view is not None and view.lags and view.world is world:
            self.show(replace(view, reading=True))

    @on(Changed)
    def _changed(self, message: Changed) -> None:
        view = self.view
        if view is not None and view.world is message.world:
            self._job = 0
            self.show(replace(view, changes=message.changes, changes_of=message.world, reading=False))
