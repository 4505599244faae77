"""A search shows its hit: the pane, the line, the text in reverse."""

from uuid import UUID

import pytest

from stepwell.app import finding
from stepwell.app.geometry import Pane
from stepwell.app.widgets import lines as lines_widget
from tests.app.recorded import LOOPING, Script
from tests.app.stepping import Debugging, debug, pressed

LONG = UUID("10460000-0000-4000-8000-000000000000")
ROWS = 30_000


def reversed_in(debugger: Debugging, pane: Pane) -> list[str]:
    """What a pane shows in reverse."""
    lines = debugger.screen.board.lines(pane)
    return [
        segment.text
        for y in range(lines.size.height)
        for segment in lines.render_line(y)
        if segment.style and segment.style.reverse
    ]


@pytest.fixture
def long_dsn(schema_dsn: str) -> str:
    """Conninfo of a database with a run whose second step has a long output."""
    script = Script(LONG)
    script.step("tool_call", "first", {}, "nothing")
    script.step("tool_call", "list", {}, [f"line number {n} of many" for n in range(ROWS)])
    script.step("tool_call", "last", {}, "nothing")
    script.write(schema_dsn)
    return schema_dsn


def test_a_hit_far_down_the_output_is_in_view_and_marked(recorded_dsn: str) -> None:
    """With a line of context on either side; from the pane that was chosen before to that of the hit."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("<tab>")
        assert "[STATE]" in debugger.text
        await debugger.press("/9054<enter>")
        assert debugger.number == 5
        assert "hit 1 of 1" in debugger.status
        assert debugger.view.pane is Pane.OUTPUT
        rows = debugger.rows(Pane.OUTPUT)
        (at,) = [y for y, row in enumerate(rows) if "9054" in row]
        assert 0 < at < len(rows) - 1
        assert reversed_in(debugger, Pane.OUTPUT) == ["9054"]
        assert "-" in debugger.heading(Pane.OUTPUT).split()[-1]

    debug(recorded_dsn, LOOPING, act, step=3)


def test_a_mark_lasts_until_the_next_move(recorded_dsn: str) -> None:
    """A key that stays at the step leaves it."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/9054<enter>J")
        assert reversed_in(debugger, Pane.OUTPUT) == ["9054"]
        await debugger.press("np")
        assert debugger.view.mark == ""
        await debugger.press("<tab><tab>")
        assert reversed_in(debugger, Pane.INPUT) == []

    debug(recorded_dsn, LOOPING, act, step=5)


def test_a_hit_in_what_was_given_is_shown_there(recorded_dsn: str) -> None:
    """The first prompt names Ada; what `get_customer` returned does as well."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/ada<enter>")
        assert (debugger.number, debugger.view.pane) == (1, Pane.INPUT)
        assert reversed_in(debugger, Pane.INPUT) == ["Ada"]
        await debugger.press(".")
        assert (debugger.number, debugger.view.pane) == (2, Pane.OUTPUT)
        assert reversed_in(debugger, Pane.OUTPUT) == ["Ada"]

    debug(recorded_dsn, LOOPING, act, size=(80, 40))


def test_a_hit_in_a_name_is_said(recorded_dsn: str) -> None:
    """No pane has it; the one that is chosen stays."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/get_customer<enter>")
        await debugger.press(".")
        assert debugger.number == 2
        assert "hit 2 of 2, in its name" in debugger.status
        assert debugger.view.pane is Pane.OUTPUT

    debug(recorded_dsn, LOOPING, act)


def test_what_no_pane_shows_is_said_to_be_in_the_stored_value(recorded_dsn: str) -> None:
    """A conversation leaves out what is no message."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/completion_tokens<enter>")
        assert debugger.number == 1
        assert "; x shows it as stored" in debugger.status
        await debugger.press("x/completion_tokens<enter>")
        assert reversed_in(debugger, Pane.OUTPUT) == ["completion_tokens"]

    debug(recorded_dsn, LOOPING, act)


@pytest.mark.parametrize("typed", ["z", "<tab><tab>z"])
def test_a_zoomed_pane_gives_way_to_that_of_the_hit(recorded_dsn: str, typed: str) -> None:
    """Whichever it is."""

    async def act(debugger: Debugging) -> None:
        await debugger.press(typed)
        await debugger.press("/9054<enter>")
        await debugger.settle()
        assert (debugger.view.pane, debugger.view.zoomed) == (Pane.OUTPUT, True)
        assert reversed_in(debugger, Pane.OUTPUT) == ["9054"]

    debug(recorded_dsn, LOOPING, act, step=5)


def test_one_pane_at_a_time_shows_that_of_the_hit(recorded_dsn: str) -> None:
    """Below 60 columns, from the timeline as well."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("<shift+tab><shift+tab>")
        assert "OUTPUT" not in debugger.text
        await debugger.press("/9054<enter>")
        assert debugger.view.pane is Pane.OUTPUT
        assert reversed_in(debugger, Pane.OUTPUT) == ["9054"]

    debug(recorded_dsn, LOOPING, act, step=5, size=(50, 16))


def test_a_hit_in_a_long_output_is_looked_for_little_by_little(long_dsn: str) -> None:
    """Until it is there."""

    async def act(debugger: Debugging) -> None:
        await debugger.press(f"/number {ROWS - 5} of<enter>")
        assert debugger.number == 2
        assert "hit 1 of 1" in debugger.status
        assert reversed_in(debugger, Pane.OUTPUT) == [f"number {ROWS - 5} of"]

    debug(long_dsn, LONG, act)


