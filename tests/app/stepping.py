"""The debugger under a pilot's keys: open a run, press, wait until it has settled, look."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from textual import events
from textual.pilot import Pilot

import stepwell.app
from stepwell.app.app import StepwellApp
from stepwell.app.geometry import Pane
from stepwell.app.memory import Memory
from stepwell.app.messages import Moved
from stepwell.app.mover import Mover
from stepwell.app.rerun import Agent
from stepwell.app.runner import Runner
from stepwell.app.screens.debugger import DebuggerScreen, Start
from stepwell.app.screens.runs import RunsScreen
from stepwell.app.view import View
from stepwell.app.widgets.lines import Lines
from stepwell.core.address import parse_address
from stepwell.core.world import Moment
from stepwell.replay.runs import Runs
from stepwell.settings import paths
from stepwell.store.connect import resolve
from tests.app.pressing import NAMES, handled, key


def keys(typed: str) -> list[events.Key]:
    """`12n` as three keys; `<tab>` stands for a key with a name."""
    names: list[str] = []
    rest = typed
    while rest:
        end = rest.find(">") if rest[0] == "<" and rest[1:2].isalpha() else -1
        names.append(rest[1:end] if end > 0 else NAMES.get(rest[0], rest[0]))
        rest = rest[end + 1 :] if end > 0 else rest[1:]
    return [key(name) for name in names]


class CountingMover(Mover):
    """Counts the moves that were really replayed."""

    moves = 0

    def move(self, number: int, moment: Moment, *, whole: bool = False) -> Moved:
        self.moves += 1
        return super().move(number, moment, whole=whole)


class Debugging:
    """A debugger that is open."""

    def __init__(self, app: StepwellApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> DebuggerScreen:
        """The debugger on top of the stack, or the one below the screen that is."""
        return [screen for screen in self.app.screen_stack if isinstance(screen, DebuggerScreen)][-1]

    @property
    def is_open(self) -> bool:
        """Whether the debugger is still on top."""
        return isinstance(self.app.screen, DebuggerScreen) and self.app.is_running

    @property
    def view(self) -> View:
        assert self.screen.view is not None
        return self.screen.view

    @property
    def number(self) -> int:
        """The number of the step at the cursor."""
        assert self.view.timeline.current is not None
        return self.view.timeline.current.number

    @property
    def status(self) -> str:
        return self.rows("status")[0]

    def pane(self, pane: Pane) -> str:
        return "\n".join(self.rows(pane))

    def heading(self, pane: Pane) -> str:
        return self.screen.board.lines(pane).render_line(0).text.rstrip()

    def rows(self, name: str) -> list[str]:
        """What a part of the screen shows, without the heading of a pane; nothing where it is left out."""
        lines = self.screen.query_one(f"#{name}", Lines)
        shown = range(int(lines.heading is not None), lines.size.height) if lines.display else ()
        return [lines.render_line(y).text.rstrip() for y in shown]

    @property
    def text(self) -> str:
        """The whole screen on top, as a terminal would have it."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    async def press(self, typed: str) -> None:
        """Press keys (see `keys`), then wait until what is shown is what was asked for last."""
        await self.send(typed)
        await self.settle()

    async def send(self, typed: str) -> None:
        """Press keys and wait for nothing but that they have been dealt with."""
        for event in keys(typed):
            self.app.post_message(event)
            await self._handled()

    async def _handled(self) -> None:
        await handled(self.pilot, rounds=3)  # the app's own keyboard waits for the rest

    async def settle(self) -> None:
        await self._handled()
        jobs = -1
        # What a job came to may be on its way to the screen yet, and have it ask for more.
        while not self._is_settled or jobs != self._jobs:
            jobs = self._jobs
            await self.until(lambda: self._is_settled)

    @property
    def _is_settled(self) -> bool:
        return not self.is_open or (self.screen.settled and self.app.keyboard.idle)

    @property
    def _jobs(self) -> int:
        """How many the debugger's worker has been given."""
        return self.screen.worker._last if self.is_open else 0

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what another thread or the server brings about; fail after a while."""
        for _ in range(5000):
            if condition():
                await self._handled()
                return
            await self.pilot.pause(0.002)
        raise AssertionError(f"it never came about; on the screen:\n{self.text}")

    async def ended(self) -> None:
        """Wait for the end of the app; not by way of the pilot, which asks what is ending to be idle."""
        for _ in range(5000):
            if not self.app.is_running:
                return
            await asyncio.sleep(0.002)
        raise AssertionError(f"it does not end; on the screen:\n{self.text}")


Act = Callable[[Debugging], Awaitable[None]]


class DebuggerApp(StepwellApp):
    """The app as `stepwell RUN:STEP` opens it, with a mover of the test's own if it has one."""

    CSS_PATH = str(Path(stepwell.app.__file__).with_name("app.tcss"))

    def __init__(
        self,
        dsn: str,
        run: UUID,
        step: int | None = None,
        mover: Mover | None = None,
        path: str = "",
        agent: Agent | None = None,
        runner: Runner | None = None,
    ) -> None:
        target = resolve(dsn)
        address = parse_address((str(run) if step is None else f"{run}:{step}") + (path and f":{path}"))
        runs = Runs(target)
        try:
            start = Start(runs.find(str(run)), address)
        finally:
            runs.close()
        super().__init__(target, Memory(paths().state), start, agent)
        self._mover, self._runner = mover, runner

    def debugger(self, start: Start) -> DebuggerScreen:
        mover, self._mover = self._mover, None
        runner, self._runner = self._runner, None
        start = replace(start, agent=self.agent, runner=runner)
        return DebuggerScreen(self.target, start, self.memory, mover)


def debug(
    dsn: str,
    run: UUID,
    act: Act,
    *,
    step: int | None = None,
    size: tuple[int, int] = (80, 24),
    mover: Mover | None = None,
    opened: bool = True,
    listed: bool = False,
    path: str = "",
    agent: Agent | None = None,
) -> DebuggerApp:
    """Open a run in an app without a terminal and do something with it; the app, which has ended.

    `opened`: wait until the run is there. `listed`: open it from the list of runs. `path`: of the address.
    `agent`: whose code is replayed as well.
    """
    app = DebuggerApp(dsn, run, step, mover, path, agent)
    start = app.start
    if listed:
        app.start = None

    async def drive() -> None:
        async with app.run_test(size=size) as pilot:
            debugging = Debugging(app, pilot)
            if listed and start is not None:
                await debugging.until(lambda: isinstance(app.screen, RunsScreen))
                app.open_run(start.run, step)
            if opened:
                await debugging.until(lambda: debugging.screen.view is not None)
                await debugging.settle()
            await act(debugging)

    asyncio.run(drive())
    return app


class Seen(NamedTuple):
    """What is to be seen after some keys."""

    number: int
    status: str
    text: str
    view: View


def pressed(
    dsn: str, run: UUID, typed: str, *, step: int | None = None, size: tuple[int, int] = (80, 24)
) -> Seen:
    """Open a run at a step, press keys, look."""
    seen: list[Seen] = []

    async def act(debugging: Debugging) -> None:
        await debugging.press(typed)
        seen.append(Seen(debugging.number, debugging.status, debugging.text, debugging.view))

    debug(dsn, run, act, step=step, size=size)
    return seen[0]
