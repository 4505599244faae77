"""The widget of every pane: prepared lines, or a window onto a document that is laid out as far as it is seen."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from textual import events
from textual.message import Message

from stepwell.app.marking import marked
from stepwell.app.present import Document, Line
from stepwell.app.soon import soon
from stepwell.app.widgets.painted import Painted

AHEAD = 300
"""Lines laid out beyond the screen, so that the length of most documents is known when they open."""
STRIDE = 2000
"""Lines laid out between two looks at the keyboard, on the way to the end of a long document."""
BREATH = 0.001
"""Seconds between two strides, for everything else."""
TELL_SECONDS = 0.25
"""From one word on how far that has got to the next."""
REACH = 2
"""Lines above the window that are looked at too: what is marked may begin there and be wrapped into it."""
Content = Sequence[Line] | Document


class Position(NamedTuple):
    """Which lines are in view, counted from 1, of how many; `complete` if there are no more than those."""

    first: int
    last: int
    known: int
    complete: bool


class Lines(Painted):
    """Shows prepared lines, or a window onto a document."""

    class Moved(Message):
        """Other lines came into view, or more of them are known."""

        def __init__(self, sender: "Lines", position: Position) -> None:
            super().__init__()
            self.lines = sender
            self.position = position

        @property
        def control(self) -> "Lines":
            return self.lines

    class Seeking(Message):
        """So many lines of a long document are laid out on the way down; `known` is None when that is over."""

        def __init__(self, sender: "Lines", known: int | None) -> None:
            super().__init__()
            self.lines = sender
            self.known = known

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.heading: Callable[[Position], Line] | None = None
        """What makes the first row of where the window below it is; None for no such row."""
        self.mark = ""
        """The text that is shown in reverse wherever a document has it."""
        self._prepared: Sequence[Line] = ()
        self._document: Document | None = None
        self._make: Callable[[int, int], Content] | None = None
        self._top = 0
        self._cursor: int | None = None
        self._seeking: Document | None = None
        self._goal: int | None = None
        """The line to bring into view when it is laid out; None for the last one."""
        self._spoke = 0.0
        self._told: Position | None = None

    def show(self, content: Content, top: int | None = None, cursor: int | None = None) -> None:
        """Show lines, one a row from the top, or a document from line `top` (its `start_line` if None) on.

        `cursor` is the row to mark; the terminal's own cursor goes there as well. `Moved` does not tell of it.
        """
        self._make = None
        self._set(content, top, cursor, tells=False)

    def fill(
        self, make: Callable[[int, int], Content], top: int | None = None, cursor: int | None = None
    ) -> None:
        """Show what `make` returns for a width and a height in cells: now, and again when the size changes."""
        self._make = make
        if self.size.width and self.size.height:
            self._set(make(self.size.width, self.size.height), top, cursor)
        else:
            self._top, self._cursor = top or 0, cursor

    def paint(self) -> None:
        """Show the same again, with another heading or mark."""
        if self._document is None:
            lines: Sequence[Line] = self._prepared
        else:
            end = min(self._top + self._height, self._document.known_lines)
            start = max(0, self._top - REACH) if self.mark else self._top
            seen = [self._document.line(index) for index in range(start, end)]
            lines = marked(seen, self.mark, self.size.width)[self._top - start :]
        above = [] if self.heading is None else [self.heading(self.position)]
        self.put([*above, *lines], None if self._cursor is None else self._cursor + len(above))

    @property
    def _height(self) -> int:
        """Rows of the window."""
        return max(0, self.size.height - (self.heading is not None))

    @property
    def document(self) -> Document | None:
        """The document that is shown, if it is one."""
        return self._document

    @property
    def seeking(self) -> bool:
        """Whether a long document is being laid out on the way down."""
        return self._seeking is not None and self._seeking is self._document

    @property
    def position(self) -> Position:
        """Where in the document the window is."""
        if self._document is None:
            return Position(1, len(self._prepared), len(self._prepared), True)
        known = self._document.known_lines
        return Position(
            min(self._top + 1, known),
            min(self._top + self._height, known),
            known,
            self._document.complete,
        )

    def move_lines(self, count: int) -> None:
        """Scroll by so many lines, down or (negative) up."""
        self._seeking = None
        self._move(self._top + count)

    def move_pages(self, count: int) -> None:
        """Scroll by so many windows."""
        self.move_lines(count * max(1, self._height))

    def move_home(self) -> None:
        """Scroll to the first line."""
        self._seeking = None
        self._move(0)

    def move_end(self) -> None:
        """Scroll to the last line."""
        self.move_to(None)

    def move_to(self, line: int | None) -> None:
        """Scroll so that a line, counted from 0, is in view with one on either side; None is the last one.

        A long document is laid out little by little on the way; keys still work, and `Seeking` tells.
        """
        under_way = self.seeking
        self._seeking, self._goal = self._document, line
        if not under_way:
            self._spoke = monotonic()
            self._seek()

    def stop(self) -> bool:
        """Stop laying out where it is; whether there was anything to stop."""
        seeking, self._seeking = self.seeking, None
        return seeking

    def on_resize(self, event: events.Resize) -> None:
        """Fit what is shown to the new size."""
        self.forget()
        if self._make and event.size.width and event.size.height:
            self._set(self._make(event.size.width, event.size.height), self._top or None, self._cursor)
        elif self._document is not None:
            self._move(self._top)
        else:
            self.paint()

    def _set(self, content: Content, top: int | None, cursor: int | None, *, tells: bool = True) -> None:
        self._seeking = None
        self._cursor = cursor
        if isinstance(content, Sequence):
            self._document, self._prepared = None, content
            self._top = top or 0
            self.paint()
        else:
            self._document, self._prepared = content, ()
            self._move(content.start_line if top is None else top, tells=tells)

    def _seek(self) -> None:
        document, goal, height = self._seeking, self._goal, self._height
        if document is None or document is not self._document:
            return
        if (goal is None or document.known_lines <= goal + height) and document.advance(STRIDE):
            if monotonic() - self._spoke > TELL_SECONDS:
                self._spoke = monotonic()
                self.post_message(self.Seeking(self, document.known_lines))
            # Not `call_later`: a widget works through its own queue without letting anyone else have a turn.
            soon(self, BREATH, self._seek)
            return
        self._seeking = None
        self.post_message(self.Seeking(self, None))
        if goal is None:
            self._move(document.known_lines)
        elif not self._top < goal < self._top + height - 1:
            self._move(goal - max(1, height // 3))

    def _move(self, top: int, *, tells: bool = True) -> None:
        document = self._document
        if document is None:
            return
        wanted = top + self._height + AHEAD
        if document.known_lines < wanted:
            document.advance(wanted - document.known_lines)
        self._top = max(0, min(top, document.known_lines - self._height))
        self.paint()
        told, self._told = self._told, self.position
        if tells and self._told != told:
            self.post_message(self.Moved(self, self._told))