def test_any_key_stops_looking(long_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And does what it does."""
    monkeypatch.setattr(finding, "STRIDE", 100)
    monkeypatch.setattr(finding, "TELL_EVERY", 100)

    async def act(debugger: Debugging) -> None:
        await debugger.send(f"/number {ROWS - 5} of<enter>")
        await debugger.until(lambda: "lines, any key stops" in debugger.status)
        await debugger.press("n")
        assert debugger.number == 3
        assert not debugger.screen.finder.busy
        await debugger.send("p/<enter>")
        await debugger.until(lambda: "lines, any key stops" in debugger.status)
        await debugger.press("<ctrl+c>")
        assert "stopped" in debugger.status
        assert debugger.number == 2

    debug(long_dsn, LONG, act)


def test_the_way_to_the_end_is_told_and_can_be_stopped(
    long_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C stays where one is."""
    monkeypatch.setattr(lines_widget, "STRIDE", 10)
    monkeypatch.setattr(lines_widget, "TELL_SECONDS", 0.0)

    async def act(debugger: Debugging) -> None:
        await debugger.send(">")
        await debugger.until(lambda: "laying out … " in debugger.status)
        assert "lines, Ctrl-C stops" in debugger.status
        await debugger.press("<ctrl+c>")
        assert "stopped" in debugger.status
        assert " 1-" in debugger.heading(Pane.OUTPUT)
        monkeypatch.setattr(lines_widget, "STRIDE", 1000)
        await debugger.send(">")
        await debugger.until(lambda: f"/{ROWS:,}" in debugger.heading(Pane.OUTPUT))
        await debugger.settle()
        assert "laying out" not in debugger.status

    debug(long_dsn, LONG, act, step=2)


def test_the_state_is_looked_through_as_well(recorded_dsn: str) -> None:
    """Where neither what was given nor what was given back shows it."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/find order<enter>")
        assert debugger.number == 3
        assert debugger.view.pane in (Pane.OUTPUT, Pane.STATE)
        assert reversed_in(debugger, debugger.view.pane) == ["find order"]

    debug(recorded_dsn, LOOPING, act)


@pytest.mark.parametrize(
    ("typed", "number", "pane", "shown"),
    [
        ('"id": 9054', 5, Pane.OUTPUT, '"id": 9054'),
        ('{"id":9054,', 5, Pane.OUTPUT, '{"id": 9054,'),
        ("id=9054", 5, Pane.OUTPUT, '"id": 9054'),
        ('"item": "la', 5, Pane.OUTPUT, '"item": "la'),
        ('lamp", "status": "no', 5, Pane.OUTPUT, 'lamp", "status": "no'),
        ("limit: 230", 5, Pane.INPUT, "limit  230"),
        ('query="broken', 5, Pane.INPUT, 'query  "broken'),
        ("query = broken lamp", 5, Pane.INPUT, 'query  "broken lamp'),
        ("customer=42", 2, Pane.OUTPUT, '"customer": 42'),
    ],
)
def test_a_member_is_found_and_marked_however_it_is_typed(
    recorded_dsn: str, typed: str, number: int, pane: Pane, shown: str
) -> None:
    """In JSON, and in a table of arguments."""

    async def act(debugger: Debugging) -> None:
        await debugger.press(f"/{typed}<enter>")
        while debugger.number < number:
            await debugger.press(".")
        assert (debugger.number, debugger.view.pane) == (number, pane)
        assert "".join(reversed_in(debugger, pane)).startswith(shown)

    debug(recorded_dsn, LOOPING, act, size=(120, 40))


def test_a_member_of_what_a_model_asks_for_is_marked_in_its_call(recorded_dsn: str) -> None:
    """Arguments are JSON in a string."""

    async def act(debugger: Debugging) -> None:
        await debugger.press('/"customer": 42<enter>')
        assert (debugger.number, debugger.view.pane) == (1, Pane.OUTPUT)
        assert "".join(reversed_in(debugger, Pane.OUTPUT)) == "customer=42"

    debug(recorded_dsn, LOOPING, act)


def test_a_member_that_a_step_changes_is_marked_in_its_change(schema_dsn: str) -> None:
    """Of a state that is kept as what changed in it."""
    run = UUID("10460000-0000-4000-8000-000000000001")
    script = Script(run)
    script.step("state_update", None, {"$patch": [{"set": [], "to": {"tries": 2}}]}, {"$patch": []})
    changed = {"$patch": [{"set": ["tries"], "to": 3}]}
    script.step("state_update", None, changed, {"$patch": []})
    script.write(schema_dsn)

    async def act(debugger: Debugging) -> None:
        await debugger.press("/tries=2<enter>")
        assert (debugger.number, reversed_in(debugger, Pane.INPUT)[0]) == (1, "tries")
        await debugger.press("/tries=3<enter>")
        assert "".join(reversed_in(debugger, Pane.INPUT)) == "tries  2 -> 3"

    debug(schema_dsn, run, act)


def test_members_in_another_order_than_the_stored_one_are_said_to_be_why(recorded_dsn: str) -> None:
    """Postgres sorts the keys of an object."""
    seen = pressed(recorded_dsn, LOOPING, "/item=lamp, id=8102<enter>", size=(160, 40))
    assert (
        "not found: item=lamp, id=8102 (keys are stored in an order of their own: one finds more)"
        in seen.status
    )
    seen = pressed(recorded_dsn, LOOPING, '/"id": 8102, "item": "lamp"<enter>', size=(160, 40))
    assert "hit 1 of " in seen.status


def test_an_agent_is_found_at_its_first_step(recorded_dsn: str) -> None:
    """Whose panes do not name it."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/Triage<enter>")
        assert "not found: Triage (upper case is matched exactly)" in debugger.status
        await debugger.press("/triage<enter>")
        assert debugger.number == 1
        assert "hit 1 of 1, in its agent's name" in debugger.status

    debug(recorded_dsn, LOOPING, act)
