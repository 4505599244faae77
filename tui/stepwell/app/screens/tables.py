"""What the browser of watched tables shows: a list of them, the rows of one, or one row."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from textual.app import ComposeResult
from textual.geometry import Offset
from textual.screen import Screen

from stepwell.app.browsed import Browsed
from stepwell.app.panes.browser import BrowserView, above_lines, below_lines, body_heading, listing_lines
from stepwell.app.present import Line
from stepwell.app.result import HEADER_ROWS
from stepwell.app.widgets.lines import Lines
from stepwell.app.widgets.prompt import Prompt


class TablesScreen(Screen[None]):
    """Shows whichever of them `view` has."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    TablesScreen { layout: vertical; }
    TablesScreen #above { height: 1; }
    TablesScreen #below { height: 2; }
    """

    def __init__(self, view: BrowserView) -> None:
        super().__init__()
        self.view = view
        self.browsed: Browsed | None = None
        """The rows of the table that is opened."""

    def compose(self) -> ComposeResult:
        yield Lines(id="above")
        yield Lines(id="body")
        yield Lines(id="below")
        yield Prompt()

    def on_resize(self) -> None:
        self.show()

    @property
    def body(self) -> Lines:
        return self.query_one("#body", Lines)

    def show(self, **changes: Any) -> None:
        """Show what is known now, with some of it changed; only rows that differ cost anything."""
        self.view = view = replace(self.view, **changes)
        self._show_around("#above", lambda width: above_lines(view, width))
        self._show_around("#below", lambda width: below_lines(view, width))
        self._show_body()

    def _show_around(self, name: str, lines_of: Callable[[int], list[Line]]) -> None:
        """As many lines as there are for the width."""
        part, height = self.query_one(name, Lines), len(lines_of(self.size.width))
        if part.styles.height is None or part.styles.height.value != height:
            part.styles.height = height
        part.fill(lambda width, _: lines_of(width))

    def _show_body(self) -> None:
        view, body, browsed = self.view, self.body, self.browsed
        body.heading = lambda position: body_heading(view, browsed, position, self.size.width)
        row = None
        if view.story is not None:
            body.paint()
        elif view.table is not None:
            if browsed is not None:
                body.fill(lambda width, height: browsed.result.lines(width, height - 1, chosen=True))
                body.paint()  # the heading tells which rows these are
                row = HEADER_ROWS + browsed.result.at.row - browsed.result.top
            else:
                body.show([])
        elif (listing := view.listing) is not None:
            body.fill(lambda width, _: listing_lines(listing, view.selected, width))
            row = view.selected
        if row is not None:
            self.app.cursor_position = body.content_region.offset + Offset(0, 1 + row)
