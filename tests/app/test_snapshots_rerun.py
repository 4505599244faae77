"""The debugger with the agent's code, and what-ifs, as they look. Times are fixed, as those of the run are."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from stepwell.app.messages import Reran
from stepwell.app.rerun import Agent
from stepwell.app.runner import Runner
from stepwell.core.whatif import WhatIf
from stepwell.store.connect import resolve
from tests.app import desk
from tests.app.desk import DESK, NAME
from tests.app.stepping import DebuggerApp, Debugging
from tests.app.test_snapshots_debugger import SIZES, SMALL, Compare, SteadyMover, after

OTHER = '[{"id": 8103, "item": "lamp", "status": "broken"}]'
SEARCH = 5


class SteadyRunner(Runner):
    """Every replay takes 24 ms by its clock."""

    def replay(self, asked: object, to: int | None, what_if: WhatIf | None = None) -> Reran:
        done = super().replay(asked, to, what_if)
        return Reran(done.asked, done.report, 24.0)


def app(dsn: str, step: int, *, coded: bool = True) -> DebuggerApp:
    agent = Agent(NAME)
    runner = SteadyRunner(resolve(dsn), DESK, agent) if coded else None
    return DebuggerApp(dsn, DESK, step, SteadyMover(dsn, DESK), agent=agent if coded else None, runner=runner)


def editing(text: str, *keys: str) -> Callable[[Pilot[int]], object]:
    """Edit the step at the cursor, see what comes of it, then press keys."""

    async def run(pilot: Pilot[int]) -> None:
        await after()(pilot)
        assert isinstance(pilot.app, DebuggerApp)
        debugger = Debugging(pilot.app, pilot)
        await debugger.send("e")
        await debugger.until(lambda: debugger.view.editing)
        editor = debugger.screen.board.editor
        editor.replace(text, (0, 0), editor.document.end)
        await debugger.send("<escape>")
        await debugger.until(lambda: debugger.view.error or not debugger.view.editing)
        await debugger.settle()
        for typed in keys:
            await debugger.press(typed)
        await pilot.pause()

    return run


@pytest.fixture
def changed(desk_folder: Path) -> None:
    """The agent searches for less than it did, and prints what no terminal should act upon."""
    desk.write(
        desk_folder,
        ("**given)", '**({**given, "limit": 20} if "limit" in given else given))'),
        ('print(f"{len(messages)} messages")', r'print(f"{len(messages)} messages\x1b[2J")'),
    )


@SIZES
@pytest.mark.usefixtures("changed")
def test_where_the_agent_parts(snap_compare: Compare, desk_dsn: str, size: tuple[int, int]) -> None:
    """Title, badge, status, and what the code printed up to there."""
    assert snap_compare(app(desk_dsn, SEARCH + 1), terminal_size=size, run_before=after("o"))


@SIZES
@pytest.mark.usefixtures("changed")
def test_both_sides(snap_compare: Compare, desk_dsn: str, size: tuple[int, int]) -> None:
    """Below each other, or beside each other where there is room."""
    assert snap_compare(app(desk_dsn, SEARCH), terminal_size=size, run_before=after("D"))


@pytest.mark.usefixtures("desk_folder")
def test_the_same_so_far(snap_compare: Compare, desk_dsn: str) -> None:
    """Where in the code the step was asked for stands above its input."""
    assert snap_compare(app(desk_dsn, SEARCH), terminal_size=SMALL, run_before=after())


@SIZES
def test_an_edit_in_place(snap_compare: Compare, desk_dsn: str, size: tuple[int, int]) -> None:
    """What is no JSON is named by its line and column."""
    started = app(desk_dsn, SEARCH, coded=False)
    assert snap_compare(started, terminal_size=size, run_before=editing('[\n  {"id": 1,}\n]'))


@SIZES
def test_an_unsaved_what_if(snap_compare: Compare, desk_dsn: str, size: tuple[int, int]) -> None:
    """The title reversed, the edited step and the stale ones by their letters, why above the input."""
    started = app(desk_dsn, SEARCH, coded=False)
    assert snap_compare(started, terminal_size=size, run_before=editing(OTHER, "n"))


def test_it_is_told_without_colours(
    snap_compare: Compare, desk_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under NO_COLOR nothing of it is lost."""
    monkeypatch.setenv("NO_COLOR", "1")
    started = app(desk_dsn, SEARCH, coded=False)
    assert snap_compare(started, terminal_size=SMALL, run_before=editing(OTHER, "n"))


@pytest.mark.usefixtures("desk_folder")
def test_both_sides_of_a_new_question_without_colours(
    snap_compare: Compare, desk_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edited output, and what the agent asks for it then: marked by signs."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(desk_dsn, SEARCH), terminal_size=SMALL, run_before=editing(OTHER, "DD"))
