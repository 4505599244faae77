"""A screen of an editor and of what its statements gave: what it shows, and the worker that asks for it."""

from collections.abc import Callable
from time import monotonic

from textual import on
from textual.app import ComposeResult
from textual.geometry import Offset
from textual.screen import Screen

from stepwell.app.asker import Asker
from stepwell.app.panes.answer import meaning_lines, replay_words
from stepwell.app.panes.bars import READ_ONLY, ends, keys_line
from stepwell.app.panes.heading import where
from stepwell.app.present import Document, Line, Role, Span, cells, clean, clean_line, fit
from stepwell.app.result import HEADER_ROWS, Result
from stepwell.app.sql_commands import runs
from stepwell.app.sql_history import History
from stepwell.app.widgets.editor import Editor
from stepwell.app.widgets.lines import Lines, Position
from stepwell.app.worker import Worker
from stepwell.core.past import Answer

LEAVING = (0.2, 0.5, 2.0)
"""Seconds that what runs may take to end after each of so many attempts to cancel it."""
PROMPT_KEYS = (
    ("Tab", "rows"), ("Up", "before"), ("PgDn", "scroll"), ("\\d", "tables"), ("\\?", "keys"),
    ("Esc", "back"), ("Ctrl-C", "cancel"), ("Alt-Enter", "new line"),
)  # fmt: skip
ROWS_KEYS = (
    ("j/k", "row"), ("h/l", "column"), ("Enter", "whole row"), ("y/Y", "copy"), ("v", "pager"), ("Tab", "SQL"),
    ("?", "keys"), ("q", "out"), ("g/G", "ends"), ("Space", "page"),
)  # fmt: skip


