"""The debugger as it looks. Run names, times and numbers are fixed; so are the clock and who is connected."""

import itertools
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from textual.pilot import Pilot

from stepwell.app.messages import Opened
from stepwell.app.mover import Mover
from stepwell.store.connect import resolve
from tests.app import recorded
from tests.app.recorded import BARE, DIED, LOOPING, SWARM
from tests.app.stepping import DebuggerApp, Debugging
from tests.replay.rows import bare_table

Compare = Callable[..., bool]
SMALL, LARGE = (80, 24), (120, 40)
SIZES = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])


class SteadyMover(Mover):
    """Every move takes 3 ms by its clock, in a database of a name that never changes."""

    def __init__(self, dsn: str, run: UUID) -> None:
        super().__init__(resolve(dsn), run, itertools.count(step=0.003).__next__)

    def open(self) -> Opened:
        opened = super().open()
        return Opened(opened.run, opened.steps, "agents@db1")


def app(dsn: str, run: UUID, step: int) -> DebuggerApp:
    return DebuggerApp(dsn, run, step, SteadyMover(dsn, run))


def after(typed: str = "") -> Callable[[Pilot[int]], Awaitable[None]]:
    """Wait for the run, press keys, wait until what they asked for is there."""

    async def run(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app, DebuggerApp)
        debugger = Debugging(pilot.app, pilot)
        await debugger.until(lambda: debugger.screen.view is not None)
        await debugger.settle()
        await debugger.press(typed)
        await pilot.pause()

    return run


@SIZES
def test_an_output_that_was_cut(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """The looping run at the search whose output the model saw the beginning of."""
    assert snap_compare(app(recorded_dsn, LOOPING, 11), terminal_size=size, run_before=after("bn"))


@SIZES
def test_a_conversation(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """A model call: the messages that are new come first."""
    assert snap_compare(app(recorded_dsn, LOOPING, 12), terminal_size=size, run_before=after())


@SIZES
def test_a_swarm(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """A lane an agent, the steps indented under the one that called them."""
    assert snap_compare(app(recorded_dsn, SWARM, 6), terminal_size=size, run_before=after())


@SIZES
def test_a_step_in_doubt(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """The mail that was being sent when the process died."""
    assert snap_compare(app(recorded_dsn, DIED, 5), terminal_size=size, run_before=after())


@SIZES
def test_a_zoomed_pane(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """All the room for the output."""
    assert snap_compare(app(recorded_dsn, LOOPING, 11), terminal_size=size, run_before=after("z"))


@SIZES
def test_a_diff_of_prompts(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """What this prompt holds that the one before did not."""
    assert snap_compare(app(recorded_dsn, LOOPING, 12), terminal_size=size, run_before=after("dz"))


@SIZES
def test_choosing_a_breakpoint(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """What b asks, in the status line."""
    assert snap_compare(app(recorded_dsn, LOOPING, 11), terminal_size=size, run_before=after("b"))


@SIZES
def test_an_error_at_the_last_step(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """What the run ended with, the loop folded."""
    assert snap_compare(app(recorded_dsn, LOOPING, 5), terminal_size=size, run_before=after("<enter>!"))


@SIZES
def test_a_bare_table(snap_compare: Compare, dsn: str, size: tuple[int, int]) -> None:
    """Eight columns and a role that may only read them: what is not known is left out."""
    role = bare_table(dsn)
    recorded.bare(dsn)
    read_only = f"{dsn} user={role}"
    assert snap_compare(app(read_only, BARE, 3), terminal_size=size, run_before=after())


def test_typing_a_search(snap_compare: Compare, recorded_dsn: str) -> None:
    """The line lies over the keys."""
    assert snap_compare(app(recorded_dsn, LOOPING, 11), terminal_size=SMALL, run_before=after("/lamp"))


def test_one_pane_at_a_time(snap_compare: Compare, recorded_dsn: str) -> None:
    """Below 60 columns."""
    assert snap_compare(app(recorded_dsn, LOOPING, 11), terminal_size=(50, 16), run_before=after())


@pytest.mark.parametrize(
    ("run", "step", "typed"),
    [
        (LOOPING, 11, "bn"),
        (LOOPING, 12, ""),
        (SWARM, 6, ""),
        (DIED, 5, ""),
        (LOOPING, 12, "dz"),
        (LOOPING, 52, ""),
    ],
    ids=["cut", "conversation", "swarm", "doubt", "diff", "error"],
)
def test_without_colours(
    snap_compare: Compare,
    recorded_dsn: str,
    monkeypatch: pytest.MonkeyPatch,
    run: UUID,
    step: int,
    typed: str,
) -> None:
    """Under NO_COLOR everything is still told apart."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(recorded_dsn, run, step), terminal_size=SMALL, run_before=after(typed))
