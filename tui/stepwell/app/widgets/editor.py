"""Rows to type SQL into."""

from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from stepwell.app import keys
from stepwell.app.widgets.area import EDITING, Area

MOST_ROWS = 8
LONGEST = 20_000
"""Characters that it takes; a longer paste is cut."""


class Editor(Area, inherit_bindings=False):
    """As high as what it holds, up to `MOST_ROWS`."""

    LANGUAGE = "postgresql"
    LONGEST = LONGEST
    BINDINGS: ClassVar[list[BindingType]] = [*keys.SQL_EDITOR, *EDITING]
    DEFAULT_CSS = """
    Editor, Editor:focus { height: 1; }
    """

    class Submitted(Message):
        """Enter, wherever the cursor is."""

    class Recalled(Message):
        """Up on the first row or Down on the last: so many statements through the history."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Left(Message):
        """Ctrl-D where nothing is typed."""

    def on_key(self, event: events.Key) -> None:
        """Enter is a binding here, and no new line."""
        if event.key == "enter":
            event.prevent_default()

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Be as high as the text."""
        most = max(1, min(MOST_ROWS, self.screen.size.height // 3))
        rows = min(max(1, self.wrapped_document.height), most)
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows

    def action_run(self) -> None:
        self.post_message(self.Submitted())

    def action_up(self) -> None:
        if self.navigator.is_first_wrapped_line(self.cursor_location):
            self.post_message(self.Recalled(-1))
        else:
            self.action_cursor_up()

    def action_down(self) -> None:
        if self.navigator.is_last_wrapped_line(self.cursor_location):
            self.post_message(self.Recalled(1))
        else:
            self.action_cursor_down()

    def action_delete_or_leave(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.Left())
