"""A step's output is edited: what would be otherwise is seen, undone, kept as a branch, and never lost by a slip."""

from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from stepwell.app.geometry import Pane
from stepwell.app.rerun import Agent
from stepwell.app.screens.debugger import DebuggerScreen
from stepwell.app.screens.divergence import DivergenceScreen
from stepwell.app.widgets.json_editor import JsonEditor
from stepwell.store.connect import resolve
from tests.app.desk import DESK, NAME
from tests.app.recorded import BARE, DIED, LOOPING
from tests.app.stepping import Debugging, debug

OTHER = '[{"id": 8103, "item": "lamp", "status": "broken"}]'
SEARCH = 5
"""The step that is edited: what the model then asks for came from it."""


def title(debugger: Debugging) -> str:
    return debugger.rows("title")[0]


def typed(debugger: Debugging) -> str:
    return debugger.screen.board.editor.text


async def put(debugger: Debugging, text: str) -> None:
    """Have the editor hold a text."""
    editor = debugger.screen.board.editor
    editor.replace(text, (0, 0), editor.document.end)
    await debugger.settle()


async def edit(debugger: Debugging, text: str = OTHER) -> None:
    """Edit the step at the cursor."""
    await debugger.send("e")
    await debugger.until(lambda: debugger.view.editing)
    await put(debugger, text)
    await done(debugger)


async def done(debugger: Debugging, keys: str = "<escape>") -> None:
    """Leave the editor, and wait for what comes of it."""
    await debugger.send(keys)
    await debugger.until(lambda: not debugger.view.editing)
    await debugger.settle()


def test_an_edit_shows_what_would_be_otherwise_until_it_is_undone(desk_dsn: str) -> None:
    """Title, flags, the output and why the steps after it are stale; `u` brings back what was recorded."""

    async def act(debugger: Debugging) -> None:
        before = debugger.text
        await edit(debugger)
        assert title(debugger).startswith("WHAT-IF de5c@5 unsaved  stale from 6  refund-desk OK")
        assert [row.split()[-1] for row in debugger.rows("timeline")[4:8]] == ["E", "e", "e", "e"]
        assert debugger.rows("strip")[0] == "LTSL#eTL"
        assert "[OUTPUT] edited, " in debugger.heading(Pane.OUTPUT)
        assert "8103" in debugger.pane(Pane.OUTPUT)
        assert "stale from 6: $.messages[5].content is from step 5" in debugger.status
        await debugger.press("n")
        assert "stale from here" in debugger.heading(Pane.INPUT)
        assert debugger.rows(Pane.INPUT)[0].startswith("stale from here: $.messages[5].content is from")
        await debugger.press("n")
        assert debugger.rows(Pane.INPUT)[0].startswith("stale: $")
        await debugger.press("pp")
        assert debugger.number == SEARCH
        await debugger.press("u")
        assert "as it was recorded" in debugger.status
        await debugger.press("p<right>")
        assert debugger.text.splitlines()[:-2] == before.splitlines()[:-2]

    debug(desk_dsn, DESK, act, step=SEARCH)


def test_an_edited_state_is_the_state_of_the_steps_after_it(desk_dsn: str) -> None:
    """Down to the last; of the steps before nothing is otherwise."""

    async def act(debugger: Debugging) -> None:
        await edit(debugger, '{"customer": "Bob", "tries": 2}')
        for keys in ("", "n", "G"):
            await debugger.press(keys)
            assert '"Bob"' in debugger.pane(Pane.STATE)
            assert "tries" in debugger.pane(Pane.STATE)
        await debugger.press("gn")
        assert "no state yet" in debugger.pane(Pane.STATE)

    debug(desk_dsn, DESK, act, step=3)


