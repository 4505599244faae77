"""The breakpoint manager: switch, delete, add; the bookmarks are listed as well."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from stepwell.app.keys import key
from stepwell.app.panes.bars import ends
from stepwell.app.panes.breakpoints import HEADER, bookmark_lines, breakpoint_lines, hits
from stepwell.app.present import Line, Role, Span, clean, fit
from stepwell.app.screens.help import HelpScreen
from stepwell.app.widgets.lines import Lines
from stepwell.app.widgets.prompt import Prompt
from stepwell.core.breakpoints import KINDS, Breakpoint, parse_condition, switched
from stepwell.core.timeline import Timeline
from stepwell.errors import UsageError

BREAKPOINTS = [
    key("j,down,n", "select(1)", "breakpoints-down", "down", "next breakpoint"),
    key("k,up,p", "select(-1)", "breakpoints-up", "up", "previous breakpoint"),
    key("enter,space", "enable", "breakpoints-enable", "on / off", "the selected one stays in the list"),
    key("d,delete", "delete", "breakpoints-delete", "delete", "the selected one"),
    key("a", "add", "breakpoints-add", "add", "name:TOOL, type:STEP_TYPE, error, lap:2"),
    key("question_mark", "help", "breakpoints-help", "keys", "all of them"),
    key("q,B,escape,ctrl+c", "close", "breakpoints-close", "back", "to the run"),
]
HINT = "Enter on/off  d delete  a add  ? keys  q back"


class BreakpointsScreen(Screen[tuple[Breakpoint, ...]]):
    """Shows the breakpoints of a timeline; dismisses with what has become of them."""

    BINDINGS: ClassVar[list[BindingType]] = [*BREAKPOINTS]
    CSS = "BreakpointsScreen { layout: vertical; }"

    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self._timeline = timeline
        self.points = timeline.breakpoints
        self.selected = 0
        self.message = ""
        self.error = ""

    def compose(self) -> ComposeResult:
        yield Lines()
        yield Prompt()

    def on_mount(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show(self.message, self.error)

    def _show(self, message: str = "", error: str = "") -> None:
        self.message, self.error = message, error
        self.selected = max(0, min(self.selected, len(self.points) - 1))
        row = self._row(self.size.height)
        self.query_one(Lines).fill(self._lines, cursor=row + 2 if self.points else None)

    def _row(self, height: int) -> int:
        return self.selected % self._rows(height)

    @staticmethod
    def _rows(height: int) -> int:
        return max(1, height - 4)

    def _lines(self, width: int, height: int) -> list[Line]:
        rows = self._rows(height)
        found = [hits(self._timeline, point) for point in self.points]
        top = self.selected - self._row(height)
        body = breakpoint_lines(self.points, found, self.selected, top, width, rows)
        body += bookmark_lines(self._timeline, width, rows - len(body))
        status = f"! {clean(self.error)}" if self.error else clean(self.message)
        return [
            ends(*self._title_ends(), width),
            (Span(fit(HEADER, width), Role.DIM),),
            *body,
            *[()] * (rows - len(body)),
            (Span(fit(status, width), Role.ERROR if self.error else Role.PLAIN),),
            (Span(fit(HINT, width)),),
        ]

    def _title_ends(self) -> tuple[list[Span], list[Span]]:
        name = self._timeline.run.name
        kept = f"kept for runs named {clean(name)}" if name else "kept for runs without a name"
        return [Span("breakpoints", Role.HEADING)], [Span(kept, Role.DIM)]

    def action_select(self, by: int) -> None:
        self.selected += by
        self._show()

    def action_enable(self) -> None:
        if self.points:
            self.points = switched(self.points, self.points[self.selected].condition)
            point = self.points[self.selected]
            self._show(f"{'on' if point.enabled else 'off'}: {point.condition.label}")

    def action_delete(self) -> None:
        if self.points:
            gone = self.points[self.selected]
            self.points = tuple(point for point in self.points if point != gone)
            self._show(f"deleted: {gone.condition.label}; a and {gone.condition.text} bring it back")

    def action_add(self) -> None:
        self.query_one(Prompt).open("breakpoint", f"{' '.join(KINDS)}: ")

    @on(Prompt.Submitted)
    def _add(self, message: Prompt.Submitted) -> None:
        try:
            condition = parse_condition(message.text.strip())
        except UsageError as problem:
            self._show(error=str(problem))
            return
        known = [point.condition for point in self.points]
        if condition not in known:
            self.points = (*self.points, Breakpoint(condition))
            known.append(condition)
        self.selected = known.index(condition)
        count = len(self._timeline.outline.hits(condition))
        self._show(f"{condition.label}: {count} hit{'' if count == 1 else 's'} in this run")

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen("breakpoints", BREAKPOINTS, {}))

    def action_close(self) -> None:
        self.dismiss(self.points)
