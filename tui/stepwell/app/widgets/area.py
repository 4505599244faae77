"""Rows to type into: Textual's editor, with colours of the ANSI palette and what is pasted made safe."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.widgets import TextArea

from stepwell.app.present import Line, Span, clean_lines, style
from stepwell.app.present.code import BLOCK_CHARACTERS as MOST_COLOURED
from stepwell.app.present.code import LONGEST_LINE, highlight

EDITING = [
    Binding(each, action, "", show=False)
    for each, action in (
        ("left,ctrl+b", "cursor_left"),
        ("right,ctrl+f", "cursor_right"),
        ("ctrl+left", "cursor_word_left"),
        ("ctrl+right", "cursor_word_right"),
        ("home,ctrl+a", "cursor_line_start"),
        ("end,ctrl+e", "cursor_line_end"),
        ("shift+left", "cursor_left(True)"),
        ("shift+right", "cursor_right(True)"),
        ("shift+up", "cursor_up(True)"),
        ("shift+down", "cursor_down(True)"),
        ("shift+home", "cursor_line_start(True)"),
        ("shift+end", "cursor_line_end(True)"),
        ("backspace", "delete_left"),
        ("delete", "delete_right"),
        ("ctrl+w,ctrl+backspace,alt+backspace", "delete_word_left"),
        ("alt+delete", "delete_word_right"),
        ("ctrl+u", "delete_to_start_of_line"),
        ("ctrl+k", "delete_to_end_of_line_or_delete_line"),
        ("ctrl+v", "paste"),
        # As which Alt-Enter comes from most terminals.
        ("ctrl+j,shift+enter", "new_line"),
        ("ctrl+underscore", "undo"),
        ("ctrl+y", "redo"),
    )
]
"""What every line editor has; the help does not list it."""


class Area(TextArea, inherit_bindings=False):
    """What it holds is text that is safe to show."""

    LANGUAGE: ClassVar[str]
    LONGEST: ClassVar[int]
    """Characters that it takes; a longer paste is cut."""
    DEFAULT_CSS = """
    Area, Area:focus {
        border: none; padding: 0; scrollbar-size: 0 0;
        background: ansi_default; color: ansi_default; background-tint: ansi_default 0%;
        & .text-area--cursor { background: ansi_default; color: ansi_default; text-style: reverse; }
        & .text-area--selection { background: ansi_default; color: ansi_default; text-style: underline; }
        & .text-area--matching-bracket { background: ansi_default; color: ansi_default; text-style: bold underline; }
    }
    """

    class Cut(Message):
        """Not all of a paste has found room."""

    def __init__(self) -> None:
        super().__init__(compact=True, highlight_cursor_line=False)
        self.cursor_blink = False
        self._lit: tuple[str, tuple[Line, ...]] = ("", ())
        """A text, and its lines in colours."""

    def put(self, text: str, at: int | None = None) -> None:
        """Hold another text, the cursor at character `at` of it or at its end; undo brings back what it held."""
        self.replace(self._safe(text), (0, 0), self.document.end, maintain_selection_offset=False)
        before = self.text[:at] if at is not None else self.text
        self.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))

    def get_line(self, line_index: int) -> Text:
        """One line in colours, for Textual."""
        line = super().get_line(line_index)
        at = 0
        for text, role in self._colours()[line_index]:
            line.stylize(style(role), at, at + len(text))
            at += len(text)
        return line

    def _colours(self) -> tuple[Line, ...]:
        text = self.text
        if self._lit[0] != text or not self._lit[1]:
            lines = tuple(text.split("\n"))
            is_long = len(text) > MOST_COLOURED or max(map(len, lines)) > LONGEST_LINE
            self._lit = (
                text,
                tuple((Span(line),) for line in lines) if is_long else highlight(lines, self.LANGUAGE),
            )
        return self._lit[1]

    def on_paste(self, event: events.Paste) -> None:
        """Take text and nothing else."""
        event.stop()
        event.prevent_default()
        self._insert(event.text)

    def _insert(self, text: str) -> None:
        room = max(0, self.LONGEST - len(self.text) + len(self.selected_text))
        self.replace(self._safe(text[:room]), *self.selection, maintain_selection_offset=False)
        if len(text) > room:
            self.post_message(self.Cut())

    def action_paste(self) -> None:
        self._insert(self.app.clipboard)

    def action_new_line(self) -> None:
        self._insert("\n")

    def _safe(self, text: str) -> str:
        """Lines of a text, each cleaned: what no terminal acts upon, and what one sees is what is sent."""
        return "\n".join(clean_lines(text.replace("\r\n", "\n").replace("\r", "\n")[: self.LONGEST]))
