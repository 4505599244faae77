"""The list of runs: what it shows of a real database, how it is moved in and filtered."""

import psycopg
import pytest

from stepwell.app.screens.help import HelpScreen
from stepwell.core.steps import RunHead
from tests.app.listed import (
    DIED,
    LOOPING,
    WELL,
    fill,
    fill_many,
    text_of,
)
from tests.app.listing_pilot import Runs, on_list
from tests.app.pressing import handled
from tests.store.rows import add_run, run_id

HOSTILE = "\x1b]52;c;cm0=\x07\u202e[/b]"


def test_it_shows_what_is_known_of_every_run_newest_first(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        title, header, *rows = runs.rows
        assert title.startswith("stepwell  3 runs ")
        assert title.endswith(" READ ONLY")
        assert header == "   STATUS   NAME               RUN   STEPS  TOOK  STARTED  WHY"
        assert rows[:3] == [
            "> !failed   refund-triage      7f3a     52  1m31  3 min    search_orders x24, M…",
            "  ?died     refund-triage      b20c     17        9 min    in doubt: send_email",
            "   ok       invoice-check      04aa     12   14s  1 h      3 agents",
        ]
        assert rows[16:20] == [
            "7f3a " + "-" * 75,
            "end   52 raised MaxTurnsError: 25 turns, 13:01:31Z",
            "loop  5-51 search_orders, same arguments, same result, 24 laps",
            "about tenant=a",
        ]
        assert rows[20].startswith("newest first  superuser role; Stepwell only reads; safer: sql/roles.sql ")
        assert rows[21].startswith("Enter open  / filter  f failed only  F follow  y copy id  ? keys")

    on_list(schema_dsn, act)


def test_the_facts_are_those_of_the_selected_run(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("j")
        assert runs.rows[19:21] == [
            "end   17 is the last: the process ended without ending the run, begun 12:54:00Z",
            "doubt 17 send_email was begun and never confirmed",
        ]
        await runs.press("G")
        assert runs.rows[19:21] == ["end   12 ended ok, 12:00:14Z", "swarm 3 agents: triage, a, b"]

    on_list(schema_dsn, act)


def test_an_empty_database_says_how_to_begin(schema_dsn: str) -> None:
    async def act(runs: Runs) -> None:
        text = "\n".join(runs.rows)
        assert "no runs are recorded here yet" in text
        assert "stepwell demo" in text
        await runs.press("j", "enter", "y", "G", "F", "k")
        await runs.press("colon", "1", "7", "enter")
        assert "! no run is selected; RUN:17 names one" in runs.rows

    assert on_list(schema_dsn, act).opened == []


def test_enter_opens_the_selected_run(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("j", "enter")

    ((run, step),) = on_list(schema_dsn, act).opened
    assert isinstance(run, RunHead)
    assert (run.run_id, step) == (DIED, None)


def test_the_colon_opens_addresses_and_places_in_the_selected_run(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        for text in ("04aa:3", "17"):
            await runs.press("colon")
            await runs.type(text)
            await runs.press("enter")
        await runs.press("colon", *"fold", "enter")
        assert "! fold is for an opened run: Enter opens the selected one" in runs.rows
        await runs.press("colon", *"zork", "enter")
        assert "! no command 'zork': follow, help, quit; or go to" in "\n".join(runs.rows)

    assert on_list(schema_dsn, act).opened == [("04aa:3", None), (f"{LOOPING}:17", None)]


def test_it_filters_as_one_types_and_enter_keeps_it(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("slash", "i", "n")
        assert runs.rows[0].startswith("stepwell  1 of 3 runs  / in ")
        assert runs.rows[2].startswith(">  ok       invoice-check")
        assert runs.rows[3] == ""
        await runs.press("enter")
        assert runs.rows[0].startswith("stepwell  1 of 3 runs  / in ")
        await runs.press("slash", "backspace", "backspace", "b", "2", "0", "c")
        assert [run.run_id for run in runs.screen.listing.runs] == [DIED]

    on_list(schema_dsn, act)


def test_esc_brings_back_the_filter_of_before(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("slash", "i", "n", "enter", "slash", "x")
        assert "no run with inx in its name or at the beginning of its id is here" in runs.rows
        await runs.press("escape")
        assert runs.screen.listing.query == ("in", False)
        assert runs.rows[2].startswith(">  ok")

    on_list(schema_dsn, act)


def test_f_shows_those_that_failed_or_died_and_back(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("f")
        assert [run.run_id for run in runs.screen.listing.runs] == [LOOPING, DIED]
        assert runs.rows[0].startswith("stepwell  2 of 3 runs  failed only")
        await runs.press("slash", "z")
        assert "no run with z in its name or at the beginning of its id failed or died" in runs.rows
        assert "/ changes the filter, Esc shows all runs" in runs.rows
        await runs.press("escape", "f")
        assert len(runs.screen.listing.runs) == 3

    on_list(schema_dsn, act)


def test_esc_shows_all_runs_again_and_the_keys_say_so_while_some_are_hidden(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        assert "Esc" not in runs.rows[-1]
        await runs.press("slash", "7", "f", "enter")
        assert runs.rows[-1].startswith("Enter open  / filter  Esc all  f failed only")
        assert "? keys  q quit" in runs.rows[-1]
        await runs.press("f", "escape")
        assert runs.screen.listing.query == ("", False)
        assert len(runs.screen.listing.runs) == 3
        assert "Esc" not in runs.rows[-1]

    on_list(schema_dsn, act)


def test_what_a_key_came_to_is_said_until_the_next_key(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("ctrl+c")
        assert runs.rows[-2].startswith("nothing is running; q quits")
        await runs.press("x")
        assert runs.rows[-2].startswith("newest first, live")
        await runs.press("colon", *"zork", "enter")
        assert runs.rows[-2].startswith("! no command 'zork'")
        await runs.press("slash")
        assert runs.rows[-2].startswith("newest first, live")

    on_list(schema_dsn, act)


def test_colon_help_opens_at_the_commands(schema_dsn: str) -> None:
    async def act(runs: Runs) -> None:
        await runs.press("colon", *"help", "enter")
        await handled(runs.pilot)
        assert isinstance(runs.app.screen, HelpScreen)
        assert [":quit", "leave", "Stepwell"] in [row.split() for row in text_of(runs.app.screen)]

    on_list(schema_dsn, act)


def test_pages_are_read_as_the_end_comes_near(schema_dsn: str) -> None:
    fill_many(schema_dsn, 230)

    async def act(runs: Runs) -> None:
        assert len(runs.screen.listing.runs) == 100
        assert runs.rows[0].startswith("stepwell  230 runs")
        assert runs.rows[22].endswith("1/100+")
        await runs.press("G")
        await runs.until(lambda: len(runs.screen.listing.runs) == 200)
        await runs.press("G")
        await runs.until(lambda: len(runs.screen.listing.runs) == 230)
        await runs.press("G")
        assert runs.rows[22].endswith("230/230")
        names = [run.name for run in runs.screen.listing.runs]
        assert names == [f"agent-{number}" for number in range(230, 0, -1)]

    on_list(schema_dsn, act)


def test_moving_turns_the_page_and_a_step_within_it_moves_the_mark_alone(schema_dsn: str) -> None:
    fill_many(schema_dsn, 40)

    async def act(runs: Runs) -> None:
        page = runs.screen.rows
        await runs.press(*["j"] * (page - 1))
        assert (runs.screen.listing.top, runs.screen.listing.selected) == (0, page - 1)
        await runs.press("j")
        assert (runs.screen.listing.top, runs.screen.listing.selected) == (page, page)
        await runs.press("k")
        assert (runs.screen.listing.top, runs.screen.listing.selected) == (0, page - 1)
        await runs.press("space")
        assert runs.screen.listing.selected == 2 * page - 1
        await runs.press("g")
        assert (runs.screen.listing.top, runs.screen.listing.selected) == (0, 0)

    on_list(schema_dsn, act)


def test_ids_grow_until_they_tell_runs_apart(schema_dsn: str) -> None:
    for number in (0x7F3A1000, 0x7F3A1100):
        add_run(schema_dsn, run_id(number), name="twin", status="ok")

    async def act(runs: Runs) -> None:
        assert "7f3a11" in runs.rows[2]
        assert "7f3a10" in runs.rows[3]
        assert len(runs.rows[1].split("STEPS")[0]) == len(runs.rows[2].split("    0 ")[0])

    on_list(schema_dsn, act)


@pytest.mark.parametrize(
    ("term", "words"),
    [("xterm-256color", "copied 36 characters"), ("linux", "the terminal has no clipboard")],
)
def test_y_copies_the_whole_id_or_shows_it_to_be_marked(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch, term: str, words: str
) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("y")
        assert str(WELL) not in runs.rows[22]
        assert runs.rows[22].startswith(f"{words}: {LOOPING}")

    monkeypatch.setenv("TERM", term)
    on_list(schema_dsn, act)


def test_recorded_names_errors_and_tags_reach_the_screen_clean(schema_dsn: str) -> None:
    hostile = {"type": HOSTILE, "message": HOSTILE}
    add_run(
        schema_dsn, run_id(0x7F3A0000), name=HOSTILE, status="failed", steps=1,
        error=psycopg.types.json.Jsonb(hostile), tags=psycopg.types.json.Jsonb({HOSTILE: HOSTILE}),
        source=HOSTILE, agents=[HOSTILE, HOSTILE],
    )  # fmt: skip

    async def act(runs: Runs) -> None:
        await runs.press("slash", "5", "2")
        text = "".join(runs.rows)
        assert text.isprintable()
        assert r"\x1b]52" in text

    on_list(schema_dsn, act, (120, 40))


@pytest.mark.parametrize("size", [(40, 10), (60, 16), (80, 24), (120, 40), (20, 5)])
def test_every_size_is_filled_exactly(schema_dsn: str, size: tuple[int, int]) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        rows = runs.rows
        assert len(rows) == size[1]
        assert max(map(len, rows)) <= size[0]
        assert any(row.startswith("> !failed") for row in rows)

    on_list(schema_dsn, act, size)


def test_a_resize_keeps_the_selection_in_view(schema_dsn: str) -> None:
    fill_many(schema_dsn, 40)

    async def act(runs: Runs) -> None:
        await runs.press(*["j"] * 12)
        await runs.pilot.resize_terminal(80, 12)
        await handled(runs.pilot)
        assert any(row.startswith(">  ok       agent-28") for row in runs.rows)

    on_list(schema_dsn, act)


def test_q_leaves_and_ctrl_c_does_not(schema_dsn: str) -> None:
    async def act(runs: Runs) -> None:
        await runs.press("ctrl+c")
        assert "nothing is running; q quits" in runs.rows
        await runs.press("q")

    assert on_list(schema_dsn, act).results == [None]
