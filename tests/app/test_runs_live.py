"""The list of runs kept up to date: new, changed and deleted runs, and a database that comes and goes."""

from datetime import timedelta

import psycopg
import pytest
from textual.pilot import Pilot

import stepwell.app.lister
import stepwell.app.screens.listing
from stepwell.core.liveness import GLANCE_SECONDS
from tests.app.listed import (
    DIED,
    NOW,
    drive,
    fill,
    fill_many,
    runs_app,
)
from tests.app.listing_pilot import Runs, on_list
from tests.app.recorded import alive, live
from tests.replay.rows import bare_table
from tests.store.rows import NOON, add_run, add_step, run_id


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


def test_a_running_run_is_looked_after_however_seldom_the_list_is_read(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is where nothing has happened for a while."""
    live(schema_dsn)
    monkeypatch.setattr(stepwell.app.lister, "POLL_SECONDS", (3600.0,))

    async def act(runs: Runs) -> None:
        lister = runs.screen.lister
        assert "~running  poller" in runs.rows[2]
        assert lister.interval() == GLANCE_SECONDS
        recorder.close()
        await runs.until(lambda: "?died     poller" in runs.rows[2])
        assert lister.interval() == 3600

    with alive(schema_dsn) as recorder:
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


def test_where_steps_alone_are_slow_to_list_the_remedy_is_told(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stepwell.app.screens.listing, "SLOW_MS", 0)
    bare_table(dsn)
    add_step(dsn, run_id(1), 1)

    async def act(runs: Runs) -> None:
        assert " ms: steps alone are slow to list; stepwell init adds a table of runs" in runs.rows[-2]

    on_list(dsn, act)
