"""Both sides of a divergence: what was recorded, and what the agent's code does now."""

from bisect import bisect_left, bisect_right
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from stepwell.app.keys import DIVERGENCE
from stepwell.app.panes.bars import ends
from stepwell.app.panes.divergence import BESIDE, Sides, below_line, heads_line, title_line, told_lines
from stepwell.app.panes.heading import where
from stepwell.app.present import Line, Span
from stepwell.app.screens.help import HelpScreen
from stepwell.app.widgets.lines import Lines
from stepwell.core.divergence import Divergence

SIGNS = {
    "Signs": {
        "-": "as it was recorded",
        "+": "as the agent's code has it now",
        "$.a[0]": "where in the input they first differ",
    }
}


class DivergenceScreen(Screen[int | None]):
    """Dismisses with the number of the step to go to, None for the one where one was."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*DIVERGENCE]
    DEFAULT_CSS = """
    DivergenceScreen { layout: vertical; }
    DivergenceScreen #above { height: 3; }
    DivergenceScreen #below { height: 1; }
    """

    def __init__(self, found: Divergence, told: str, run: str) -> None:
        super().__init__()
        self._told = told
        """It in a sentence."""
        self.found = found
        self._run = run
        self._other = False
        """Whether the layout is the one that the width does not suggest."""
        self._sides: Sides | None = None
        self._message = ""

    def compose(self) -> ComposeResult:
        yield Lines(id="above")
        yield Lines(id="sides")
        yield Lines(id="below")

    def on_mount(self) -> None:
        self.sides.heading = lambda _: heads_line(self.found, self.size.width, beside=self.beside)
        self._show()

    def on_resize(self) -> None:
        self._show()

    @property
    def sides(self) -> Lines:
        return self.query_one("#sides", Lines)

    @property
    def beside(self) -> bool:
        """Whether the sides stand beside each other."""
        return (self.size.width >= BESIDE) is not self._other

    def _show(self) -> None:
        above = self._above(self.size.width, 0)
        self.query_one("#above", Lines).styles.height = len(above)
        self.query_one("#above", Lines).fill(self._above)
        self.sides.fill(self._make)
        self._show_below()

    def _above(self, width: int, _: int) -> list[Line]:
        room = 3 if self.found.hint is None else 5
        most = room if self.size.height >= 16 else 1
        return [title_line(self.found, self._run, width), *told_lines(self._told, width, most)]

    def _make(self, width: int, _: int) -> Sides:
        self._sides = Sides(self.found, width, beside=self.beside)
        return self._sides

    def on_lines_moved(self) -> None:
        self._show_below()

    def _show_below(self) -> None:
        position = where(self.sides.position)
        message = [Span(self._message)]
        self.query_one("#below", Lines).fill(
            lambda width, _: [
                ends(message, [Span(position)], width) if self._message else below_line(position, width)
            ]
        )

    def on_key(self, event: events.Key) -> None:
        name = event.character if event.is_printable and event.character else event.key
        self._message = "" if event.key in self.active_bindings else f"no key {name}; ? lists the keys"
        self._show_below()

    def action_scroll(self, how: str) -> None:
        match how:
            case "page_down":
                self.sides.move_pages(1)
            case "page_up":
                self.sides.move_pages(-1)
            case "line_down":
                self.sides.move_lines(1)
            case "line_up":
                self.sides.move_lines(-1)
            case "top":
                self.sides.move_home()
            case _:
                self.sides.move_end()

    def action_difference(self, which: str) -> None:
        """To the next stretch of lines that differ, or to the one before."""
        if self._sides is None or not self._sides.differences:
            return
        starts, here = self._sides.differences, self.sides.position.first + 1
        at = bisect_right(starts, here) if which == "next" else bisect_left(starts, here) - 1
        line = starts[min(max(at, 0), len(starts) - 1)]
        self.sides.move_home()
        self.sides.move_lines(max(0, line - 2))

    def action_layout(self) -> None:
        self._other = not self._other
        self._show()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen("two sides", DIVERGENCE, {}, signs=SIGNS))

    def action_open(self) -> None:
        self.dismiss(self.found.step)

    def action_close(self) -> None:
        self.dismiss(None)
