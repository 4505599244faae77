"""A screen that replays a run: its view, its worker, and the messages between them."""

from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen

from stepwell.app.memory import Memory
from stepwell.app.messages import Failed, Grown, Moved, Opened, Resolved
from stepwell.app.mover import POLLED, Mover
from stepwell.app.rerun import Agent, Rerun
from stepwell.app.soon import soon
from stepwell.app.view import View
from stepwell.app.widgets.board import Board
from stepwell.app.widgets.prompt import Prompt
from stepwell.app.worker import Worker
from stepwell.core import moves
from stepwell.core.address import Address, Number, Path, short_id
from stepwell.core.moves import Move
from stepwell.core.steps import RunHead
from stepwell.core.timeline import build
from stepwell.store.connect import Target

if TYPE_CHECKING:
    from stepwell.app.runner import Runner

PATIENCE = 0.15
"""Seconds after which a move that is still being replayed is shown without its world."""

REPLAY_EVERY = 0.03
"""Seconds from one replay to the next: keys that come faster than that share one."""


@dataclass(frozen=True, slots=True)
class Start:
    """What the debugger opens, and where in it."""

    run: RunHead
    address: Address | None = None
    first: bool = False
    """Whether it is the first thing to be seen."""
    mover: Mover | None = None
    """Which has begun to open the run."""
    agent: Agent | None = None
    """Whose code is run to each step that one comes to."""
    runner: "Runner | None" = None
    """What runs it, where that is not to be made."""
    words: str = ""
    """What is said when it is open."""


