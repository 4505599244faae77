"""SQL at a step: each statement runs in a fresh replay transaction, and what its rows mean stands above them."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.binding import BindingType

from stepwell.app import keys
from stepwell.app.asker import Asker
from stepwell.app.clipboard import copy_from
from stepwell.app.messages import Answered, Copied, Failed, Refused
from stepwell.app.pager import page
from stepwell.app.pane_text import QUICK
from stepwell.app.panes.answer import columns_document, refused_document, row_document, tables_document
from stepwell.app.panes.sql import SqlView
from stepwell.app.present import plain_text
from stepwell.app.result import Result
from stepwell.app.screens.help import HelpScreen
from stepwell.app.screens.typing import TypingScreen
from stepwell.app.sql_commands import COMMANDS, Meta, parse_meta, runs, table_named
from stepwell.app.sql_history import History
from stepwell.app.widgets.editor import Editor
from stepwell.core.past import Table
from stepwell.errors import StatementError, UsageError

LIMIT = 500
"""Rows that a statement gives at most, until there are to be more of them."""
MORE = 10
"""So many times as many, each time that more are wanted."""
RUNNING = "the statement before is still running; Ctrl-C cancels it"
SCROLLS = {
    "page_down": lambda lines: lines.move_pages(1),
    "page_up": lambda lines: lines.move_pages(-1),
    "down": lambda lines: lines.move_lines(1),
    "up": lambda lines: lines.move_lines(-1),
    "top": lambda lines: lines.move_home(),
    "bottom": lambda lines: lines.move_end(),
}


class SqlScreen(TypingScreen):
    """The keys, the statements and what has become of them."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.SQL_RESULT]

    def __init__(self, asker: Asker, history: History, view: SqlView) -> None:
        super().__init__(asker, history, view)
        self.limit = LIMIT
        """Rows that were wanted of the last statement at most."""
        self._early = False
        """Whether a statement was given before it was known what is watched; it runs after that."""
        self._cautions = {""}
        """What has been said about the role."""

    @on(Editor.Submitted)
    def _submitted(self) -> None:
        text = self.editor.text
        if not text.strip():
            self.say()
        elif text.lstrip().startswith("\\"):
            self._command(text)
        elif self.running and self.view.answer is not None:
            self.say(RUNNING)
        elif not runs(text):
            self.editor.action_new_line()
        else:
            self._run(text, LIMIT)

    def _command(self, text: str) -> None:
        try:
            meta = parse_meta(text)
            assert meta is not None
            self._do(meta)
        except UsageError as problem:
            self.say(error=str(problem))
            return
        self.history.add(text)
        self.editor.put("")

    def _do(self, meta: Meta) -> None:
        answer = self.view.answer
        match meta:
            case Meta("?"):
                self.action_help()
            case Meta("q"):
                self.editor.put("")
                self.leave()
            case Meta("more") if self.running:
                raise UsageError(RUNNING)
            case Meta("more") if self.result is not None and self.result.rows.more:
                self._run(self.result.statement, self.limit * MORE)
            case Meta("more"):
                raise UsageError("there are no more rows")
            case _ if answer is None:
                raise UsageError("what is watched is not known yet")
            case Meta("d", ""):
                self._show_tables(answer.tables, caution="")
            case Meta("d", name):
                table = table_named(answer.tables, name)
                self.show_document(
                    "columns", lambda width: columns_document(table, width), "tables", caution=""
                )

    def _show_tables(self, tables: Sequence[Table], **changes: Any) -> None:
        self.show_document(
            "watched tables", lambda width: tables_document(tables, width), "tables", **changes
        )

    def _show_problem(self, label: str, text: str, problem: StatementError) -> None:
        """In place of the rows of another statement, which would pass for this one's."""
        self.show_document(label, lambda width: refused_document(text, problem, width), "nothing", caution="")

    def _run(self, text: str, limit: int) -> None:
        self._early = self.running
        self.history.add(text)
        self.history.keep(text)
        self.worker.submit("remember", self.history.save, lasting=True)
        self.submit("ask", lambda: self.asker.ask(text, limit))

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        if message.text or not self._early:
            self.done()
        self.limit = message.limit
        caution = message.answer.caution
        self.show(answer=message.answer, caution="" if caution in self._cautions else caution)
        self._cautions.add(caution)
        if message.text:
            if self.editor.text.strip() == message.text.strip():
                self.editor.put("")
            self.show_result(Result(message.answer.rows, message.text))
        else:
            self._show_tables(message.answer.tables)
        self.say()

    @on(Refused)
    def _refused(self, message: Refused) -> None:
        """The statement stays to be mended, the cursor where its mistake is."""
        self.done()
        text, problem = message.text, message.problem
        if problem.position is not None and self.editor.text == text:
            self.editor.put(text, problem.position - 1)
        self._show_problem("refused", text, problem)
        self.say("refused; it is still there to be mended")

    @on(Copied)
    def _copied(self, message: Copied) -> None:
        self.done()
        self.say(message.words)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        message.stop()
        if self.worker.is_news(message):
            self.done()
            if message.text == "cancelled":
                self.say("cancelled")
            else:
                if message.job == "ask":
                    self._show_problem("no answer", "", StatementError(message.text))
                self.say(error=message.text)

    def action_scroll(self, how: str) -> None:
        if self.result is not None and self.document is None:
            self.result.move(how)
            self.show()
        elif how in SCROLLS:
            SCROLLS[how](self.rows)

    def action_row(self) -> None:
        """Show all of the chosen row, or the rows again."""
        result = self.result
        if result is None:
            return
        if self.document is not None:
            self.show_result(result)
        elif result.is_table:
            number = result.at.row
            label = f"row {number + 1} of {len(result.rows.rows)}"
            self.show_document(label, lambda width: row_document(result.rows, number, width))

    def action_copy(self, what: str) -> None:
        result = self.result
        if result is None or (what == "value" and not result.is_table):
            self.say("there is nothing to copy")
        elif what == "value":
            self.say(copy_from(self.app, result.value or ""))
        elif self.running:
            self.say("a statement is running; Ctrl-C cancels it")
        elif result.characters <= QUICK:
            self.say(copy_from(self.app, "".join(result.csv())))
        else:
            self.submit("copy", lambda: self.asker.copy(result.csv()))

    def action_pager(self) -> None:
        if self.document is not None:
            lines = plain_text(self.document(self.size.width))
        elif self.result is not None:
            lines = self.result.grid.text()
        else:
            return
        self.say(page(self.app, lines, os.environ))

    def action_help(self) -> None:
        typing = self.editor.has_focus
        self.set_focus(None)  # while one types, the help would not find the keys of the rows
        screen = HelpScreen("SQL screen", keys.SQL, {}, signs={"Commands": COMMANDS})
        self.app.push_screen(screen, lambda _: self.set_focus(self.editor if typing else None))

    def action_cancel(self) -> None:
        if self.running:
            cancel: Callable[[], None] = partial(self.worker.cancel, self.worker.current, self.asker.cancel)
            self.run_worker(cancel, thread=True, exclusive=True, group="cancel")
        elif self.editor.text:
            self.editor.put("")
            self.say()
        else:
            self.say("nothing is running; Esc goes back to the run")

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)

    @on(Editor.Left)
    def action_close(self) -> None:
        """Back to the run; from what is shown in place of the rows, to the rows first."""
        if self.document is not None and self.result is not None and not self.editor.has_focus:
            self.show_result(self.result)
        else:
            self.leave()

    def leave(self) -> None:
        """Back to the run."""
        self.keep_draft()  # now, for one may be back here before this screen is gone
        self.dismiss()
