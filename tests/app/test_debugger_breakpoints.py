"""Breakpoints in the debugger: set, met, listed, and kept for the next session."""

import pytest

from stepwell.app.memory import Memory
from stepwell.core.breakpoints import OnError, OnLap, OnName, OnType
from stepwell.replay.runs import Runs
from stepwell.settings import paths
from stepwell.store.connect import resolve
from tests.app.recorded import LOOPING
from tests.app.stepping import Debugging, debug, pressed


def test_continue_never_counts_the_step_it_starts_from(recorded_dsn: str) -> None:
    """A breakpoint on the current step is not a hit, in neither direction."""
    assert pressed(recorded_dsn, LOOPING, "bnc", step=5).number == 7
    assert pressed(recorded_dsn, LOOPING, "C", step=7).number == 5


@pytest.mark.parametrize(
    ("typed", "condition"),
    [
        ("bn", OnName("search_orders")),
        ("bb", OnName("search_orders")),
        ("bt", OnType("tool_call")),
        ("be", OnError()),
        ("bl", OnLap(2)),
        ("b3l", OnLap(3)),
        (":break lap:4<enter>", OnLap(4)),
        (":break<enter>", OnName("search_orders")),
    ],
)
def test_the_chooser_sets_and_clears(typed: str, condition: object, recorded_dsn: str) -> None:
    """The same answer a second time clears the breakpoint."""

    async def act(debugger: Debugging) -> None:
        await debugger.press(typed)
        assert [point.condition for point in debugger.view.timeline.breakpoints] == [condition]
        await debugger.press(typed)
        assert debugger.view.timeline.breakpoints == ()
        assert "breakpoint cleared" in debugger.status

    debug(recorded_dsn, LOOPING, act, step=5)


def test_a_breakpoint_on_the_third_lap_stops_there(recorded_dsn: str) -> None:
    """Lap 3 begins at step 9."""
    assert pressed(recorded_dsn, LOOPING, "b3lgc", step=5).number == 9


def test_escape_leaves_the_chooser(recorded_dsn: str) -> None:
    """Then the next key is a key again."""
    seen = pressed(recorded_dsn, LOOPING, "b<escape>n", step=5)
    assert (seen.number, seen.view.timeline.breakpoints) == (6, ())


def test_breakpoints_and_bookmarks_are_kept_between_sessions(recorded_dsn: str) -> None:
    """What one session sets, the next one has."""
    pressed(recorded_dsn, LOOPING, "bnmx", step=5)
    seen = pressed(recorded_dsn, LOOPING, "gc'x", step=9)
    assert [point.condition for point in seen.view.timeline.breakpoints] == [OnName("search_orders")]
    assert seen.view.timeline.bookmarks == {"x": 5}
    assert seen.number == 5


def test_a_memory_that_cannot_be_written_is_said(recorded_dsn: str) -> None:
    """The breakpoint is set all the same."""
    paths().state.parent.mkdir(parents=True, exist_ok=True)
    paths().state.write_text("a file where the folder should be")
    seen = pressed(recorded_dsn, LOOPING, "bn", step=5)
    assert "kept for this session only" in seen.status
    assert seen.view.timeline.breakpoints


def test_the_breakpoint_manager_switches_and_deletes(recorded_dsn: str) -> None:
    """What it is left with is what the run then has, and is remembered."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("bnbtB")
        assert "search_orders" in debugger.text
        await debugger.press("<enter>jdq")
        points = debugger.view.timeline.breakpoints
        assert [(point.condition, point.enabled) for point in points] == [(OnName("search_orders"), False)]
        await debugger.press("c")
        assert "no breakpoint is set" in debugger.status

    debug(recorded_dsn, LOOPING, act, step=5)
    runs = Runs(resolve(recorded_dsn))
    recalled = Memory(paths().state).recall(runs.find(str(LOOPING)))
    runs.close()
    assert [point.enabled for point in recalled.breakpoints] == [False]
