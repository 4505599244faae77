"""All keys of a screen, built from its bindings, as the user has them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from stepwell.app.commandline import COMMANDS
from stepwell.app.keys import key
from stepwell.app.panes.bars import ends
from stepwell.app.panes.help import NO_SIGNS, entries, help_lines, line_of
from stepwell.app.present import Line, Role, Rows, Span
from stepwell.app.widgets.lines import Lines

HELP = [
    key("j,down,n", "scroll('line_down')", "help-line-down", "line down", "in the help"),
    key("k,up,p", "scroll('line_up')", "help-line-up", "line up", "in the help"),
    key("space,pagedown", "scroll('page_down')", "help-page-down", "page down", "in the help"),
    key("pageup,backspace", "scroll('page_up')", "help-page-up", "page up", "in the help"),
    key("g,home", "scroll('top')", "help-top", "first line", "of the help"),
    key("G,end", "scroll('bottom')", "help-bottom", "last line", "of the help"),
    key("q,question_mark,escape,ctrl+c", "close", "help-close", "close", "the help"),
]


class HelpScreen(Screen[None]):
    """`title` names the screen whose `bindings` these are; `commands` are what its `:` takes, `signs` what it shows.

    It opens at the section with the heading `at`, or at its beginning.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*HELP]
    CSS = """
    HelpScreen { layout: vertical; }
    HelpScreen #help-title, HelpScreen #help-keys { height: 1; }
    """

    def __init__(
        self,
        title: str,
        bindings: Sequence[Binding],
        commands: Mapping[str, str] = COMMANDS,
        at: str = "",
        signs: Mapping[str, Mapping[str, str]] = NO_SIGNS,
    ) -> None:
        super().__init__()
        self._signs = signs
        self._at = at
        self._subject = title
        self._of = bindings
        self._commands = commands

    def compose(self) -> ComposeResult:
        yield Lines(id="help-title")
        yield Lines(id="help-body")
        yield Lines(id="help-keys")

    def on_mount(self) -> None:
        found = entries(self._of, self._remapped())
        title = [Span(f"keys of the {self._subject}", Role.HEADING)]
        what = "the commands" if "Commands" in self._signs else "what the signs mean"
        below = [Span(f"{what}: at the end, G")] if self._signs else []

        def lines(width: int) -> list[Line]:
            return help_lines(found, self._commands, width, self._signs)

        self.query_one("#help-title", Lines).fill(lambda width, _: [ends(title, below, width)])
        self.query_one("#help-body", Lines).fill(
            lambda width, _: Rows(lines(width)), top=line_of(lines(self.app.size.width), self._at)
        )

    def _remapped(self) -> dict[str, list[str]]:
        """The keys of every binding of the screen below, by id, a keymap of the user's applied."""
        keys: defaultdict[str, list[str]] = defaultdict(list)
        if len(self.app.screen_stack) > 1:
            for name, active in self.app.screen_stack[-2].active_bindings.items():
                if active.binding.id:
                    keys[active.binding.id].append(name)
        return dict(keys)

    @on(Lines.Moved)
    def _moved(self, message: Lines.Moved) -> None:
        first, last, known, _ = message.position
        where = f"{first}-{last} of {known}"
        self.query_one("#help-keys", Lines).fill(
            lambda width, _: [ends([Span("j/k line  Space page  q close")], [Span(where)], width)]
        )

    def action_scroll(self, how: str) -> None:
        body = self.query_one("#help-body", Lines)
        match how:
            case "line_down":
                body.move_lines(1)
            case "line_up":
                body.move_lines(-1)
            case "page_down":
                body.move_pages(1)
            case "page_up":
                body.move_pages(-1)
            case "top":
                body.move_home()
            case _:
                body.move_end()

    def action_close(self) -> None:
        self.dismiss()