def test_what_is_no_json_stays_to_be_mended(desk_dsn: str) -> None:
    """The cursor where the mistake is, which the status names by line and column."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("e")
        await debugger.until(lambda: debugger.view.editing)
        assert typed(debugger).splitlines()[:2] == ["[", "  {"]
        assert debugger.rows("keys")[0].startswith("Esc done")
        await put(debugger, '[\n  {"id": 1,}\n]')
        await debugger.send("<escape>")
        await debugger.until(lambda: "this is no JSON: line 2, column 12" in debugger.status)
        assert typed(debugger) == '[\n  {"id": 1,}\n]'
        editor = debugger.screen.board.editor
        assert editor.has_focus
        assert editor.cursor_location == (1, 11)
        await debugger.press("<backspace><end><enter>x")
        assert typed(debugger) == '[\n  {"id": 1}\n  x\n]'
        await done(debugger, "<backspace><ctrl+d>")
        assert title(debugger).startswith("WHAT-IF de5c@5 unsaved")

    debug(desk_dsn, DESK, act, step=SEARCH)


def test_giving_up_and_changing_nothing_edit_nothing(desk_dsn: str) -> None:
    """While one types no key does what it does on the screen, `q` and Tab included."""

    async def act(debugger: Debugging) -> None:
        await debugger.send("eD")
        await debugger.until(lambda: debugger.view.editing and debugger.app.keyboard.idle)
        await debugger.press("q<tab>n?:")
        assert typed(debugger).startswith("Dq  n?:[")
        assert debugger.number == SEARCH
        await done(debugger, "<ctrl+c>")
        assert "as it was" in debugger.status
        assert debugger.screen.focused is None
        await debugger.send("e")
        await debugger.until(lambda: debugger.view.editing)
        await done(debugger)
        assert "that is what it gave: nothing is edited" in debugger.status
        assert title(debugger).startswith("refund-desk de5c  OK")

    debug(desk_dsn, DESK, act, step=SEARCH)


@pytest.mark.parametrize("leave", ["q", ":runs<enter>", ":quit<enter>"])
def test_an_unsaved_what_if_is_not_thrown_away_by_a_slip(desk_dsn: str, leave: str) -> None:
    """Only `y` does; another run is not opened either."""

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        await debugger.press(leave)
        assert "Throw it away? y yes" in debugger.status
        await debugger.press("n")
        assert "the what-if is not saved: W saves it, u undoes it" in debugger.status
        assert debugger.number == SEARCH
        await debugger.press(":7f3a<enter>")
        assert "the what-if is not saved" in debugger.status
        assert debugger.is_open
        await debugger.press(f"{leave}y")
        await debugger.ended()

    debug(desk_dsn, DESK, act, step=SEARCH)


@pytest.mark.usefixtures("desk_folder")
def test_at_the_question_whether_to_throw_it_away_it_can_be_saved(desk_dsn: str) -> None:
    """The question is seen though the agent's code has parted from the recording, as it mostly has then."""

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        await debugger.press("n")
        assert "AGENT asks anew at 6" in title(debugger)
        await debugger.press("q")
        assert "Throw it away? y yes  W save it" in debugger.status
        await debugger.press("W")
        await saved(debugger)
        assert "BRANCH of de5c@5" in title(debugger)

    debug(desk_dsn, DESK, act, step=SEARCH, agent=Agent(NAME))


def test_another_step_is_edited_when_the_first_is_undone_or_saved(desk_dsn: str) -> None:
    """The same one as often as one likes; each edit is undone by itself."""

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        await edit(debugger, "[]")
        assert debugger.pane(Pane.OUTPUT).startswith("[]")
        await debugger.press("ne")
        assert "step 5 is edited: u undoes that, W saves it; then this one" in debugger.status
        await debugger.press("u")
        assert title(debugger).startswith("WHAT-IF de5c@5")
        await debugger.press("p")
        assert "8103" in debugger.pane(Pane.OUTPUT)
        await debugger.press("au")
        assert not title(debugger).startswith("WHAT-IF")
        await debugger.press("e")
        assert "what it gave came after this moment" in debugger.status

    debug(desk_dsn, DESK, act, step=SEARCH)


async def saved(debugger: Debugging) -> None:
    """Wait until the debugger shows the branch."""
    await debugger.until(
        lambda: (
            any(isinstance(screen, DebuggerScreen) for screen in debugger.app.screen_stack)
            and debugger.screen.view is not None
            and debugger.view.timeline.run.parent == DESK
        )
    )
    await debugger.settle()


