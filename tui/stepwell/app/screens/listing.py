"""A screen that lists runs: its listing, its worker, and the messages between them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen

from stepwell.app.lister import Lister
from stepwell.app.listing import Listing, Query, in_view, with_page
from stepwell.app.messages import Counted, Failed, Listed
from stepwell.app.panes.runs import layout_of, screen_lines
from stepwell.app.present import Line
from stepwell.app.widgets.lines import Lines
from stepwell.app.widgets.prompt import Prompt
from stepwell.app.worker import Worker
from stepwell.core.steps import RunHead
from stepwell.store.connect import Target

SLOW_MS = 500
BARE_WORDS = "steps alone are slow to list; stepwell init adds a table of runs"
JOBS = ("page", "more", "count", "idle")


class ListingScreen(Screen[None]):
    """Everything that it knows is in `listing`; everything slow is done by `worker`.

    `now` is the clock that ages are computed from.
    """

    def __init__(self, target: Target, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__()
        self._now = now
        self.listing = Listing(now=now())
        self.lister = Lister(target)
        self.worker = Worker(self.post_message, self.lister.close, self.lister.poll, self.lister.interval)
        self._broken = False
        """Whether the error shown is that of reading the list."""

    def compose(self) -> ComposeResult:
        yield Lines()
        yield Prompt()

    def on_key(self) -> None:
        """What the key before came to has been read; the key itself still goes where it goes."""
        if self.listing.message or self.listing.caution or (self.listing.error and not self._broken):
            self.say()

    def on_mount(self) -> None:
        self.worker.start()
        self.worker.rest_with(self, self.lister.cancel)
        self.show(self.listing)
        self.read()

    def on_unmount(self) -> None:
        if self.worker.busy:
            self.lister.cancel()
        self.worker.stop()

    def on_screen_suspend(self) -> None:
        self.lister.pause(True)

    def on_screen_resume(self) -> None:
        self.lister.pause(False)
        if self.listing.shown is not None:
            self.worker.submit("idle", self.lister.poll)

    def on_resize(self) -> None:
        self.show(self.listing)

    @property
    def loaded(self) -> bool:
        """Whether the list that is asked for is the one that is shown."""
        return self.listing.settled

    @property
    def rows(self) -> int:
        """Runs that fit on the screen."""
        return layout_of(self.listing, *self.size).rows

    def show(self, listing: Listing) -> None:
        """Make `listing` the one that counts, and paint the rows that differ."""
        self.listing = listing = in_view(replace(listing, now=self._now()), self.rows)
        self.lister.watch(listing.query, listing.before(), listing.running(self.rows))
        cursor = 2 + listing.selected - listing.top if listing.runs else None
        self.query_one(Lines).fill(self._lines, cursor=cursor)

    def say(self, message: str = "", error: str = "") -> None:
        self.show(replace(self.listing, message=message, error=error, caution=""))

    def _lines(self, width: int, height: int) -> list[Line]:
        return screen_lines(self.listing, width, height)

    def read(self, after: RunHead | None = None) -> None:
        """Read the runs that follow `after`, or the newest ones."""
        query = self.listing.query
        self.worker.submit("more" if after else "page", lambda: self.lister.page(query, after))

    @on(Listed)
    def _listed(self, message: Listed) -> None:
        before = self.listing
        newest = before.runs[0].run_id if before.runs else None
        listing = with_page(before, message.runs, message.after, message.more, message.query, self.rows)
        if message.asked:
            listing = replace(listing, milliseconds=message.milliseconds)
        if self._broken:
            listing, self._broken = replace(listing, error=""), False
        self.show(listing)
        if not listing.where or (listing.runs and listing.runs[0].run_id != newest):
            self.worker.submit("count", self.lister.count)

    @on(Counted)
    def _counted(self, message: Counted) -> None:
        first = not self.listing.where
        listing = replace(self.listing, total=message.number, exact=message.exact, where=message.where)
        if first and message.number is None and (listing.milliseconds or 0) >= SLOW_MS:
            listing = replace(listing, message=f"{listing.milliseconds:.0f} ms: {BARE_WORDS}")
        self.show(replace(listing, caution=message.caution) if first else listing)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if not self.worker.is_news(message):
            return  # another query has been asked for since
        if message.text == "cancelled" and self.listing.shown is not None:
            self.show(replace(self.listing, query=self.listing.shown, message="cancelled"))
        else:
            self._broken = message.job in JOBS
            self.say(error=message.text)

    def ask(self, query: Query) -> None:
        """Show the runs of another query, as soon as they are read."""
        if query != self.listing.query:
            self.show(replace(self.listing, query=query, message="", error=""))
            self.read()