class ShowingScreen(Screen[None]):
    """`place` names the step and its moment, `7f3a:11 after`; `where` role and database."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ShowingScreen { layout: vertical; }
    ShowingScreen #above, ShowingScreen #rule { height: 1; }
    ShowingScreen #below { height: 2; }
    """

    def __init__(self, asker: Asker, history: History, place: str, where: str) -> None:
        super().__init__()
        self.asker = asker
        self.history = history
        self.place = place
        self.where = where
        self.worker = Worker(self.post_message, asker.close)
        self.answer: Answer | None = None
        """Of the last statement that was answered, also behind a document."""
        self.result: Result | None = None
        """Its rows, once something was asked."""
        self.limit = 0
        """Rows that were wanted of it at most."""
        self.document: Callable[[int], Document] | None = None
        """What is shown instead of the rows, for a width."""
        self.ready = False
        """Whether what is typed gets to the editor."""
        self.cautions: set[str] = set()
        """What has been said about the role."""
        self._label = ""
        self._message = self._error = ""
        self._began: float | None = None

    def compose(self) -> ComposeResult:
        yield Lines(id="above")
        yield Lines(id="rows")
        yield Lines(id="rule")
        yield Editor()
        yield Lines(id="below")

    def on_mount(self) -> None:
        self.worker.start()
        self.worker.rest_with(self, self.asker.cancel)
        self.set_interval(1.0, self._tick)
        self.begin()
        self.worker.submit("ask", self.asker.open)
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
        self.paint()

    def on_resize(self) -> None:
        self.paint()

    @property
    def editor(self) -> Editor:
        return self.query_one(Editor)

    @property
    def rows(self) -> Lines:
        return self.query_one("#rows", Lines)

    @property
    def running(self) -> bool:
        """Whether a statement has yet to be answered."""
        return self._began is not None

    def begin(self) -> None:
        """Something slow is under way."""
        self._began = monotonic()
        self.say("")

    def end(self) -> None:
        """It is over."""
        self._began = None

    def say(self, message: str = "", error: str = "") -> None:
        """A line in the status until the next one."""
        self._message, self._error = message, error
        self.paint()

    def show_result(self, result: Result) -> None:
        """Show rows."""
        self.result, self.document = result, None
        self.paint()

    def show_document(self, label: str, document: Callable[[int], Document]) -> None:
        """Show something else in their place, laid out for a width."""
        self.document, self._label = document, label
        self.rows.fill(lambda width, _: document(width))
        self.paint()

    def leave(self) -> None:
        """Back to the run. What has been typed and not run is remembered as a statement is."""
        self.history.save(self.editor.text)
        self.dismiss()

    def action_pane(self) -> None:
        """Give the keys to the rows, or back to the statement."""
        self.set_focus(None if self.editor.has_focus else self.editor)
        self.paint()

    def paint(self) -> None:
        """Everything from what is known now; only rows that differ cost anything."""
        if not self.ready:
            return
        above = self._above(self.size.width)
        top = self.query_one("#above", Lines)
        if top.styles.height is None or top.styles.height.value != len(above):
            top.styles.height = len(above)
        top.fill(lambda width, _: self._above(width))
        self.query_one("#rule", Lines).fill(lambda width, _: [self._rule(width)])
        self._paint_below()
        self._paint_rows()

    def _paint_rows(self) -> None:
        rows, result = self.rows, self.result
        chosen = not self.editor.has_focus
        rows.heading = lambda position: self._heading(position, self.size.width, chosen=chosen)
        if self.document is not None:
            rows.paint()
        elif result is not None:
            rows.fill(lambda width, height: result.lines(width, height - 1, chosen=chosen))
            if chosen and result.is_table:
                row = 1 + HEADER_ROWS + result.at.row - result.top
                self.app.cursor_position = rows.content_region.offset + Offset(0, row)
        else:
            rows.fill(lambda *_: [])

    def _above(self, width: int) -> list[Line]:
        where = f"{clean(self.where)} {READ_ONLY}"
        title = ends([Span(f"SQL at {clean(self.place)}", Role.HEADING)], [Span(where, Role.DIM)], width)
        return [title, *(meaning_lines(self.answer, self.place, width) if self.answer else [()])]

    def _heading(self, position: Position, width: int, *, chosen: bool) -> Line:
        if self.document is not None:
            label, statement = self._label, ""
            part = where(position)
        elif self.result is not None:
            label, statement, part = self.result.told(), self.result.statement, self.result.where()
        else:
            label, statement, part = "", "", ""
        name = "[ROWS]" if chosen else "ROWS-"
        room = width - cells(name) - cells(label) - cells(part) - 8
        if room >= 8 and statement:
            label = f"{label}: {clean_line(' '.join(statement.split()), room)}"
        label = clean_line(label, max(0, width - cells(name) - cells(part) - 6))
        rule = "-" * max(1, width - cells(name) - cells(label) - cells(part) - 3)
        return (Span(name, Role.HEADING), Span(f" {label} "), Span(rule, Role.DIM), Span(f" {part}"))

    def _rule(self, width: int) -> Line:
        name = "[SQL]" if self.editor.has_focus else "SQL-"
        return (Span(name, Role.HEADING), Span("-" * max(0, width - len(name)), Role.DIM))

    def _status(self, width: int) -> Line:
        if self._error:
            return (Span(fit(f"! {clean(self._error)}", width), Role.ERROR),)
        if self._message:
            return (Span(fit(clean(self._message), width)),)
        if self._began is not None:
            seconds = int(monotonic() - self._began)
            return (Span(fit(f"running{f' for {seconds} s' if seconds else ''}… Ctrl-C cancels", width)),)
        return (Span(fit(replay_words(self.answer.replay, width) if self.answer else "", width)),)

    def _keys(self, width: int) -> Line:
        if not self.editor.has_focus:
            return keys_line(width, ROWS_KEYS)
        first = ("Enter", "run") if runs(self.editor.text) else ("; Enter", "run")
        return keys_line(width, (first, *PROMPT_KEYS))

    @on(Editor.Changed)
    def _typed(self) -> None:
        self._paint_below()

    def _paint_below(self) -> None:
        self.query_one("#below", Lines).fill(lambda width, _: [self._status(width), self._keys(width)])

    def _tick(self) -> None:
        """How long it has been running."""
        if self.running and not self._message:
            self.paint()
