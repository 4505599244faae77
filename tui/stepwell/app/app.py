"""The app: screens on a stack, and a terminal that is left as it was found."""

import asyncio
import os
import signal
import threading
from dataclasses import replace
from typing import ClassVar

from textual import events, on
from textual.app import App
from textual.binding import BindingType
from textual.message import Message

from stepwell.app import keys
from stepwell.app.driver import TerminalDriver
from stepwell.app.keyboard import Keyboard
from stepwell.app.memory import Memory
from stepwell.app.messages import Failed, OpenAddress
from stepwell.app.rerun import Agent
from stepwell.app.screens.browser import BrowserScreen
from stepwell.app.screens.debugger import DebuggerScreen, Start
from stepwell.app.screens.runs import RunsScreen
from stepwell.app.screens.sql import SqlScreen
from stepwell.core.address import parse_address
from stepwell.core.steps import RunHead
from stepwell.errors import StepwellError
from stepwell.replay.runs import Runs
from stepwell.store.connect import Target

GRACE_SECONDS = 5.0
"""After a hang-up, how long an orderly end may take before the process just ends."""


class Located(Message):
    """The run of an address has been found."""

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.start = start


class StepwellApp(App[int], inherit_bindings=False):
    """Opens the list of runs, or one run at once. Returns the exit status, None for 0.

    Of Textual's own keys it has none: Ctrl-Q, which goes on after Ctrl-S, would leave.
    """

    TITLE = "stepwell"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [keys.SUSPEND]

    def __init__(
        self, target: Target, memory: Memory, start: Start | None = None, agent: Agent | None = None
    ) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.animation_level = "none"
        self.target = target
        self.start = start
        self.agent = agent
        """Whose code each run that is opened is replayed with."""
        self.memory = memory
        self.keyboard = Keyboard(self, super().on_event, self._key_done, self._early)
        self.last_words: str | None = None
        """What to say on stderr once the terminal is restored."""
        self.on_terminal = False
        """Whether it has a real terminal, whose end is the end of the app."""

    def on_mount(self) -> None:
        if self.start is None:
            self.push_screen(RunsScreen(self.target), self._leave)
        else:
            self.push_screen(self.debugger(self.start), self._leave)

    def debugger(self, start: Start) -> DebuggerScreen:
        """The screen that opens a run."""
        return DebuggerScreen(self.target, replace(start, agent=self.agent), self.memory)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self.keyboard.press(event)
        else:
            await super().on_event(event)

    def _early(self) -> bool:
        """Whether keys have to wait: for the first screen, a list, a run, a change of a table, the editor."""
        match self.screen:
            case DebuggerScreen() as debugger:
                return debugger.view is None or debugger.looking
            case RunsScreen() as runs:
                return runs.listing.shown is None and not runs.listing.error
            case SqlScreen() | BrowserScreen() as opened:
                return not opened.ready
            case _:
                return len(self.screen_stack) == 1

    def _key_done(self) -> None:
        if isinstance(self.screen, DebuggerScreen):
            self.screen.key_done()

    def open_run(self, run: RunHead, step: int | None = None) -> None:
        """Put the debugger on top, at `step` or at the first one."""
        address = parse_address(f"{run.run_id}" if step is None else f"{run.run_id}:{step}")
        self.push_screen(self.debugger(Start(run, address)), self._back)

    def open_address(self, text: str, words: str = "") -> None:
        """Open what an address names; what is wrong with it is said on the screen that asked, `words` where it is."""
        self.run_worker(lambda: self._locate(text, words), thread=True, exclusive=True, group="address")

    def _locate(self, text: str, words: str) -> None:
        runs = Runs(self.target)
        try:
            address = parse_address(text)
            self.post_message(Located(Start(runs.find(address.run), address, words=words)))
        except StepwellError as problem:
            self.screen.post_message(Failed(str(problem), "address"))
        finally:
            runs.close()

    @on(Located)
    def _located(self, message: Located) -> None:
        start, screen = message.start, self.screen
        here = isinstance(screen, DebuggerScreen) and screen.start.run.run_id == start.run.run_id
        if not here:
            self._replace_debugger(start)
        elif isinstance(screen, DebuggerScreen) and start.address:
            screen.go_to(start.address)

    def _replace_debugger(self, start: Start) -> None:
        """Open another run in place of the one that is open: `q` goes back to the list, or out without one."""
        while any(isinstance(screen, DebuggerScreen) for screen in self.screen_stack):
            self.pop_screen()
        listed = any(isinstance(screen, RunsScreen) for screen in self.screen_stack)
        self.push_screen(self.debugger(start), self._back if listed else self._leave)

    @on(OpenAddress)
    def _open_address(self, message: OpenAddress) -> None:
        self.open_address(message.text, message.words)

    def _back(self, problem: str | None) -> None:
        """Back on the screen below; why a run could not be opened is said there."""
        if problem is not None:
            self.screen.post_message(Failed(problem, "open"))

    def _leave(self, problem: str | None = None) -> None:
        """The first screen is closed: out, with the reason if its run could not be opened."""
        self.last_words = problem
        self.exit(0 if problem is None else 2)

    def on_load(self) -> None:
        """From before the terminal is taken, SIGHUP and SIGTERM end the app in order: rolled back, restored."""
        if not self.on_terminal:
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            loop.add_signal_handler(number, self._hung_up, 128 + number)

    def _hung_up(self, status: int) -> None:
        # Restoring a terminal that is gone can block for good, so there is an end to waiting for it.
        timer = threading.Timer(GRACE_SECONDS, os._exit, [status])
        timer.daemon = True
        timer.start()
        self.exit(status)