class ReplayingScreen(Screen[str | None]):
    """Everything that it knows is in `view`; everything slow is done by `worker`, by means of `mover`.

    It dismisses with what is wrong where the run cannot be opened, else with None.
    """

    AUTO_FOCUS = ""

    def __init__(self, target: Target, start: Start, memory: Memory, mover: Mover | None = None) -> None:
        super().__init__()
        self.target = target
        self.start = start
        self.memory = memory
        self.view: View | None = None
        self._replayed = -REPLAY_EVERY
        """When the last replay was asked for."""
        self._pausing = False
        """Whether the next one waits for its time."""
        self._path: Path | None = None
        """What to tell of the world that is being replayed."""
        self.mover = mover or start.mover or Mover(target, start.run.run_id)
        self.worker = Worker(self.post_message, self.mover.close, self.mover.poll, self.mover.interval)

    def compose(self) -> ComposeResult:
        yield Board()
        yield Prompt()

    def on_mount(self) -> None:
        self.worker.start()
        self.worker.rest_with(self, self.mover.cancel)
        self.worker.submit("open", self.mover.open)

    def on_unmount(self) -> None:
        if self.worker.busy:
            self.mover.cancel()
        self.worker.stop()

    @property
    def board(self) -> Board:
        return self.query_one(Board)

    @property
    def settled(self) -> bool:
        """Whether what is shown is what was asked for last."""
        return self.view is not None and not self.view.stale and not self.worker.busy

    def show(self, view: View) -> None:
        """Make `view` the one that counts, and paint it."""
        self.view = view
        self.board.show(view)

    def say(self, message: str) -> None:
        """A line in the status until the next move."""
        if self.view is not None:
            self.show(replace(self.view, message=message, error=""))

    def go_to(self, address: Address, *, opening: bool = False) -> None:
        """To the step of an address of this run; what its path names is told when the world is there.

        A run that opens with a step beyond its last is at that one, as a branch may be that another one left later on.
        """
        view = self.view
        if view is None:
            return
        timeline, step = view.timeline, address.step
        move = moves.go_to(timeline, step) if step else Move(timeline)
        if opening and timeline.steps and isinstance(step, Number) and step.number > timeline.outline.span[1]:
            move = moves.go_to_index(timeline, len(timeline.steps) - 1, move.message)
        if opening:  # is no jump that could be undone
            words = move.message or view.message or None
            move = replace(move, timeline=replace(move.timeline, jumps=()))
            self.apply(replace(move, message=words))
        else:
            self.apply(move)
        self._path = address.path if move.message is None else None
        if self.view is not None and not self.view.stale:
            self.arrived()

    def apply(self, move: Move, *, follow: bool = False, mark: str = "") -> None:
        """Go where a move led: replay there, and paint once, when the world is there.

        `mark`: what a search found there.
        """
        view = self.view
        if view is None:
            return
        self._remember(view, move)
        self._path = None
        moved = replace(
            view, timeline=move.timeline, message=move.message or "", error="", follow=follow, mark=mark,
            behind=0 if move.timeline.cursor == len(move.timeline.steps) - 1 else view.behind,
        )  # fmt: skip
        if view.stale or moved.stale:
            self.worker.drop("move")  # what the step before came to is no longer of interest
        step = move.timeline.current
        if step is None or not moved.stale:
            self.show(moved)
            self.arrived()
            return
        self.view = replace(moved, busy=True)
        if not self._pausing:
            wait = self._replayed + REPLAY_EVERY - monotonic()
            self._pausing = wait > 0
            if self._pausing:
                soon(self, wait, self._replay)
            else:
                self._replay()
        self.set_timer(PATIENCE, self._show_waiting)

    def arrived(self) -> None:
        """The world that was asked for is shown: tell the value of the path that was asked for with it."""
        view, path, self._path = self.view, self._path, None
        if view is not None and view.world is not None and path is not None:
            world, wanted = view.world, path
            self.worker.submit("path", lambda: self.mover.resolve(world, wanted))

    def _replay(self) -> None:
        """Have the world at the cursor replayed, unless it is there."""
        self._pausing = False
        view = self.view
        step = None if view is None else view.timeline.current
        if view is None or step is None or not view.stale:
            return
        number, moment = step.number, view.timeline.moment
        self._replayed = monotonic()
        self.worker.submit("move", lambda: self.mover.move(number, moment))

    def _remember(self, view: View, move: Move) -> None:
        """Keep breakpoints and bookmarks for the next session, off the event loop."""
        old, new = view.timeline, move.timeline
        if old.breakpoints is not new.breakpoints or old.bookmarks is not new.bookmarks:
            kept = new.run, new.breakpoints, new.bookmarks
            self.worker.submit("remember", lambda: self.memory.remember(*kept), lasting=True)

    def _show_waiting(self) -> None:
        if self.view is not None and self.view.busy and self.view.stale:
            self.board.show(self.view)

    @on(Opened)
    def _opened(self, message: Opened) -> None:
        recalled = self.memory.recall(message.run)
        timeline = build(
            message.run, message.steps, breakpoints=recalled.breakpoints, bookmarks=recalled.bookmarks
        )
        words = self.start.words or recalled.words or (message.caution if self.start.first else "")
        rerun = None if self.start.agent is None else Rerun()
        self.view = View(timeline, short_id(message.run.run_id), message.where, message=words, agent=rerun)
        address = self.start.address
        if address is not None and (address.step is not None or address.path is not None):
            self.go_to(address, opening=True)
        elif timeline.steps:
            self.apply(Move(timeline, words or None))
        else:
            self.show(self.view)

    @on(Moved)
    def _moved(self, message: Moved) -> None:
        if self.view is None or message.what_if is not self.view.what_if:
            return  # the edit that it is of has been undone or made since
        view = replace(self.view, world=message.world, sight=message.sight)
        if message.sight is not None and message.sight.cut:
            view = replace(view, cut=view.cut | {message.world.number})
        if not view.stale:  # else a newer move is under way
            if self.view.unread is not None and view.unread is None:
                view = replace(view, message="")  # it said that it was reading
            self.show(replace(view, busy=False))
            self.arrived()

    @on(Resolved)
    def _resolved(self, message: Resolved) -> None:
        world = None if self.view is None else self.view.world
        if world is not None and world.number == message.number:
            self.say(message.text)

    @on(Grown)
    def _grown(self, message: Grown) -> None:
        view = self.view
        if view is None:
            return
        timeline = view.timeline.grown(message.growth, message.run)
        step = view.timeline.current
        touched = step is None or step.number in message.updated
        self.view = replace(
            view,
            timeline=timeline,
            behind=view.behind + message.new,
            world=None if touched else view.world,
        )
        if view.follow and message.run.status in POLLED:
            self.apply(moves.last(timeline), follow=True)
        elif view.follow:
            self.apply(replace(moves.last(timeline), message=f"the run has ended: {message.run.status}"))
        elif touched:
            self.apply(Move(timeline, view.message))
        else:
            self.show(self.view)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        message.stop()
        if self.view is None:
            self.dismiss(message.text)
        elif self.worker.is_news(message):
            self.show(replace(self.view, error=message.text, busy=False))
