"""The debugger's keys: each becomes a pure move, a change of the view, or an errand outside of the screen."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType

from stepwell.app import keys
from stepwell.app.answers import INSTEAD, answer, inner_view, toggle
from stepwell.app.changing import CHANGES
from stepwell.app.clipboard import copy_from, copy_shown
from stepwell.app.commanding import run_command
from stepwell.app.geometry import Pane
from stepwell.app.memory import Memory
from stepwell.app.messages import OpenAddress
from stepwell.app.mover import Mover
from stepwell.app.moving import MOVES
from stepwell.app.pager import page
from stepwell.app.pane_text import address_text, is_long, pane_lines, value_text
from stepwell.app.panes.signs import SIGNS
from stepwell.app.pending import Answer, Pending
from stepwell.app.screens.breakpoints import BreakpointsScreen
from stepwell.app.screens.help import HelpScreen
from stepwell.app.screens.leaving import LeavingScreen
from stepwell.app.screens.replaying import Start
from stepwell.app.screens.supposing import LEAVING, UNSAVED
from stepwell.app.widgets.prompt import Prompt
from stepwell.core import moves
from stepwell.core.breakpoints import Breakpoint
from stepwell.core.moves import Move
from stepwell.store.connect import Target

__all__ = ["DebuggerScreen", "Start"]


class DebuggerScreen(LeavingScreen):
    """One run under the keyboard."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.DEBUGGER]

    def __init__(self, target: Target, start: Start, memory: Memory, mover: Mover | None = None) -> None:
        super().__init__(target, start, memory, mover)
        self._count_over = False
        """Whether the last key was none that a count goes on with."""
        self._cancelling = 0
        """The number of the worker's job that was cancelled last."""

    def on_key(self, event: events.Key) -> None:
        """Digits before a key are its count; after a key that asks, the next one answers."""
        if self.view is None or self.focused is not None:
            return
        if event.key != "ctrl+c":
            self.finder.stop()
            if not self.view.stale:  # else it is what was cancelled that the panes wait for
                self.worker.hush(self._cancelling)
        # Told long enough. What the key leads to is painted; `key_done` paints where it leads to nothing.
        if self.view.message or self.view.error:
            self.view = replace(self.view, message="", error="")
        taken = self.pending.key(event.key, event.character)
        self._count_over = taken is None
        if taken is None:
            self._say_unknown(event)
            return
        event.stop()
        event.prevent_default()
        if isinstance(taken, Answer) and taken.kind in LEAVING:
            if taken.character == "y":
                self.leave(LEAVING[taken.kind], sure=True)
            elif taken.character == "W":
                self.action_save()
            else:
                self.say(UNSAVED)
        elif isinstance(taken, Answer):
            self.apply(answer(self.view.timeline, taken))
        else:
            self.say(taken)

    def key_done(self) -> None:
        """All that a key has set off is done: a count that it did not use is dropped, an old message gone."""
        if self._count_over and self.focused is None:
            self.pending.drop_count()
            self._count_over = False
        view = self.view
        if view is not None and not (view.busy and view.stale) and not self.board.shows(view):
            self.board.show(view)

    def _say_unknown(self, event: events.Key) -> None:
        if event.key in self.active_bindings:
            return
        name = event.character if event.is_printable and event.character else event.key
        self.say(f"no key {name}; ? lists the keys")

    def action_move(self, name: str) -> None:
        count = self.pending.take_count()
        if name in CHANGES:
            self.to_change(CHANGES[name] * (count or 1))
        elif self.view is not None:
            self.apply(MOVES[name](self.view.timeline, count))

    def action_choose(self, kind: str) -> None:
        if self.view is not None:
            self.say(self.pending.ask(kind, self.view.timeline))

    def action_prompt(self, kind: str) -> None:
        if self.view is not None:
            self.query_one(Prompt).open(kind, "/" if kind == "search" else ":")

    @on(Prompt.Submitted)
    def _submitted(self, message: Prompt.Submitted) -> None:
        if message.kind == "search":
            self.search(message.text)
            return
        if self.view is None or not message.text.strip():
            return
        match run_command(self.view, message.text):
            case Move() as move:
                self.apply(move)
            case OpenAddress() if self.view.what_if is not None:
                self.say(UNSAVED)
            case OpenAddress() as other:
                self.app.post_message(other)
            case str(action):
                self.call_later(self.run_action, action)
            case view:
                self.show(view)

    def action_pane(self, which: str) -> None:
        view = self.view
        if view is not None:
            shown = self.board.panes_shown()
            at = shown.index(view.pane) if view.pane in shown else 0
            self.show(replace(view, pane=shown[(at + (1 if which == "next" else -1)) % len(shown)]))

    def action_scroll(self, how: str) -> None:
        view = self.view
        if view is None:
            return
        if view.pane is not Pane.TIMELINE:
            self.board.scroll_pane(view.pane, how)
            return
        timeline, rows = view.timeline, max(1, self.board.lines(Pane.TIMELINE).size.height)
        scrolls: dict[str, Callable[[], Move]] = {
            "page_down": lambda: moves.forward(timeline, rows),
            "page_up": lambda: moves.back(timeline, rows),
            "line_down": lambda: moves.forward(timeline),
            "line_up": lambda: moves.back(timeline),
            "top": lambda: moves.first(timeline),
            "bottom": lambda: moves.last(timeline),
        }
        self.apply(scrolls[how]())

    def action_switch(self, what: str) -> None:
        view = self.view
        if view is not None and not (what == "raw" and self.read_whole()):
            hidden = what in INSTEAD and not self.board.is_laid_out(INSTEAD[what])
            self.show(toggle(replace(view, tables=False, printed=False) if hidden else view, what))

    def action_follow(self) -> None:
        view = self.view
        if view is None:
            return
        if view.follow:
            self.show(replace(view, follow=False, message="no longer following"))
        elif self.mover.interval() is None:
            self.say(f"the run has ended ({view.timeline.run.status}): nothing to follow")
        else:
            self.apply(replace(moves.last(view.timeline), message="following"), follow=True)

    def action_copy(self, what: str) -> None:
        view = self.view
        if view is None:
            return
        if what == "address":
            self.say(copy_shown(self.app, address_text(view)))
        elif (world := view.world) is not None and not view.stale and not self.read_whole():
            if is_long(view, world):
                self.say("copying; Ctrl-C cancels")
                self.worker.submit("copy", lambda: self.mover.copy(view, world))
            else:
                self.say(copy_from(self.app, value_text(view, world)))

    def action_pager(self) -> None:
        view = self.view
        if view is not None and not view.stale and not self.read_whole():
            self.say(page(self.app, pane_lines(view, self.size.width), os.environ))

    def action_breakpoints(self) -> None:
        if self.view is not None:
            self.app.push_screen(BreakpointsScreen(self.view.timeline), self._breakpoints_changed)

    def _breakpoints_changed(self, points: Sequence[Breakpoint] | None) -> None:
        if self.view is not None and points is not None:
            self.apply(Move(replace(self.view.timeline, breakpoints=tuple(points))))

    def action_help(self, at: str = "") -> None:
        self.app.push_screen(HelpScreen("debugger", keys.DEBUGGER, at=at, signs=SIGNS))

    def action_cancel(self) -> None:
        if self.stop():
            self.say("stopped")
        elif self.worker.busy:
            self._cancelling = self.worker.current
            cancel = partial(self.worker.cancel, self._cancelling, self.mover.cancel)
            self.run_worker(cancel, thread=True, exclusive=True, group="cancel")
        elif self.cancel_agent():
            self.say("the agent's code is stopped")
        else:
            self.pending = Pending()
            self.say("nothing is running; q goes out")

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)

    def action_close(self, what: str = "") -> None:
        """Leave the run; unless it is to be the `run`, what is opened in it comes first, for `inner` nothing else."""
        inner = None if self.view is None or what in ("run", "app") else inner_view(self.view)
        if inner is not None:
            self.show(inner)
        elif what != "inner":
            self.leave(what)
