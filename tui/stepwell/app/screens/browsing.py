"""A screen that reads watched tables as of a step: its worker, and the messages between them."""

from textual import on
from textual.message import Message

from stepwell.app.browsed import Browsed
from stepwell.app.browser import Browser
from stepwell.app.messages import Failed, Paged, TablesListed, Told
from stepwell.app.panes.browser import BrowserView, story_document
from stepwell.app.screens.tables import TablesScreen
from stepwell.app.worker import Job, Worker
from stepwell.core.pages import Start
from stepwell.core.past import Table

PATIENCE = 0.2
"""Seconds after which it is said that something is read."""
LEAVING = (0.2, 2.0)
"""Seconds that what runs may take to end after each of so many attempts to cancel it."""


class BrowsingScreen(TablesScreen):
    """Everything that it knows is in `view` and `browsed`; everything slow is done by `worker`."""

    def __init__(self, browser: Browser, view: BrowserView) -> None:
        super().__init__(view)
        self.browser = browser
        self.worker = Worker(self.post_message, browser.close)
        self._awaited: object = None
        """What the rows that are to take their place are asked for, until they are there."""
        self._opening: object = None
        """What a row is asked for, until it is there."""
        self._extending = False
        self._pending = False
        """Whether anything has yet to be read."""

    def on_mount(self) -> None:
        self.worker.start()
        self.worker.rest_with(self, self.browser.cancel)
        self.submit("list", self.browser.listing)

    def on_unmount(self) -> None:
        for patience in LEAVING:
            if self.worker.busy:
                self.browser.cancel()
            self.worker.stop(patience)

    @property
    def ready(self) -> bool:
        """Whether there is what keys are meant for."""
        if self.view.error:
            return True
        return self.view.listing is not None and self._awaited is None and self._opening is None

    @property
    def settled(self) -> bool:
        """Whether all that was asked for is there."""
        return self.ready and not self._pending and not self.worker.busy

    def submit(self, kind: str, job: Job) -> None:
        """Have something read; where it takes long that is said."""
        self._pending = True
        self.worker.submit(kind, job)
        self.set_timer(PATIENCE, lambda: self.show(waiting=self._pending))

    def read_rows(self, start: Start) -> None:
        """Have the rows from a start on read, in place of those that are there."""
        table = self.view.table
        if table is not None:
            self._awaited = subject = object()
            self.submit("page", lambda: self.browser.page(subject, table, start))

    def read_row(self, table: Table, key: tuple[str | None, ...]) -> None:
        """Have a row read, whole, and what became of it."""
        self._opening = subject = object()
        self.submit("story", lambda: self.browser.story(subject, table, key))

    def forget_row(self) -> bool:
        """Ask for no row any more; whether one was asked for that is not there yet."""
        self.worker.drop("story")
        opening, self._opening = self._opening, None
        if opening is not None:
            self._pending = False
        return opening is not None

    def read_on(self) -> None:
        """Have the rows read that will be in view soon."""
        browsed = self.browsed
        wanted = None if browsed is None or self._extending else browsed.wanted()
        if browsed is not None and wanted is not None:
            self._extending, table, start = True, browsed.table, wanted
            self.submit("more", lambda: self.browser.page(browsed, table, start))

    def forget(self) -> None:
        """The rows, and those that were asked for."""
        self.forget_row()
        for kind in ("page", "more"):
            self.worker.drop(kind)
        self.browsed = self._awaited = None
        self._extending = self._pending = False

    def _arrived(self, message: Message) -> None:
        message.stop()
        self._pending = False

    @on(TablesListed)
    def _listed(self, message: TablesListed) -> None:
        self._arrived(message)
        view, listing = self.view, message.listing
        at = max(0, min(view.selected, len(listing.tables) - 1))
        replay = listing.replay if view.table is None else view.replay
        self.show(listing=listing, selected=at, replay=replay, waiting=False)

    @on(Paged)
    def _paged(self, message: Paged) -> None:
        self._arrived(message)
        page, start = message.page, message.start
        if self.browsed is not None and message.subject is self.browsed:
            self._extending = False
            if page.rows.columns == self.browsed.page.rows.columns:
                self.browsed.extend(page, start)
            else:
                self.browsed = Browsed(page, start)
        elif message.subject is not self._awaited:
            return
        elif start.key and not page.rows.rows:
            self.show(message="no key is as high as that: these are the last")
            self.read_rows(Start(backwards=True))
            return
        else:
            self.browsed, self._awaited, self._extending = Browsed(page, start), None, False
        self.show(table=page.table, replay=page.replay, waiting=False)
        self.read_on()

    @on(Told)
    def _told(self, message: Told) -> None:
        self._arrived(message)
        story = message.story
        if message.subject is self._opening:
            self._opening = None
            self.body.fill(lambda width, _: story_document(story, width))
            self.show(story=story, replay=story.replay, waiting=False)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        self._arrived(message)
        if not self.worker.is_news(message):
            return
        if message.job == "more":
            self._extending = False
        elif message.job == "page":
            self._awaited = None
        elif message.job == "story":
            self._opening = None
        table = None if self.browsed is None else self.view.table
        self.show(table=table, error=message.text, waiting=False)
