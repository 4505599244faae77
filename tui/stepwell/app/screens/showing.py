"""A screen of an editor and of what its statements gave: what it shows, and the worker that asks for it."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.geometry import Offset
from textual.message import Message
from textual.screen import Screen

from stepwell.app.asker import Asker
from stepwell.app.panes.sql import About, SqlView, above_lines, below_lines, rows_heading, rule_line
from stepwell.app.present import Document
from stepwell.app.result import HEADER_ROWS, Result
from stepwell.app.sql_history import History
from stepwell.app.widgets.editor import Editor
from stepwell.app.widgets.lines import Lines
from stepwell.app.worker import Worker

LEAVING = (0.2, 0.5, 2.0)
"""Seconds that what runs may take to end after each of so many attempts to cancel it."""


class ShowingScreen(Screen[None]):
    """Everything that is shown around the rows is in `view`; everything slow is done by `worker`."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ShowingScreen { layout: vertical; }
    ShowingScreen #above, ShowingScreen #rule { height: 1; }
    ShowingScreen #below { height: 2; }
    """

    def __init__(self, asker: Asker, history: History, view: SqlView) -> None:
        super().__init__()
        self.asker = asker
        self.history = history
        self.view = view
        self.worker = Worker(self.post_message, asker.close)
        self.editor = Editor()
        self.result: Result | None = None
        """The rows of the last answer, once something was asked."""
        self.document: Callable[[int], Document] | None = None
        """What is shown instead of the rows, for a width."""
        self.ready = False
        """Whether what is typed gets to the editor."""
        self._began: float | None = None

    def compose(self) -> ComposeResult:
        yield Lines(id="above")
        yield Lines(id="rows")
        yield Lines(id="rule")
        yield self.editor
        yield Lines(id="below")

    def on_mount(self) -> None:
        self.worker.start()
        self.worker.rest_with(self, self.asker.cancel)
        self.set_interval(1.0, self._tick)
        self.submit("ask", self.asker.open)
        self.editor.focus()

    def on_unmount(self) -> None:
        self.asker.leave()
        for patience in LEAVING:
            self.worker.stop(patience)
            if not self.worker.busy:
                return
            self.asker.cancel()  # it may have been connecting

    def on_descendant_focus(self) -> None:
        self.ready = True
        self.show(typing=True)

    def on_descendant_blur(self) -> None:
        self.show(typing=False)

    def on_resize(self) -> None:
        self.show()

    @property
    def rows(self) -> Lines:
        return self.query_one("#rows", Lines)

    @property
    def running(self) -> bool:
        """Whether something slow is under way."""
        return self._began is not None

    def submit(self, kind: str, job: Callable[[], Message | None]) -> None:
        """Have something slow done."""
        self._began = monotonic()
        self.worker.submit(kind, job)
        self.say()

    def done(self) -> None:
        """It is over."""
        self._began = None

    def say(self, message: str = "", error: str = "") -> None:
        """A line in the status until the next one."""
        self.show(message=message, error=error)

    def show_result(self, result: Result) -> None:
        """Show rows."""
        self.result, self.document = result, None
        self.show(label="", about="answer")

    def show_document(
        self, label: str, document: Callable[[int], Document], about: About = "answer", **changes: Any
    ) -> None:
        """Show something else in their place, laid out for a width."""
        self.document = document
        self.rows.fill(lambda width, _: document(width))
        self.show(label=label, about=about, **changes)

    def show(self, **changes: Any) -> None:
        """Make the changed view the one that counts, and paint it; only rows that differ cost anything."""
        seconds = None if self._began is None else int(monotonic() - self._began)
        self.view = view = replace(self.view, seconds=seconds, **changes)
        if not self.ready:
            return
        width, height = self.size
        above = self.query_one("#above", Lines)
        above.styles.height = len(above_lines(view, width, height))
        above.fill(lambda width, _: above_lines(view, width, height))
        self.query_one("#rule", Lines).fill(lambda width, _: [rule_line(view, width)])
        self._paint_below()
        self._paint_rows()

    def _paint_rows(self) -> None:
        rows, result, view = self.rows, self.result, self.view
        rows.heading = lambda position: rows_heading(view, result, position, self.size.width)
        if self.document is not None:
            rows.paint()
        elif result is None:
            rows.fill(lambda *_: [])
        else:
            rows.fill(lambda width, height: result.lines(width, height - 1, chosen=not view.typing))
            if result.is_table and not view.typing:
                row = 1 + HEADER_ROWS + result.at.row - result.top
                self.app.cursor_position = rows.content_region.offset + Offset(0, row)

    @on(Editor.Changed)
    def _paint_below(self) -> None:
        view, text = self.view, self.editor.text
        self.query_one("#below", Lines).fill(lambda width, _: below_lines(view, text, width))

    def _tick(self) -> None:
        """How long it has been running."""
        if self.running:
            self.show()
