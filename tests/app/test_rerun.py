"""The debugger with the agent's own code: every move runs it to the step, and what it does otherwise is seen."""

from pathlib import Path

import pytest

from stepwell.app.geometry import Pane
from stepwell.app.messages import Reran
from stepwell.app.rerun import Agent
from stepwell.app.screens.divergence import DivergenceScreen
from stepwell.app.view import DIVERGED
from tests.app import desk
from tests.app.desk import DESK, NAME
from tests.app.stepping import Debugging, debug

AGENT = Agent(NAME)


def limited(folder: Path) -> None:
    """Have the agent search for less than it did: at step 5 of the recording."""
    desk.write(folder, ("**given)", '**({**given, "limit": 20} if "limit" in given else given))'))


def title(debugger: Debugging) -> str:
    return debugger.rows("title")[0]


@pytest.mark.usefixtures("desk_folder")
def test_each_move_runs_the_agent_to_that_step(desk_dsn: str) -> None:
    """Title and status say that it is the same, INPUT where in its code the step was asked for."""

    async def act(debugger: Debugging) -> None:
        assert "AGENT same to 1" in title(debugger)
        await debugger.press("nnnn")
        assert "AGENT same to 5" in title(debugger)
        assert "agent to 5: " in debugger.status
        assert ", the same" in debugger.status
        assert "search_orders, desk.py:35" in debugger.heading(Pane.INPUT)
        debugger.screen.post_message(Reran(1, None, 0.0, "a job of before could not be done"))
        await debugger.settle()
        assert "AGENT same to 5" in title(debugger)
        await debugger.press("a")
        assert "5/8 62% asked" in debugger.status
        await debugger.press("G")
        assert "AGENT same to the end" in title(debugger)
        assert "agent to the end: " in debugger.status

    debug(desk_dsn, DESK, act, agent=AGENT)


def test_a_divergence_is_told_flagged_jumped_to_and_shown_side_by_side(
    desk_dsn: str, desk_folder: Path
) -> None:
    """The badge stays while one looks at steps before it."""
    limited(desk_folder)

    async def act(debugger: Debugging) -> None:
        await debugger.press("G")
        assert "AGENT diverged at 5" in title(debugger)
        assert "8/8 100% after" in debugger.status
        assert debugger.rows("strip")[0] == "LTSLDLT#"
        assert debugger.rows("timeline")[4].endswith(DIVERGED)
        await debugger.press("gn")
        assert "AGENT same to 2" in title(debugger)
        assert debugger.rows("timeline")[4].endswith(DIVERGED)
        await debugger.press("D")
        assert debugger.number == 5
        await debugger.press("a")
        assert "step 5: input changed at $.limit: recorded 50, now 20" in debugger.status
        await debugger.press("aD")
        lines = [line.rstrip() for line in debugger.text.splitlines()]
        assert lines[0].startswith("DIVERGED at 5  refund-desk de5c  asked at desk.py:35 in main")
        assert lines[1] == "step 5: input changed at $.limit: recorded 50, now 20"
        assert "- limit: 50" in lines
        assert "+ limit: 20" in lines
        await debugger.press("q''")
        assert debugger.number == 2

    debug(desk_dsn, DESK, act, agent=AGENT)


@pytest.mark.parametrize("does_otherwise", [True, False])
def test_a_divergence_further_on_is_looked_for(
    desk_dsn: str, desk_folder: Path, does_otherwise: bool
) -> None:
    """The agent is run as far as it goes; where it does what was recorded, that is said."""
    if does_otherwise:
        limited(desk_folder)

    async def act(debugger: Debugging) -> None:
        assert "AGENT same to 1" in title(debugger)
        await debugger.press("D")
        if does_otherwise:
            assert debugger.number == 5
            await debugger.press("D")
            assert isinstance(debugger.app.screen, DivergenceScreen)
        else:
            assert debugger.number == 1
            assert "AGENT same to the end" in title(debugger)
            assert "the agent does what was recorded, as far as it goes" in debugger.status

    debug(desk_dsn, DESK, act, agent=AGENT)


@pytest.mark.parametrize(("size", "beside"), [((80, 24), False), ((120, 40), True), ((30, 8), False)])
def test_the_sides_stand_beside_each_other_where_there_is_room(
    desk_dsn: str, desk_folder: Path, size: tuple[int, int], beside: bool
) -> None:
    """`z` lays them out the other way; Enter goes to the step from wherever one was."""
    limited(desk_folder)

    async def act(debugger: Debugging) -> None:
        await debugger.press("D")
        for is_beside in (beside, not beside):
            assert isinstance(debugger.app.screen, DivergenceScreen)
            assert any("| +" in line for line in debugger.text.splitlines()) is is_beside
            await debugger.press("z")
        await debugger.press("jkJK<space><pageup>Gg:")
        assert "no key :" in debugger.text.splitlines()[-1]
        await debugger.press("j")
        assert "no key" not in debugger.text
        await debugger.press("<enter>")
        assert debugger.number == 5

    debug(desk_dsn, DESK, act, agent=AGENT, size=size, step=5)


