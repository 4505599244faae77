"""Runs that go on while they are looked at."""

import re

import psycopg
import pytest

import stepwell.app.mover
from stepwell.app.geometry import Pane
from tests.app.recorded import LIVE, alive, end, go_on, live
from tests.app.stepping import Debugging, debug


def test_new_steps_change_the_total_and_not_the_place(schema_dsn: str) -> None:
    """`LIVE +2 new` until one goes there."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            assert debugger.status.startswith("1/3+ 33% after  LIVE")
            for number in (4, 5):
                go_on(recorder, number)
            await debugger.until(lambda: "1/5+ 20% after  LIVE +2 new" in debugger.status)
            assert debugger.number == 1
            assert "     5 T poll" in debugger.text

        debug(schema_dsn, LIVE, act)


def test_follow_pins_the_tail_and_moving_back_leaves_it(schema_dsn: str) -> None:
    """F again lets go as well."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            await debugger.press("F")
            assert (debugger.number, debugger.view.follow) == (3, True)
            go_on(recorder, 4)
            await debugger.until(lambda: debugger.number == 4 and debugger.screen.settled)
            await debugger.press("p")
            assert (debugger.number, debugger.view.follow) == (3, False)
            go_on(recorder, 5)
            await debugger.until(lambda: "LIVE +1 new" in debugger.status)
            assert debugger.number == 3
            await debugger.press("FF")
            assert (debugger.number, debugger.view.follow) == (5, False)
            assert "no longer following" in debugger.status

        debug(schema_dsn, LIVE, act)


def test_going_to_the_tail_leaves_nothing_new(schema_dsn: str) -> None:
    """What has been seen is not new."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            go_on(recorder, 4)
            await debugger.until(lambda: "LIVE +1 new" in debugger.status)
            await debugger.press("G")
            assert "new" not in debugger.status

        debug(schema_dsn, LIVE, act)


def test_continue_stops_at_the_tail_and_offers_to_follow(schema_dsn: str) -> None:
    """There may be a hit yet."""
    live(schema_dsn)
    with alive(schema_dsn):

        async def act(debugger: Debugging) -> None:
            await debugger.press("bec")
            assert debugger.number == 3
            assert "no further hit so far; F follows; '' returns" in debugger.status

        debug(schema_dsn, LIVE, act)


def test_a_run_may_be_opened_before_its_first_step(schema_dsn: str) -> None:
    """Which then appears."""
    live(schema_dsn, steps=0)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            assert "no steps are recorded" in debugger.text
            go_on(recorder, 1)
            await debugger.until(
                lambda: "1/1+ 100% after  LIVE" in debugger.status and debugger.screen.settled
            )
            assert "turn  1" in debugger.text

        debug(schema_dsn, LIVE, act)


def test_a_step_that_finishes_while_it_is_looked_at_is_replayed(schema_dsn: str) -> None:
    """Its output appears by itself."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:
        recorder.execute(
            "UPDATE agent_steps SET output = NULL, finished_at = NULL, finished_order = NULL WHERE step_number = 3"
        )
        recorder.execute("UPDATE agent_runs SET finished = 2")

        async def act(debugger: Debugging) -> None:
            assert "still running" in debugger.text
            recorder.execute(
                "UPDATE agent_steps SET output = '\"the answer\"', finished_at = started_at, finished_order = 3"
                " WHERE step_number = 3"
            )
            recorder.execute("UPDATE agent_runs SET finished = 3")
            await debugger.until(lambda: '"the answer"' in debugger.text)

        debug(schema_dsn, LIVE, act, step=3)


def test_what_a_run_leaves_without_an_outcome_no_longer_runs_when_it_ends(schema_dsn: str) -> None:
    """The world on the screen was read before: what has finished since then did run at its moment."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:
        recorder.execute(
            "UPDATE agent_steps SET output = NULL, finished_at = NULL, finished_order = NULL WHERE step_number < 3"
        )
        recorder.execute("UPDATE agent_runs SET finished = 1")

        async def act(debugger: Debugging) -> None:
            assert "still running: 1, 2" in debugger.heading(Pane.STATE)
            recorder.execute(
                "UPDATE agent_steps SET output = '2', finished_at = started_at, finished_order = 4"
                " WHERE step_number = 2"
            )
            recorder.execute("UPDATE agent_runs SET finished = 2")
            end(recorder)
            await debugger.until(lambda: "; still running: 2; in doubt: 1," in debugger.heading(Pane.STATE))

        debug(schema_dsn, LIVE, act, step=3, size=(140, 40))


def test_a_run_that_ends_is_no_longer_live(schema_dsn: str) -> None:
    """The title says how it ended, the total loses its plus."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            await debugger.press("F")
            end(recorder)
            await debugger.until(lambda: "OK" in debugger.text.splitlines()[0])
            await debugger.settle()
            assert debugger.status.startswith("3/3 100% after")
            assert "LIVE" not in debugger.status
            await debugger.press("F")
            assert debugger.view.follow is False

        debug(schema_dsn, LIVE, act)


def test_a_run_whose_process_is_killed_is_seen_to_have_died(schema_dsn: str) -> None:
    """Its lock is gone with it."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            recorder.close()
            await debugger.until(lambda: "DIED" in debugger.text.splitlines()[0])

        debug(schema_dsn, LIVE, act)


def test_a_run_that_dies_is_told_at_once_however_seldom_it_is_read(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its title and the flag of the step that was under way."""
    live(schema_dsn)
    monkeypatch.setattr(stepwell.app.mover, "POLL_SECONDS", (3600.0,))
    with alive(schema_dsn) as recorder:
        recorder.execute(
            "UPDATE agent_steps SET output = NULL, finished_at = NULL, finished_order = NULL WHERE step_number = 3"
        )
        recorder.execute("UPDATE agent_runs SET finished = 2")

        async def act(debugger: Debugging) -> None:
            assert "RUNNING" in debugger.text.splitlines()[0]
            assert re.search(r"3 T poll .*~", debugger.text)
            recorder.close()
            await debugger.until(lambda: "DIED in doubt: poll" in debugger.text.splitlines()[0])
            assert re.search(r"3 T poll .*\?", debugger.text)

        debug(schema_dsn, LIVE, act)


def test_a_run_that_is_deleted_while_it_is_looked_at_is_told_to_be_gone(schema_dsn: str) -> None:
    """Live or not, at the next look or the next move."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            recorder.execute("DELETE FROM agent_steps")
            recorder.execute("DELETE FROM agent_runs")
            await debugger.until(lambda: "is gone: it was deleted from the database" in debugger.status)
            await debugger.pilot.press("n")
            await debugger.until(lambda: f"! run {str(LIVE)[:8]} is gone" in debugger.status)

        debug(schema_dsn, LIVE, act)


def test_a_look_at_a_live_run_leaves_nothing_open(schema_dsn: str) -> None:
    """Not a transaction, not a lock, between two looks; and no connection after the end."""
    live(schema_dsn)
    count = (
        "SELECT count(*), count(*) FILTER (WHERE state <> 'idle') FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'stepwell'"
    )
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            await debugger.until(lambda: recorder.execute(count).fetchone() == (1, 0))
            go_on(recorder, 4)
            await debugger.until(lambda: "+1 new" in debugger.status)
            await debugger.until(lambda: recorder.execute(count).fetchone() == (1, 0))

        debug(schema_dsn, LIVE, act)
    with psycopg.connect(schema_dsn) as connection:
        assert connection.execute(count).fetchone() == (0, 0)
