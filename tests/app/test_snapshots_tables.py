"""What a step changed in the database, and the browser of tables, as they look."""

import itertools
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from textual.pilot import Pilot

from stepwell.app.screens.browser import BrowserScreen
from stepwell.replay.tables import Tables
from tests.app.stepping import DebuggerApp, Debugging
from tests.app.test_snapshots_debugger import SIZES, SMALL, Compare, after, app
from tests.app.watched import SYNC, WATCHED


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page takes 3 ms by its clock."""
    clock = itertools.count(step=0.003).__next__
    monkeypatch.setattr("stepwell.app.browser.Tables", partial(Tables, clock=clock))


def browsing(typed: str) -> Callable[[Pilot[int]], Awaitable[None]]:
    """Open the browser, press keys, wait for what they asked for."""

    async def run(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app, DebuggerApp)
        await after()(pilot)
        debugging = Debugging(pilot.app, pilot)
        for key in ("T", typed):
            await debugging.send(key)
            await debugging.until(
                lambda: isinstance(pilot.app.screen, BrowserScreen) and pilot.app.screen.settled
            )
        await pilot.pause()

    return run


@SIZES
def test_what_a_step_changed(snap_compare: Compare, watched_dsn: str, size: tuple[int, int]) -> None:
    """A row that came and one that went, in place of the state."""
    assert snap_compare(app(watched_dsn, WATCHED, SYNC), terminal_size=size, run_before=after("t"))


@SIZES
def test_rows_of_a_table(snap_compare: Compare, watched_dsn: str, size: tuple[int, int]) -> None:
    """From the last row on up, as of the step."""
    assert snap_compare(app(watched_dsn, WATCHED, SYNC), terminal_size=size, run_before=browsing("<enter>G"))


def test_the_list_without_colours(
    snap_compare: Compare, watched_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under NO_COLOR everything is still told apart."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(watched_dsn, WATCHED, SYNC), terminal_size=SMALL, run_before=browsing(""))


def test_what_a_step_changed_without_colours(
    snap_compare: Compare, watched_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came and went has a sign."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(watched_dsn, WATCHED, SYNC), terminal_size=SMALL, run_before=after("t"))
