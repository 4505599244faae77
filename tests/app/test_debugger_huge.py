"""Values too large to be read on each move: said, read on demand, and no hindrance to a step past them."""

from uuid import UUID

import pytest

from stepwell.app.geometry import Pane
from stepwell.app.present import values
from stepwell.core.world import Moment
from stepwell.replay import Replayer, replayer
from stepwell.settings import paths
from stepwell.store import worlds
from stepwell.store.connect import resolve
from stepwell.store.limits import Limits
from tests.app.recorded import BIG, Script
from tests.app.stepping import Debugging, debug


@pytest.fixture(autouse=True)
def too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 10 MB of the run take some 115 KB as they are stored."""
    monkeypatch.setattr(replayer, "MOVES", Limits(50_000, 50_000, 16_000_000))


def test_a_move_leaves_a_value_of_many_megabytes_alone(recorded_dsn: str) -> None:
    replays = Replayer(resolve(recorded_dsn), BIG)
    world = replays.at(1)
    assert (world.payload.output, world.step.has_output, world.payload.input_unread) == (None, True, None)
    assert world.payload.output_unread is not None
    assert 50_000 < world.payload.output_unread < 500_000
    assert world.payload.input == '{"path": "/var/log/lamps"}'
    whole = replays.at(1, Moment.AFTER, whole=True)
    assert whole.payload.output_unread is None
    assert whole.payload.output is not None
    assert len(whole.payload.output) > 9_000_000
    replays.close()


def test_what_was_not_read_is_said_and_x_reads_it(recorded_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] not read")
        said = " ".join(debugger.rows(Pane.OUTPUT))
        assert "KB compressed, over 16.0 MB unpacked: too large to be read on each move" in said
        assert "stepwell show 0b16:1 prints it" in said
        await debugger.send("x")
        await debugger.until(lambda: debugger.view.unread is None)
        assert debugger.rows(Pane.OUTPUT)[0].startswith('"0123456789 0123456789')
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] 10.0 MB, as stored")
        assert debugger.view.message == ""

    debug(recorded_dsn, BIG, act)


@pytest.mark.parametrize("key", ["Y", "v"])
def test_what_was_not_read_is_read_before_it_is_copied_or_paged(recorded_dsn: str, key: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.send(key)
        await debugger.until(lambda: debugger.view.unread is None)
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] 10.0 MB, as stored")

    debug(recorded_dsn, BIG, act)


@pytest.fixture
def too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 10 MB are too many characters to be taken apart."""
    monkeypatch.setattr(values, "LARGEST", 1_000_000)


@pytest.mark.usefixtures("too_many")
def test_a_value_that_is_too_large_to_be_laid_out_is_shown_as_it_is_stored_only(recorded_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.press("x")
        assert "as stored" in debugger.heading(Pane.OUTPUT)
        await debugger.press("><down>")
        assert debugger.rows(Pane.OUTPUT)[-1].endswith('END."')
        await debugger.press("x")
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] 10.0 MB ---")
        assert "characters: too many to be laid out. x shows" in " ".join(debugger.rows(Pane.OUTPUT))
        await debugger.press("x")
        assert debugger.rows(Pane.OUTPUT)[0].startswith('"0123456789 0123456789')

    debug(recorded_dsn, BIG, act)


@pytest.mark.usefixtures("too_many")
def test_a_value_that_is_too_large_for_a_clipboard_is_written_as_it_is_stored(recorded_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.press("x")
        await debugger.press("Y")
        assert "too large to copy: written as stored to" in debugger.status
        world = debugger.view.world
        assert world is not None
        assert (paths().state / "copied.txt").read_text() == world.payload.output

    debug(recorded_dsn, BIG, act)


def test_a_text_of_some_megabytes_is_copied_as_it_reads(recorded_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.press("x")
        await debugger.press("Y")
        assert "too large for the clipboard: written to" in debugger.status
        text = (paths().state / "copied.txt").read_text()
        assert text.startswith("0123456789 ")
        assert text.endswith(" END.")

    debug(recorded_dsn, BIG, act)


@pytest.mark.usefixtures("too_many")
@pytest.mark.parametrize("text", ["END.", "end."])
def test_a_hit_in_what_was_not_read_is_shown_once_it_is(recorded_dsn: str, text: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.press(f"/{text}<enter>")
        assert "hit 1 of 1; x shows it as stored" in debugger.status
        await debugger.press("x")
        assert any(row.endswith('END."') for row in debugger.rows(Pane.OUTPUT))

    debug(recorded_dsn, BIG, act)


BESIDE = UUID("b51de000-0000-4000-8000-000000000000")


@pytest.fixture
def beside_dsn(schema_dsn: str) -> str:
    """Conninfo of a database with calls around a prompt of 12 MB that takes 137 KB, and one that begins with it."""
    script, long = Script(BESIDE), "broken lamp " * 1_000_000
    script.step("tool_call", "search", {}, "nothing")
    script.step("llm_call", "m", {"messages": [{"role": "user", "content": long}]}, "hm")
    script.step("llm_call", "m", {"messages": [{"role": "user", "content": "again"}]}, "yes")
    difference = {"messages": [{"role": "user", "content": "only this"}]}
    script.step("llm_call", "m", difference, "no", input_base=2, input_keep=1, input_list="messages")
    script.write(schema_dsn)
    return schema_dsn


def test_a_tool_call_does_not_read_the_huge_prompt_after_it(beside_dsn: str) -> None:
    replays = Replayer(resolve(beside_dsn), BESIDE)
    prompt = replays.at(1).next_prompt
    replays.close()
    assert prompt is not None
    assert (prompt.number, prompt.input) == (2, None)
    assert prompt.input_unread is not None
    assert prompt.input_unread < 1_000_000

    async def act(debugger: Debugging) -> None:
        assert "prompt 2 too large to search" in debugger.heading(Pane.OUTPUT)

    debug(beside_dsn, BESIDE, act, step=1, size=(120, 40))


def test_a_prompt_does_not_read_the_huge_one_before_it_and_is_not_compared(
    beside_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worlds, "MOVES", Limits(4_000_000, 100_000, 4_000_000))

    async def act(debugger: Debugging) -> None:
        assert "prompt 2 too large to compare" in debugger.heading(Pane.INPUT)
        assert "again" in debugger.pane(Pane.INPUT)
        await debugger.press("d")
        assert "prompt 2 takes" in debugger.pane(Pane.INPUT)
        assert "compressed: too large to be compared" in " ".join(debugger.pane(Pane.INPUT).split())

    debug(beside_dsn, BESIDE, act, step=3, size=(120, 40))


def test_of_a_prompt_that_begins_with_a_huge_one_what_is_new_is_shown_and_x_reads_the_rest(
    beside_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayer, "MOVES", Limits(4_000_000, 100_000, 4_000_000))

    async def act(debugger: Debugging) -> None:
        shown = " ".join(debugger.pane(Pane.INPUT).split())
        assert "step 2, which holds its beginning, is too large to be read on each move: x reads it" in shown
        assert "only this" in shown
        await debugger.press("<tab><tab><tab>x")
        assert debugger.view.pane is Pane.INPUT
        assert "as stored in 2 steps" in debugger.heading(Pane.INPUT)
        assert '"content":"broken lamp broken lamp' in debugger.rows(Pane.INPUT)[0]

    debug(beside_dsn, BESIDE, act, step=4, size=(120, 40))
