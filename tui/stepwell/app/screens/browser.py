"""The browser's keys: through the list of watched tables, the rows of one, and one row."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.screen import Screen

from stepwell.app import keys
from stepwell.app.browser import Browser
from stepwell.app.clipboard import copy_from
from stepwell.app.panes.browser import BrowserView, row_text
from stepwell.app.panes.signs import OF_TABLES
from stepwell.app.screens.browsing import BrowsingScreen
from stepwell.app.screens.help import HelpScreen
from stepwell.app.screens.sql import SCROLLS
from stepwell.app.widgets.prompt import Prompt
from stepwell.core.pages import Start
from stepwell.store.pages import CUT


class BrowserScreen(BrowsingScreen):
    """`ask` makes the screen for SQL at the same step."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.BROWSER]

    def __init__(self, browser: Browser, view: BrowserView, ask: Callable[[], Screen[None]]) -> None:
        super().__init__(browser, view)
        self._ask = ask

    def action_scroll(self, how: str) -> None:
        view, browsed = self.view, self.browsed
        if view.story is not None:
            if how in SCROLLS:
                SCROLLS[how](self.body)
        elif view.table is not None and browsed is not None:
            start = browsed.move(how)
            if start is not None:
                self.read_rows(start)
            self.show(message="", error="")
            self.read_on()
        elif view.table is None and view.listing is not None:
            last, page = len(view.listing.tables) - 1, max(1, self.body.size.height - 1)
            at = view.selected
            moved = {"down": at + 1, "up": at - 1, "page_down": at + page, "page_up": at - page}
            moved |= {"top": 0, "bottom": last}
            self.show(selected=max(0, min(moved.get(how, at), last)), message="", error="")

    def action_open(self) -> None:
        """The rows of the chosen table, or all of the chosen row."""
        view, browsed = self.view, self.browsed
        if view.story is not None:
            self.action_close()
        elif view.table is not None:
            if browsed is not None and (key := browsed.key) is not None:
                table = browsed.table
                self.show(message="", error="")
                self.read_row(table, key)
        elif view.listing is not None and view.listing.tables:
            self.browsed = None
            self.show(table=view.listing.tables[view.selected], message="", error="")
            self.read_rows(Start())

    def action_prompt(self) -> None:
        if self.view.table is not None and self.view.story is None:
            self.query_one(Prompt).open("key", f"{','.join(self.view.table.key)}: ")
        else:
            way = "Enter opens a table" if self.view.story is None else "q goes back to them"
            self.show(message=f"/ looks for a key among rows: {way}")

    @on(Prompt.Submitted)
    def _submitted(self, message: Prompt.Submitted) -> None:
        """To the first row whose key is not lower than what was typed, a comma between two columns."""
        table, text = self.view.table, message.text.strip()
        if table is not None and text:
            parts = text.split(",", len(table.key) - 1)
            self.show(message="", error="")
            self.read_rows(Start(tuple(part.strip() for part in parts), inclusive=True))

    def action_copy(self) -> None:
        view, browsed = self.view, self.browsed
        if view.story is not None:
            self.show(message=copy_from(self.app, row_text(view.story)))
        elif view.table is None or browsed is None or not browsed.result.is_table:
            self.show(message="there is nothing to copy")
        elif len(browsed.result.value or "") > CUT:
            self.show(
                message="only the beginning of it is here: Enter shows the whole row, y copies it there"
            )
        else:
            self.show(message=copy_from(self.app, browsed.result.value or ""))

    def action_sql(self) -> None:
        self.app.push_screen(self._ask())

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen("tables", keys.BROWSER, {}, signs={"Signs of tables": OF_TABLES}))

    def action_cancel(self) -> None:
        if self.worker.busy:
            cancel = partial(self.worker.cancel, self.worker.current, self.browser.cancel)
            self.run_worker(cancel, thread=True, exclusive=True, group="cancel")
        else:
            self.show(message="nothing is running; q goes back")

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)

    def action_close(self) -> None:
        """From a row to the rows, from these to the tables, and then to the run."""
        if self.forget_row() or self.view.story is not None:
            self.show(story=None, message="", error="", waiting=False)
        elif self.view.table is not None:
            self.forget()
            listing = self.view.listing
            self.show(table=None, replay=listing.replay if listing else None, message="", error="")
            self.submit("list", self.browser.listing)  # what the tables are worth may have changed
        else:
            self.dismiss()