def test_saved_it_is_a_branch_that_steps_like_any_run(desk_run: str) -> None:
    """It has the run's steps up to the first that is stale, and says where it leaves it; the run is as it was."""

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        await debugger.press("W")
        await saved(debugger)
        assert "BRANCH of de5c@5" in title(debugger)
        assert debugger.number == SEARCH
        assert "8103" in debugger.pane(Pane.OUTPUT)
        assert debugger.rows("timeline")[4].endswith("F")
        await debugger.press("g")
        assert debugger.rows("strip")[0] == "#TSLF"
        assert "My lamp came broken." in debugger.pane(Pane.INPUT)
        await debugger.press(":parent<enter>")
        await debugger.until(
            lambda: debugger.screen.view is not None and debugger.view.timeline.run.run_id == DESK
        )
        await debugger.settle()
        assert debugger.number == SEARCH
        assert "8102" in debugger.pane(Pane.OUTPUT)

    debug(desk_run, DESK, act, step=SEARCH)


def test_a_role_that_may_only_read_is_told_what_saving_takes(desk_run: str) -> None:
    """The what-if stays, to be looked at."""
    role = "stepwell_test_whatif_reader"
    with psycopg.connect(desk_run, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {role}")
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    reader = psycopg.conninfo.make_conninfo(desk_run, user=role, password="x")

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        await debugger.press("W")
        assert f"{role} may not save a branch" in debugger.status
        assert title(debugger).startswith("WHAT-IF de5c@5 unsaved")

    try:
        debug(resolve(reader).conninfo, DESK, act, step=SEARCH)
    finally:
        with psycopg.connect(desk_run, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}")
            connection.execute(f"DROP ROLE {role}")


def test_with_the_agents_code_it_is_run_again_from_there_up_to_the_new_question(
    desk_dsn: str, desk_folder: Path
) -> None:
    """Which stands beside what was asked then. Undone, the agent does what was recorded again."""
    assert desk_folder.is_dir()

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        assert "AGENT asks anew at 6" in title(debugger)
        assert "step 6: input changed at $.messages[5].content" in debugger.status
        assert debugger.rows("timeline")[5].rstrip().endswith("eD")
        await debugger.press("DD")
        assert isinstance(debugger.app.screen, DivergenceScreen)
        lines = debugger.text.splitlines()
        assert any(line.startswith("-") and "8102" in line for line in lines)
        assert any(line.startswith("+") and "8103" in line for line in lines)
        await debugger.press("qu")
        assert "AGENT same to" in title(debugger)

    debug(desk_dsn, DESK, act, step=SEARCH, agent=Agent(NAME))


@pytest.mark.parametrize("size", [(59, 20), (40, 10), (26, 6), (10, 3)])
def test_it_is_edited_in_a_small_terminal_too(desk_dsn: str, size: tuple[int, int]) -> None:
    """The pane then has all the room there is."""

    async def act(debugger: Debugging) -> None:
        await edit(debugger)
        assert debugger.view.what_if is not None
        await debugger.send("e")
        await debugger.until(lambda: debugger.view.editing)
        await debugger.settle()
        editor = debugger.screen.query_one(JsonEditor)
        assert editor.region.height >= max(1, size[1] - 5)
        assert editor.region.width == size[0]
        await done(debugger, "<ctrl+c>")
        await debugger.press("u")
        assert len(debugger.text.splitlines()) == size[1]

    debug(desk_dsn, DESK, act, step=SEARCH, size=size)


@pytest.mark.parametrize(("run", "step"), [(BARE, 2), (DIED, 3), (LOOPING, 52)])
def test_any_run_can_be_edited(recorded_dsn: str, run: UUID, step: int) -> None:
    """One of bare steps, a step that never ended, a step that raised."""

    async def act(debugger: Debugging) -> None:
        await debugger.press(f"{step}g")
        await edit(debugger, '{"role": "assistant", "content": "done"}')
        assert title(debugger).startswith("WHAT-IF")
        assert "done" in debugger.pane(Pane.OUTPUT)

    debug(recorded_dsn, run, act)
