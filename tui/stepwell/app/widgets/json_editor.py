"""Rows to edit a step's output in, as JSON, in place of the pane that shows it."""

import re
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from stepwell.app import keys
from stepwell.app.widgets.area import EDITING, Area

INDENT = "  "
MOVING = [
    Binding(each, action, "", show=False)
    for each, action in (
        ("up", "cursor_up"),
        ("down", "cursor_down"),
        ("pageup", "cursor_page_up"),
        ("pagedown", "cursor_page_down"),
        ("ctrl+home", "top"),
        ("ctrl+end", "bottom"),
        ("tab", "indent"),
        ("shift+tab", "nothing"),
    )
]


class JsonEditor(Area, inherit_bindings=False):
    """The cursor starts at the beginning."""

    LANGUAGE = "json"
    LONGEST = 200_000
    BINDINGS: ClassVar[list[BindingType]] = [*keys.JSON_EDITOR, *EDITING, *MOVING]
    DEFAULT_CSS = """
    JsonEditor, JsonEditor:focus { position: absolute; display: none; }
    """

    class Done(Message):
        """What is typed is to be taken; `outside`: to be gone on with in `$EDITOR`."""

        def __init__(self, text: str, outside: bool = False) -> None:
            super().__init__()
            self.text = text
            self.outside = outside

    class GivenUp(Message):
        """Nothing is to be edited."""

    def on_key(self, event: events.Key) -> None:
        """A new line begins as far to the right as the one before."""
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            row, column = self.cursor_location
            before = self.document[row][:column]
            self._insert("\n" + before[: len(before) - len(before.lstrip(" "))])

    def put_at(self, line: int, column: int) -> None:
        """Move the cursor there, both counted from 1."""
        self.move_cursor((max(0, line - 1), max(0, column - 1)))

    def action_done(self) -> None:
        self.post_message(self.Done(self.text))

    def action_outside(self) -> None:
        self.post_message(self.Done(self.text, outside=True))

    def action_give_up(self) -> None:
        self.post_message(self.GivenUp())

    def action_top(self) -> None:
        self.move_cursor((0, 0))

    def action_bottom(self) -> None:
        self.move_cursor(self.document.end)

    def action_indent(self) -> None:
        self._insert(INDENT)

    def action_nothing(self) -> None:
        """A key of the screen behind that makes no sense while one types."""


def place_in(problem: str) -> tuple[int, int]:
    """Line and column that an error names; the beginning where it names none."""
    found = re.search(r"line (\d+), column (\d+)", problem)
    return (1, 1) if found is None else (int(found[1]), int(found[2]))
