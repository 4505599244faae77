"""One row to type into, over the row of keys at the bottom of a screen."""

from collections.abc import Iterable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from stepwell.app.present import clean

MAX_LENGTH = 2_000
"""Characters that a line may have; a longer paste is cut."""
REMEMBERED = 100
"""Lines of each kind that Up finds again."""


class _Line(Input):
    """Textual's line editor, for whom recorded text that is pasted is text and nothing else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "cancel", "cancel", show=False),
        Binding("backspace", "backspace", "delete, or cancel", show=False),
        Binding("up", "history(-1)", "line before", show=False),
        Binding("down", "history(1)", "line after", show=False),
        Binding("tab,shift+tab,pageup,pagedown", "nothing", "nothing", show=False),
    ]

    class Cancelled(Message):
        """Esc, or a backspace with nothing to delete."""

    class Recalled(Message):
        """Up or Down: `step` lines through the history."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def validate_value(self, value: str) -> str:
        return clean(value[:MAX_LENGTH])[:MAX_LENGTH]

    def on_paste(self, event: events.Paste) -> None:
        """Take the first line that holds something."""
        event.stop()
        event.prevent_default()
        self._put(event.text)

    def action_paste(self) -> None:
        self._put(self.app.clipboard)

    def _put(self, text: str) -> None:
        line = next((line for line in text[: 4 * MAX_LENGTH].splitlines() if line.strip()), "")
        room = MAX_LENGTH - len(self.value) + len(self.selected_text)
        self.replace(clean(line[:room])[:room], *self.selection)

    def action_backspace(self) -> None:
        if self.value:
            self.action_delete_left()
        else:
            self.post_message(self.Cancelled())

    def action_cancel(self) -> None:
        self.post_message(self.Cancelled())

    def action_history(self, step: int) -> None:
        self.post_message(self.Recalled(step))

    def action_nothing(self) -> None:
        """Keys of the screen behind that make no sense while a line is typed."""


class Prompt(Horizontal):
    """Hidden until it is opened; it lies over the last row of the screen and moves nothing.

    Everything that it hands out is cleaned text.
    """

    DEFAULT_CSS = """
    Prompt {
        layer: prompt; dock: bottom; display: none; width: 100%; height: 1;
        background: ansi_default; color: ansi_default;
    }
    Prompt Static { width: auto; height: 1; text-style: bold; background: ansi_default; color: ansi_default; }
    Prompt _Line, Prompt _Line:focus {
        width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; color: ansi_default;
        background-tint: ansi_default 0%;
        &>.input--cursor { background: ansi_default; color: ansi_default; text-style: reverse; }
        &>.input--selection { background: ansi_default; color: ansi_default; text-style: underline; }
    }
    """

    class Submitted(Message):
        """Enter; the prompt is closed again."""

        def __init__(self, kind: str, text: str) -> None:
            super().__init__()
            self.kind = kind
            self.text = text

    class Cancelled(Message):
        """Closed without a line."""

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

    class Changed(Message):
        """Another text stands in the line."""

        def __init__(self, kind: str, text: str) -> None:
            super().__init__()
            self.kind = kind
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._kind: str | None = None
        self._told = ""
        self._history: dict[str, list[str]] = {}
        self._at = 0
        self._draft = ""
        self._focused: Widget | None = None

    def compose(self) -> ComposeResult:
        yield Static(markup=False)
        line = _Line(compact=True, select_on_focus=False)
        line.cursor_blink = False
        line.can_focus = False  # a screen gives its first focus to what is hidden, too
        yield line

    @property
    def is_open(self) -> bool:
        return self._kind is not None

    def open(self, kind: str, prefix: str, text: str = "", history: Iterable[str] = ()) -> None:
        """Show it, with `prefix` before the line and `text` in it.

        `history`, oldest first, is what Up finds when no line of this kind was typed so far.
        """
        if not self.is_open:
            self._focused = self.screen.focused
        self._kind = kind
        known = self._history.setdefault(kind, [clean(line) for line in history][-REMEMBERED:])
        self._at, self._draft = len(known), ""
        self.query_one(Static).update(clean(prefix))
        self._set(text)
        self.display = True
        self._line.can_focus = True
        self._line.focus()
        if text:
            self.call_after_refresh(self._show_end)

    def close(self) -> None:
        """Hide it, and give the keys back to what had them."""
        self._kind = None
        self.display = False
        self._line.can_focus = False
        self.screen.set_focus(self._focused)

    def _show_end(self) -> None:
        """Scroll to the cursor: before the first layout there is no width to scroll in."""
        line = self._line
        at, line.cursor_position = line.cursor_position, 0
        line.cursor_position = at

    @property
    def _line(self) -> _Line:
        return self.query_one(_Line)

    def _set(self, text: str) -> None:
        line = self._line
        line.value = text
        line.cursor_position = len(line.value)
        self._told = line.value

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        message.stop()
        # The message of a text that was set by `open`, or from before it, is no change.
        if self._kind is not None and message.value == self._line.value != self._told:
            self._told = message.value
            self.post_message(self.Changed(self._kind, message.value))

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        message.stop()
        kind, text = self._kind, message.value
        if kind is None:
            return
        if text.strip():
            lines = [line for line in self._history[kind] if line != text]
            self._history[kind] = [*lines, text][-REMEMBERED:]
        self.close()
        self.post_message(self.Submitted(kind, text))

    @on(_Line.Cancelled)
    def _cancelled(self, message: _Line.Cancelled) -> None:
        message.stop()
        kind = self._kind
        if kind is not None:
            self.close()
            self.post_message(self.Cancelled(kind))

    @on(_Line.Recalled)
    def _recalled(self, message: _Line.Recalled) -> None:
        message.stop()
        if self._kind is None:
            return
        lines = self._history[self._kind]
        if self._at == len(lines):
            self._draft = self._line.value
        self._at = min(max(self._at + message.step, 0), len(lines))
        line = self._line
        line.value = lines[self._at] if self._at < len(lines) else self._draft
        line.cursor_position = len(line.value)
