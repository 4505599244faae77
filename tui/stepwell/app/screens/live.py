"""Before an agent goes on for real: which calls that will be. And while it does, a way to end it."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from stepwell.app.going import Going
from stepwell.app.keys import LIVE
from stepwell.app.messages import Failed, OpenAddress, Reran
from stepwell.app.panes.heading import where
from stepwell.app.panes.live import LiveView, below_line, live_lines, title_line
from stepwell.app.present import Rows
from stepwell.app.present.leaving import stayed
from stepwell.app.rerun import CANCELLED
from stepwell.app.screens.rerunning import HURRY, LEAVING
from stepwell.app.widgets.lines import Lines
from stepwell.app.worker import Worker
from stepwell.core.rerun import Report

TICK = 1.0
"""Seconds from one look at the time to the next."""


class LiveScreen(Screen[OpenAddress | None]):
    """Dismisses with the branch that came of it, None for none.

    It is there from the first, so that no key that was meant for another screen says yes.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*LIVE]
    DEFAULT_CSS = """
    LiveScreen { layout: vertical; }
    LiveScreen #live-title, LiveScreen #live-keys { height: 1; }
    """

    def __init__(self, going: Going, view: LiveView, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self.view = view
        self._going = going
        self._clock = clock
        self._since = 0.0
        self.worker = Worker(self.post_message, lambda: None)

    def compose(self) -> ComposeResult:
        yield Lines(id="live-title")
        yield Lines(id="live-body")
        yield Lines(id="live-keys")

    def on_mount(self) -> None:
        self._show(self.view)
        self.worker.start()
        self.worker.submit("look", self._going.look)
        self.set_interval(TICK, self._tick)

    def on_unmount(self) -> None:
        for patience in LEAVING:
            self._going.cancel()
            self.worker.stop(patience)
            if not self.worker.busy:
                return

    def _show(self, view: LiveView) -> None:
        self.view = view
        self.query_one("#live-title", Lines).fill(lambda width, _: [title_line(self.view, width)])
        self.query_one("#live-body", Lines).fill(lambda width, _: Rows(live_lines(self.view, width)))
        self.on_lines_moved()

    def on_lines_moved(self) -> None:
        position = where(self.query_one("#live-body", Lines).position)
        self.query_one("#live-keys", Lines).fill(lambda width, _: [below_line(self.view, position, width)])

    def _tick(self) -> None:
        if self.view.phase == "going":
            self._show(replace(self.view, seconds=int(self._clock() - self._since)))

    @on(Reran)
    def _came(self, message: Reran) -> None:
        """Of looking where it would go on, or of going on."""
        report, leave = message.report, self.view.leave
        if report is None:
            return
        if report.branch is not None and leave is not None:
            self.dismiss(OpenAddress(f"{report.branch}:{leave.step}", _ended(report)))
        elif self.view.phase == "looking" and report.leave is not None:
            self._show(replace(self.view, leave=report.leave, told=message.told))
        else:
            why = "" if report.refused is None or leave is None else f"{report.refused}; "
            self._show(replace(self.view, told=message.told, over=f"{why}{stayed(report, leave)}"))

    @on(Failed)
    def _cannot(self, message: Failed) -> None:
        message.stop()
        self._show(replace(self.view, over=message.text))

    def action_scroll(self, pages: int) -> None:
        self.query_one("#live-body", Lines).move_pages(pages)

    def action_go_on(self) -> None:
        leave = self.view.leave
        if self.view.phase == "asking" and leave is not None:
            self._since = self._clock()
            self._show(replace(self.view, seconds=0))
            self.worker.submit("go", lambda: self._going.go(leave))

    def action_stop(self) -> None:
        if self.view.phase != "going":
            self.dismiss(None)
        elif not self.view.ending:
            self._show(replace(self.view, ending=True))
            self._end()

    def _end(self) -> None:
        """Again and again, for it may only be about to begin."""
        if self.worker.busy:
            self._going.cancel()
            self.set_timer(HURRY, self._end)

    def action_close(self) -> None:
        if self.view.phase != "going":
            self.dismiss(None)


def _ended(report: Report) -> str:
    """How it went, for the screen of the branch."""
    if report.refused is not None:
        how = f", and {'was ' if report.refused.startswith(CANCELLED) else ''}{report.refused}"
    elif report.stopped is not None:
        how = f" and ended with {report.stopped}"
    else:
        how = " and came to its end"
    return f"the agent went on for real{how}"
