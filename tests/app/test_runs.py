"""The list of runs: what it shows of a real database, how it is moved in, filtered and kept up to date."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import psycopg
import pytest
from textual.pilot import Pilot

from stepwell.app.screens.runs import RunsScreen
from stepwell.core.steps import RunHead
from tests.app.listed import (
    DIED,
    LOOPING,
    NOW,
    WELL,
    ScreenApp,
    drive,
    fill,
    fill_many,
    runs_app,
    text_of,
    until,
)
from tests.replay.rows import bare_table
from tests.store.rows import NOON, add_run, add_step, run_id

HOSTILE = "\x1b]52;c;cm0=\x07\u202e[/b]"


class Runs:
    """The list of one database, loaded, under the hands of a pilot."""

    def __init__(self, app: ScreenApp, pilot: Pilot[object]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> RunsScreen:
        screen = self.app.under_test
        assert isinstance(screen, RunsScreen)
        return screen

    @property
    def rows(self) -> list[str]:
        return text_of(self.screen)

    async def press(self, *keys: str) -> None:
        """Press keys and wait until the list that they ask for is there."""
        await self.pilot.press(*keys)
        await self.pilot.pause()
        await self.until(lambda: self.screen.loaded)

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self.pilot, condition)

    async def type(self, text: str) -> None:
        await self.press(*["space" if char == " " else char for char in text])


def on_list(dsn: str, act: Callable[[Runs], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> ScreenApp:
    app = runs_app(dsn)

    async def run(pilot: Pilot[object]) -> None:
        runs = Runs(app, pilot)
        await runs.until(lambda: runs.screen.loaded and runs.screen.listing.where)
        await act(runs)

    drive(app, run, size)
    return app


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
        assert rows[20].startswith("newest first, live, ")
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


def test_a_running_run_counts_its_steps_and_its_time_so_far(schema_dsn: str) -> None:
    with psycopg.connect(schema_dsn) as recorder:
        run = add_run(schema_dsn, run_id(0x91DE0000), minute=59, name="swarm", status="running", steps=318)
        recorder.execute(
            "SELECT pg_advisory_lock(('x' || left(replace(%s, '-', ''), 16))::bit(64)::bigint)", [str(run)]
        )

        async def act(runs: Runs) -> None:
            assert runs.rows[2].startswith("> ~running  swarm              91de   318+  4m30  4 min")
            assert "now   318 so far, begun 12:59:00Z" in runs.rows

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
        assert "! no command 'zork'" in "\n".join(runs.rows)

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
        assert "/ changes the filter, f shows all runs" in runs.rows
        await runs.press("escape", "f")
        assert len(runs.screen.listing.runs) == 3

    on_list(schema_dsn, act)


def test_pages_are_read_as_the_end_comes_near(schema_dsn: str) -> None:
    fill_many(schema_dsn, 230)

    async def act(runs: Runs) -> None:
        assert len(runs.screen.listing.runs) == 100
        assert runs.rows[0].startswith("stepwell  230 runs")
        assert runs.rows[22].endswith("1/100+")
        for loaded in (200, 230):
            await runs.press("G")
            await runs.until(lambda loaded=loaded: len(runs.screen.listing.runs) == loaded)
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


def test_a_new_run_appears_and_the_selection_stays_with_its_run(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("j")
        add_run(schema_dsn, run_id(0xAAAA0000), minute=62, name="newer", status="ok", steps=1)
        await runs.until(lambda: len(runs.screen.listing.runs) == 4)
        assert runs.rows[2].startswith("   ok       newer")
        assert runs.rows[4].startswith("> ?died")
        await runs.until(lambda: runs.rows[0].startswith("stepwell  4 runs"))

    on_list(schema_dsn, act)


def test_follow_stays_at_the_newest_until_one_moves(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("j", "F")
        assert "newest first, following" in runs.rows[22]
        add_run(schema_dsn, run_id(0xAAAA0000), minute=62, name="newer", status="ok", steps=1)
        await runs.until(lambda: len(runs.screen.listing.runs) == 4)
        assert runs.rows[2].startswith(">  ok       newer")
        await runs.press("j")
        assert "newest first, live" in runs.rows[22]

    on_list(schema_dsn, act)


def test_what_becomes_of_a_run_is_seen_far_down_the_list_too(schema_dsn: str) -> None:
    fill_many(schema_dsn, 230)

    async def act(runs: Runs) -> None:
        await runs.press("G")
        await runs.until(lambda: len(runs.screen.listing.runs) == 200)
        await runs.press("G")
        run = runs.screen.listing.run
        assert run is not None
        with psycopg.connect(schema_dsn) as connection:
            connection.execute("UPDATE agent_runs SET status = 'failed' WHERE run_id = %s", [run.run_id])
        await runs.until(lambda: any(row.startswith("> !failed") for row in runs.rows))

    on_list(schema_dsn, act)


def test_a_run_that_was_deleted_leaves_the_list(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("j")
        with psycopg.connect(schema_dsn) as connection:
            connection.execute("DELETE FROM agent_runs WHERE run_id = %s", [DIED])
        await runs.until(lambda: len(runs.screen.listing.runs) == 2)
        assert runs.rows[3].startswith(">  ok       invoice-check")

    on_list(schema_dsn, act)


def test_ids_grow_until_they_tell_runs_apart(schema_dsn: str) -> None:
    for number in (0x7F3A1000, 0x7F3A1100):
        add_run(schema_dsn, run_id(number), name="twin", status="ok")

    async def act(runs: Runs) -> None:
        assert "7f3a11" in runs.rows[2]
        assert "7f3a10" in runs.rows[3]
        assert len(runs.rows[1].split("STEPS")[0]) == len(runs.rows[2].split("    0 ")[0])

    on_list(schema_dsn, act)


def test_y_copies_the_whole_id(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("y")
        assert str(WELL) not in runs.rows[22]
        assert runs.rows[22].startswith(("copied 36 characters: ", "the terminal has no clipboard"))
        assert str(LOOPING) in runs.rows[22]

    on_list(schema_dsn, act, (140, 24))


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
        await runs.pilot.pause()
        assert any(row.startswith(">  ok       agent-28") for row in runs.rows)

    on_list(schema_dsn, act)


def test_a_table_that_is_missing_is_told_with_its_remedy_and_found_when_it_is_there(dsn: str) -> None:
    app = runs_app(dsn)

    async def act(pilot: Pilot[object]) -> None:
        runs = Runs(app, pilot)
        await runs.until(lambda: runs.screen.listing.error)
        text = " ".join(" ".join(runs.rows).split())
        assert "no table agent_steps in database" in text
        assert "create it: stepwell init; example: stepwell demo" in text
        bare_table(dsn)
        add_step(dsn, run_id(0x7F3A0000), 1)
        await runs.press("ctrl+l")
        assert runs.screen.listing.error == ""
        assert runs.rows[2].startswith(">  unknown  -                  7f3a      1")

    drive(app, act)


def test_a_connection_that_was_lost_is_opened_again(schema_dsn: str, server: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        with psycopg.connect(server, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [psycopg.conninfo.conninfo_to_dict(schema_dsn)["dbname"]],
            )
        await runs.press("f")
        assert len(runs.screen.listing.runs) == 2
        assert runs.screen.listing.error == ""

    on_list(schema_dsn, act)


def test_nothing_is_left_in_a_transaction_and_no_connection_after_the_end(
    schema_dsn: str, server: str
) -> None:
    fill(schema_dsn)
    name = psycopg.conninfo.conninfo_to_dict(schema_dsn)["dbname"]

    def states() -> list[str]:
        with psycopg.connect(server) as other:
            found = other.execute(
                "SELECT state FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'",
                [name],
            )
            return [row[0] for row in found]

    async def act(runs: Runs) -> None:
        await runs.press("j", "f", "f")
        await runs.until(lambda: states() == ["idle"])

    on_list(schema_dsn, act)
    assert states() == []


def test_q_leaves_and_ctrl_c_does_not(schema_dsn: str) -> None:
    async def act(runs: Runs) -> None:
        await runs.press("ctrl+c")
        assert "nothing is running; q quits" in runs.rows
        await runs.press("q")

    assert on_list(schema_dsn, act).results == [None]


def test_ages_are_those_of_the_clock_that_it_is_given(schema_dsn: str) -> None:
    fill(schema_dsn)
    clock = [NOW]
    app = runs_app(schema_dsn, lambda: clock[0])

    async def act(pilot: Pilot[object]) -> None:
        runs = Runs(app, pilot)
        await runs.until(lambda: runs.screen.loaded)
        clock[0] = NOON + timedelta(days=3)
        await runs.press("j")
        assert "3 d" in runs.rows[4]
        assert "71 h" not in runs.rows[4]

    drive(app, act)


def test_opening_a_run_pauses_the_list_and_coming_back_looks_again(schema_dsn: str) -> None:
    fill(schema_dsn)

    async def act(runs: Runs) -> None:
        await runs.press("question_mark")
        assert runs.screen.lister.interval() is None
        add_run(schema_dsn, run_id(0xAAAA0000), minute=62, name="newer", status="ok", steps=1)
        await runs.press("q")
        await runs.until(lambda: len(runs.screen.listing.runs) == 4)

    on_list(schema_dsn, act)
