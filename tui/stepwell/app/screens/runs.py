"""The list of runs, newest first and live: where Stepwell begins."""

from dataclasses import replace
from functools import partial
from typing import ClassVar, Protocol, cast

from textual import on
from textual.binding import BindingType

from stepwell.app import keys
from stepwell.app.clipboard import copy_shown
from stepwell.app.commandline import Goto, Leave, Toggle, parse_command
from stepwell.app.listing import Query, select
from stepwell.app.screens.help import HelpScreen
from stepwell.app.screens.listing import ListingScreen
from stepwell.app.widgets.prompt import Prompt
from stepwell.core.address import Address
from stepwell.core.steps import RunHead
from stepwell.errors import UsageError

COMMANDS = {
    "follow": "stay at the newest run",
    "help": "all keys",
    "quit": "leave Stepwell",
}
"""What `:` takes here beside places and addresses."""
AHEAD = 50
"""So many runs below the selection are read before they are needed."""


class Opener(Protocol):
    """What the app does for this screen."""

    def open_run(self, run: RunHead, step: int | None = None) -> None: ...

    def open_address(self, text: str) -> None: ...


class RunsScreen(ListingScreen):
    """The keys of the list."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.RUNS]
    _filter_before: Query = ("", False)
    """What Esc in the filter goes back to."""

    def action_select(self, how: str) -> None:
        listing = select(self.listing, how, self.rows)
        self.show(listing)
        if listing.more and listing.settled and listing.selected + AHEAD >= len(listing.runs):
            self.read(listing.runs[-1])

    def action_open(self) -> None:
        if self.listing.run is not None:
            self._opener.open_run(self.listing.run)

    def action_failed(self) -> None:
        text, failed = self.listing.query
        self.ask((text, not failed))

    def action_clear(self) -> None:
        self.ask(("", False))

    def action_follow(self) -> None:
        follow = not self.listing.follow
        listing = replace(self.listing, follow=follow, message="", error="")
        self.show(select(listing, "first", self.rows) if follow else listing)

    def action_prompt(self, kind: str) -> None:
        self._filter_before = self.listing.query
        text = self.listing.query[0] if kind == "filter" else ""
        self.query_one(Prompt).open(kind, "/" if kind == "filter" else ":", text)

    def action_copy(self) -> None:
        if self.listing.run is not None:
            self.say(copy_shown(self.app, str(self.listing.run.run_id)))

    def action_cancel(self) -> None:
        if self.worker.busy:
            cancel = partial(self.worker.cancel, self.worker.current, self.lister.cancel)
            self.run_worker(cancel, thread=True, exclusive=True, group="cancel")
        else:
            self.say("nothing is running; q quits")

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)
        self.read()

    def action_help(self, at: str = "") -> None:
        self.app.push_screen(HelpScreen("list of runs", keys.RUNS, COMMANDS, at))

    def action_close(self) -> None:
        self.dismiss()

    @on(Prompt.Changed)
    def _typed(self, message: Prompt.Changed) -> None:
        if message.kind == "filter":
            self.ask((message.text.strip(), self.listing.query[1]))

    @on(Prompt.Cancelled)
    def _cancelled(self, message: Prompt.Cancelled) -> None:
        if message.kind == "filter":
            self.ask(self._filter_before)

    @on(Prompt.Submitted)
    def _submitted(self, message: Prompt.Submitted) -> None:
        if message.kind == "filter":
            self.ask((message.text.strip(), self.listing.query[1]))
            return
        try:
            self._do(message.text)
        except UsageError as problem:
            self.say(error=str(problem))

    def _do(self, text: str) -> None:
        """What was typed after the colon."""
        match parse_command(text, COMMANDS):
            case Goto(Address()):
                self._opener.open_address(text.strip())
            case Goto():
                if self.listing.run is None:
                    raise UsageError("no run is selected; RUN:17 names one")
                self._opener.open_address(f"{self.listing.run.run_id}:{text.strip()}")
            case Leave("quit"):
                self.action_close()
            case Leave("help"):
                self.action_help("Commands")
            case Leave("runs"):
                self.say("these are the runs")
            case Toggle("follow"):
                self.action_follow()
            case _:
                raise UsageError(f"{text.strip()} is for an opened run: Enter opens the selected one")

    @property
    def _opener(self) -> Opener:
        return cast(Opener, self.app)
