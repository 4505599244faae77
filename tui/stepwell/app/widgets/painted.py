"""A widget that is given lines, and costs the terminal what changed of them, and nothing else.

No border, no scrollbar, no layout on a move. What is shown next is compared with what is shown now, and the
rows that differ are refreshed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget

from stepwell.app.present import Line, Role, line_cells, style

_BLANK = Style()


def strip(line: Line, width: int) -> Strip:
    """A line as a strip of exactly `width` cells. Colours are taken off by Textual where `NO_COLOR` is set."""
    # A segment without a style breaks filters that take colours off, hence a style for the padding too.
    segments = [Segment(span.text, style(span.role)) for span in line if span.text]
    room = width - line_cells(line)
    if room < 0:
        return Strip(segments).adjust_cell_length(max(0, width), _BLANK)
    return Strip([*segments, Segment(" " * room, _BLANK)] if room else segments, width)


class _Row(NamedTuple):
    """What a row is made from."""

    line: Line
    width: int
    is_marked: bool

    def strip(self) -> Strip:
        made = strip(self.line, self.width)
        return made.apply_style(style(Role.CURSOR)) if self.is_marked else made


class Painted(Widget):
    """Rows of text from the top; those below the last are blank."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Painted { width: 1fr; height: 1fr; overflow: hidden hidden; background: ansi_default; color: ansi_default; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._rows: list[_Row] = []
        self._strips: list[Strip] = []

    def put(self, lines: Sequence[Line], cursor: int | None = None) -> None:
        """Show as many lines as there are rows. The row `cursor` is marked; the terminal's own cursor goes there."""
        width, height = self.size
        shown = [*lines[:height], *[()] * (height - len(lines))]
        marked = cursor if cursor is not None and cursor < len(lines) else None
        rows, self._rows = self._rows, [_Row(line, width, row == marked) for row, line in enumerate(shown)]
        strips, self._strips = self._strips, []
        changed = []
        for at, row in enumerate(self._rows):
            old = strips[at] if at < len(strips) else None
            new = old if old is not None and rows[at] == row else row.strip()
            self._strips.append(new)
            if new is not old and new != old:
                changed.append(Region(0, at, width, 1))
        if changed:
            self.refresh(*changed)
        if cursor is not None:
            self.app.cursor_position = self.content_region.offset + Offset(0, cursor)

    def forget(self) -> None:
        """Take what is shown for gone, as after a resize."""
        self._rows, self._strips = [], []

    def render_line(self, y: int) -> Strip:
        """One row, for Textual."""
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, _BLANK)
