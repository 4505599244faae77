"""The list of runs, the help and the breakpoint manager as they look."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from stepwell.app import keys
from stepwell.app.panes.signs import SIGNS
from stepwell.app.screens.breakpoints import BreakpointsScreen
from stepwell.app.screens.help import HelpScreen
from stepwell.app.screens.runs import RunsScreen
from stepwell.core.breakpoints import Breakpoint, OnError, OnLap, OnName
from tests.app.listed import ScreenApp, fill, runs_app, until
from tests.app.pressing import press_keys
from tests.app.test_breakpoints import timeline

Compare = Callable[..., bool]
SMALL, LARGE = (80, 24), (120, 40)
POINTS = (
    Breakpoint(OnName("search_orders")),
    Breakpoint(OnError(), enabled=False),
    Breakpoint(OnLap(2)),
)


def loaded(*press: str) -> Callable[[Pilot[object]], Awaitable[None]]:
    """Wait for the list, give it the names and the time of no machine in particular, then press keys."""

    async def run(pilot: Pilot[object]) -> None:
        app = pilot.app
        assert isinstance(app, ScreenApp)
        screen = app.under_test
        assert isinstance(screen, RunsScreen)
        await until(pilot, lambda: screen.loaded and screen.listing.where and not screen.worker.busy)
        await press_keys(pilot, press)
        await until(pilot, lambda: screen.loaded and not screen.worker.busy)
        if screen.is_current:
            screen.show(replace(screen.listing, where="agents@db1", milliseconds=41, caution=""))
        await pilot.pause()

    return run


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
def test_runs(snap_compare: Compare, schema_dsn: str, size: tuple[int, int]) -> None:
    """Failed, died and well runs told apart by letters; the facts of the selected one below."""
    fill(schema_dsn)
    assert snap_compare(runs_app(schema_dsn), terminal_size=size, run_before=loaded())


def test_runs_without_colours(
    snap_compare: Compare, schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same under NO_COLOR: nothing is lost."""
    monkeypatch.setenv("NO_COLOR", "1")
    fill(schema_dsn)
    assert snap_compare(runs_app(schema_dsn), terminal_size=SMALL, run_before=loaded("j"))


def test_runs_filtered(snap_compare: Compare, schema_dsn: str) -> None:
    """A filter being typed, in the place of the keys."""
    fill(schema_dsn)
    app = runs_app(schema_dsn)
    assert snap_compare(app, terminal_size=SMALL, run_before=loaded("slash", "i", "n"))


def test_no_runs(snap_compare: Compare, schema_dsn: str) -> None:
    """An empty database says how to begin."""
    assert snap_compare(runs_app(schema_dsn), terminal_size=SMALL, run_before=loaded())


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
def test_help_of_the_debugger(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Every key by what it is for: one column, or two where there is room."""
    assert snap_compare(ScreenApp(HelpScreen("debugger", keys.DEBUGGER, signs=SIGNS)), terminal_size=size)


def test_what_the_signs_mean(snap_compare: Compare) -> None:
    """At the end of the help, in words."""
    app = ScreenApp(HelpScreen("debugger", keys.DEBUGGER, signs=SIGNS))
    assert snap_compare(app, terminal_size=SMALL, press=["G"])


def test_help_without_colours(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same under NO_COLOR."""
    monkeypatch.setenv("NO_COLOR", "1")
    app = ScreenApp(HelpScreen("list of runs", keys.RUNS, {}))
    assert snap_compare(app, terminal_size=SMALL)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
def test_breakpoints(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Each with its state and its hits in this run; the second one selected."""
    app = ScreenApp(BreakpointsScreen(timeline(*POINTS)))
    assert snap_compare(app, terminal_size=size, press=["j"])


def test_adding_a_breakpoint_without_colours(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    """What there is stands before the line that is typed."""
    monkeypatch.setenv("NO_COLOR", "1")
    app = ScreenApp(BreakpointsScreen(timeline(*POINTS)))
    assert snap_compare(app, terminal_size=SMALL, press=["a", "l", "a", "p"])