def test_what_the_agent_prints_has_a_pane(desk_dsn: str, desk_folder: Path) -> None:
    """Nothing of it gets to the terminal as it is; `o` again shows STATE, and so does what leaves it."""
    desk.write(
        desk_folder, ('print(f"{len(messages)} messages")', r'print("\x1b[2J\x1b]52;c;eA==\x07 [bold] \0")')
    )

    async def act(debugger: Debugging) -> None:
        await debugger.press("nnno")
        assert "[AGENT] printed 52 B up to 4" in debugger.heading(Pane.AGENT)
        assert debugger.pane(Pane.AGENT).splitlines()[0] == r"\x1b[2J\x1b]52;c;eA==\x07 [bold] \x00"
        assert not debugger.rows(Pane.STATE)
        assert "\x1b" not in debugger.text
        await debugger.press("t")
        assert not debugger.rows(Pane.AGENT)
        await debugger.press("oz")
        assert len(debugger.rows(Pane.AGENT)) == 19
        await debugger.press("zo")
        assert debugger.rows(Pane.STATE)
        assert not debugger.rows(Pane.AGENT)
        for leaving in ("q", "<escape>"):
            await debugger.press(f"o{leaving}")
            assert not debugger.rows(Pane.AGENT)
            assert debugger.is_open

    debug(desk_dsn, DESK, act, agent=AGENT)


def test_a_move_does_not_wait_for_an_agent_that_hangs(desk_dsn: str, desk_folder: Path) -> None:
    """The world of the step is there; Ctrl-C ends the replay, and a move to another step the one before."""
    desk.write(
        desk_folder, ("    messages = [", "    import threading; threading.Event().wait()\n    messages = [")
    )

    async def act(debugger: Debugging) -> None:
        await debugger.until(lambda: debugger.screen.view is not None and not debugger.view.stale)
        await debugger.send("nnn")
        await debugger.until(lambda: not debugger.view.stale)
        assert debugger.number == 4
        await debugger.until(lambda: "AGENT running" in title(debugger))
        assert not debugger.screen.settled
        await debugger.send("<ctrl+c>")
        await debugger.until(lambda: "AGENT cancelled" in title(debugger))
        assert "cancelled" in debugger.status
        await debugger.send("q")
        await debugger.ended()

    debug(desk_dsn, DESK, act, agent=AGENT, opened=False)


def test_what_was_ended_for_a_suspended_app_is_run_again(desk_dsn: str, desk_folder: Path) -> None:
    """As by Ctrl-Z, or for an editor: nobody has asked for its end."""
    wait = "import os, threading\n    os.path.exists('go') or threading.Event().wait()\n"
    desk.write(desk_folder, ("    messages = [", f"    {wait}    messages = ["))

    async def act(debugger: Debugging) -> None:
        await debugger.until(lambda: debugger.screen.view is not None and not debugger.view.stale)
        await debugger.until(lambda: "AGENT running" in title(debugger))
        assert "agent: running; Ctrl-C stops it" in debugger.status
        debugger.app.app_suspend_signal.publish(debugger.app)
        (desk_folder / "go").touch()
        debugger.app.app_resume_signal.publish(debugger.app)
        await debugger.until(lambda: "AGENT same to 1" in title(debugger))

    debug(desk_dsn, DESK, act, agent=AGENT, opened=False)


def test_what_keeps_the_agent_from_being_run_is_said_and_the_run_still_steps(
    desk_dsn: str, desk_folder: Path
) -> None:
    """Mending the module is enough: the next move imports it anew."""
    (desk_folder / "desk.py").write_text("main = 1 +\n")

    async def act(debugger: Debugging) -> None:
        assert "AGENT cannot be run" in title(debugger)
        assert "desk.py:1: importing desk raised SyntaxError" in debugger.status
        await debugger.press("o")
        assert "SyntaxError" in debugger.pane(Pane.AGENT)
        await debugger.press("n")
        assert debugger.number == 2
        desk.write(desk_folder)
        await debugger.press("n")
        assert "AGENT same to 3" in title(debugger)

    debug(desk_dsn, DESK, act, agent=AGENT)


def test_code_that_has_changed_is_run_as_it_is_now(desk_dsn: str, desk_folder: Path) -> None:
    """While the debugger stays open: the fix is tried by the next key."""
    limited(desk_folder)

    async def act(debugger: Debugging) -> None:
        await debugger.press("G")
        assert "AGENT diverged at 5" in title(debugger)
        desk.write(desk_folder)
        await debugger.press("p")
        assert "AGENT same to 7" in title(debugger)
        assert DIVERGED not in debugger.rows("strip")[0]

    debug(desk_dsn, DESK, act, agent=AGENT)


def test_an_agent_that_dies_is_named_with_its_place(desk_dsn: str, desk_folder: Path) -> None:
    """And what it had printed until then is there."""
    desk.write(
        desk_folder, ("            result =", "            import os; os._exit(7)\n            result =")
    )

    async def act(debugger: Debugging) -> None:
        await debugger.press("nno")
        assert "AGENT ended by os._exit" in title(debugger)
        assert "agent: ended by os._exit(7)" in debugger.status
        assert "3 messages" in debugger.pane(Pane.AGENT)

    debug(desk_dsn, DESK, act, agent=AGENT)


@pytest.mark.usefixtures("desk_folder")
@pytest.mark.parametrize("times", [6, pytest.param(100, marks=pytest.mark.long)])
def test_of_moves_in_quick_succession_the_newest_is_told(desk_dsn: str, times: int) -> None:
    """However far the replay of the one before had got when it was ended."""

    async def act(debugger: Debugging) -> None:
        for _ in range(times):
            await debugger.press("gnnn")
            assert "AGENT same to 4" in title(debugger)
            await debugger.press("pn")
            assert "AGENT same to 4" in title(debugger)

    debug(desk_dsn, DESK, act, agent=AGENT)
