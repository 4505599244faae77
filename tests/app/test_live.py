"""From the debugger an agent goes on for real where the recording has no answer, once it is said what that calls."""

import shutil
from pathlib import Path

import psycopg

from stepwell.app.geometry import Pane
from stepwell.app.rerun import Agent
from stepwell.app.runner import Runner
from stepwell.app.screens.live import LiveScreen
from tests.app import desk
from tests.app.desk import DESK, NAME
from tests.app.stepping import Debugging, debug

AGENT = Agent(NAME)
NEVER = '    raise AssertionError("a replay calls no {}")\n'
MODEL = "def model(*, model, messages, seed):\n"
SEARCH = "def search_orders(query, limit):\n"
LIMITED = ("**given)", '**({**given, "limit": 20} if "limit" in given else given))')
"""Does otherwise at step 5."""
ENDS = 'return {"choices": [{"message": {"role": "assistant", "content": "Nothing was found."}}]}\n'
BRANCHES = """
    SELECT parent_run_id, forked_at_step, status FROM agent_runs WHERE parent_run_id IS NOT NULL
"""
BEGUN = """
    SELECT step_number FROM agent_steps AS s JOIN agent_runs AS r USING (run_id)
    WHERE r.parent_run_id IS NOT NULL AND s.output IS NULL AND s.error IS NULL
"""


def at_work(folder: Path, *changes: tuple[str, str], search: str = "return []\n") -> None:
    """Have the agent's model and search be there, the model with its last word."""
    desk.write(
        folder,
        (MODEL + NEVER.format("model"), f"{MODEL}    {ENDS}"),
        (SEARCH + NEVER.format("tool"), f"{SEARCH}    {search}"),
        *changes,
    )


def branches(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(BRANCHES).fetchall()


def begun(dsn: str) -> list[tuple[object, ...]]:
    """Steps that are under way in branches."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(BEGUN).fetchall()


async def asked(debugger: Debugging) -> LiveScreen:
    """Have the question asked; the screen that asks it."""
    await debugger.send(":live<enter>")
    await debugger.until(lambda: isinstance(debugger.app.screen, LiveScreen))
    screen = debugger.app.screen
    assert isinstance(screen, LiveScreen)
    await debugger.until(lambda: screen.view.phase != "looking")
    return screen


async def edit(debugger: Debugging) -> None:
    """Have the step at the cursor give nothing."""
    await debugger.send("e")
    await debugger.until(lambda: debugger.view.editing)
    editor = debugger.screen.board.editor
    editor.replace("[]", (0, 0), editor.document.end)
    await debugger.press("<escape>")
    await debugger.until(lambda: debugger.view.what_if is not None)
    await debugger.settle()


def said(debugger: Debugging) -> str:
    """What the screen says, without its lines."""
    return " ".join(debugger.text.split())


def title(debugger: Debugging) -> str:
    return debugger.rows("title")[0]


def test_after_a_yes_it_goes_on_and_opens_the_branch_which_has_what_was_edited(
    desk_run: str, desk_folder: Path
) -> None:
    """Nothing has to be saved before."""
    at_work(desk_folder)

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        assert "AGENT asks anew at 6" in title(debugger)
        assert ":live go on" in debugger.rows("keys")[0]
        await asked(debugger)
        await debugger.send("y")
        await debugger.until(lambda: debugger.is_open and debugger.screen.start.run.run_id != DESK)
        await debugger.settle()
        assert "OK of de5c@5" in title(debugger)
        assert "6/6 100% after  the agent went on for real and came to its end" in debugger.status
        assert "Nothing was found." in debugger.pane(Pane.OUTPUT)
        await debugger.press("p")
        assert debugger.view.what_if is None
        assert debugger.pane(Pane.OUTPUT).startswith("[]")
        assert "AGENT same to 5" in title(debugger)

    debug(desk_run, DESK, act, step=5, agent=AGENT)
    assert branches(desk_run) == [(DESK, 5, "ok")]


def test_it_says_what_will_be_called_and_only_a_yes_begins_and_only_ctrl_c_ends_it(
    desk_run: str, desk_folder: Path
) -> None:
    """The branch opens all the same; the step that was under way is in doubt there."""
    at_work(desk_folder, LIMITED, search="import threading; threading.Event().wait()\n")

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        await asked(debugger)
        assert "the agent asks anew at 5, before step 7, which is edited: u undoes that" in said(debugger)
        await debugger.press("yqu")
        screen = await asked(debugger)
        assert debugger.text.startswith("GO ON FOR REAL from step 5?  refund-desk de5c")
        assert "step 5: input changed at $.limit: recorded 50, now 20" in said(debugger)
        assert "from step 5 on the agent will call models and tools for real" in said(debugger)
        assert "gpt-5-mini x2, search_orders x1, refund_order x1; the agent may call" in said(debugger)
        await debugger.send("nYe<enter><space>")
        assert debugger.app.screen is screen
        assert not branches(desk_run)
        await debugger.send("y")
        await debugger.until(lambda: begun(desk_run))
        await debugger.send("q<escape>y")
        assert screen.view.phase == "going"
        assert "LIVE from step 5  refund-desk de5c" in debugger.text
        await debugger.send("<ctrl+c>")
        await debugger.until(lambda: debugger.is_open and debugger.screen.start.run.run_id != DESK)
        await debugger.settle()
        assert "of de5c@5" in title(debugger)
        assert "the agent went on for real, and was cancelled" in debugger.status

    debug(desk_run, DESK, act, step=7, agent=AGENT)


def test_where_there_is_nothing_to_go_on_with_that_is_said(desk_dsn: str, desk_folder: Path) -> None:
    """As where the recording has all answers, or the agent cannot be run."""

    async def act(debugger: Debugging) -> None:
        screen = await asked(debugger)
        assert "the recording had an answer to all that the agent asked" in said(debugger)
        await debugger.send("y")
        assert screen.view.phase == "over"
        await debugger.press("q")
        assert debugger.is_open
        (desk_folder / "desk.py").write_text("main = 1 +\n")
        await asked(debugger)
        assert "importing desk raised SyntaxError" in debugger.text
        await debugger.press("<ctrl+c>")
        assert debugger.is_open
        shutil.rmtree(desk_folder)
        await asked(debugger)
        assert "the current folder is gone" in debugger.text
        await debugger.press("q")
        assert debugger.is_open
        Runner(debugger.app.target, DESK, AGENT).close()  # so that runs open all the same

    debug(desk_dsn, DESK, act, agent=AGENT)


def test_without_an_agent_it_is_said_how_to_give_one(desk_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.press(":live<enter>")
        assert "stepwell RUN --agent package.module:callable" in debugger.status

    debug(desk_dsn, DESK, act)
