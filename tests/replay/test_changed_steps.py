"""Which steps of a run changed watched tables: the agent's own writes, those of others, and of steps that overlap."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell.core.changed import ChangedSteps
from stepwell.core.past import Certainty
from stepwell.replay import Replayer
from stepwell.store import written
from stepwell.store.connect import resolve
from stepwell.store.watching import watch
from tests.replay.rows import RUN, add_step, bare_table
from tests.replay.test_replayer import replaying

SET = "UPDATE orders SET note = %s WHERE id = 1"
ELSEWHERE = "import psycopg, sys; psycopg.connect(sys.argv[1], autocommit=True).execute(sys.argv[2])"


@pytest.fixture
def agent(schema_dsn: str) -> Iterator[psycopg.Connection]:
    """The agent's own connection to a database with a watched table."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        connection.execute("INSERT INTO orders VALUES (1, 'new')")
        watch(connection, "orders")
        yield connection


def told(dsn: str, run: UUID) -> ChangedSteps:
    with closing(Replayer(resolve(dsn), run)) as replayer:
        found = replayer.changed_steps()
        for number in found.numbers:  # as the step itself tells it
            assert sum(table.count for table in replayer.changes(number).tables) > 0
        return found


def elsewhere(dsn: str, statement: str) -> None:
    """Run a statement in another process."""
    subprocess.run([sys.executable, "-c", ELSEWHERE, dsn, statement], check=True, timeout=30)


def test_own_writes_and_those_of_another_process_and_none_that_fell_between_steps(
    schema_dsn: str, agent: psycopg.Connection
) -> None:
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run() as run:
        own = run.named(connection=agent)
        run.tool(len, "1: nothing")
        own.tool(agent.execute, SET, ["2"])
        agent.execute(SET, ["between"])
        run.tool(len, "3: nothing")
        run.tool(elsewhere, schema_dsn, "DELETE FROM orders; INSERT INTO orders VALUES (1, 'late')")
        with agent.transaction():
            own.tool(agent.execute, SET, ["5"])
            own.tool(agent.execute, "SELECT 6")
            agent.execute(SET, ["still between"])
            own.tool(agent.execute, SET, ["7"])
            run.tool(len, "8: not committed")
        with agent.transaction(force_rollback=True):
            own.tool(agent.execute, SET, ["9: rolled back"])
    found = told(schema_dsn, run.run_id)
    assert (found.numbers, found.told, found.partly) == ((2, 4, 5, 7), 9, False)


def test_of_steps_that_overlap_each_that_saw_a_write_come(schema_dsn: str, agent: psycopg.Connection) -> None:
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run() as run, run.step("tool_call", "1: around"):
        with run.step("tool_call", "2: before it"):
            pass
        with run.step("tool_call", "3: during it"):
            agent.execute(SET, ["now"])
        with run.step("tool_call", "4: after it"):
            pass
    assert told(schema_dsn, run.run_id).numbers == (1, 3)


def test_what_is_not_known_or_was_not_looked_at_is_told(
    schema_dsn: str, agent: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run() as run:
        for note in "12":
            run.tool(agent.execute, SET, [note])
        agent.execute("CREATE TABLE late (id int PRIMARY KEY)")
        assert told(schema_dsn, run.run_id).partly is False
        watch(agent, "late")
        run.tool(agent.execute, "INSERT INTO late VALUES (1)")
    found = told(schema_dsn, run.run_id)
    assert (found.numbers, found.partly) == ((1, 2, 3), True)
    monkeypatch.setattr(written, "MOST_TRANSACTIONS", 1)
    assert told(schema_dsn, run.run_id).numbers == (1, 3)
    agent.execute("DROP TABLE orders, late")
    gone = told(schema_dsn, run.run_id)
    assert gone.numbers == ()
    assert {table.verdict.certainty for table in gone.tables} == {Certainty.UNKNOWN}


def test_of_much_that_one_transaction_of_the_agents_wrote_not_all_is_looked_at_and_it_says_so(
    schema_dsn: str, agent: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = stepwell.Recorder(schema_dsn)
    with recorder, recorder.run() as run, agent.transaction():
        for note in "12":
            run.named(connection=agent).tool(agent.execute, SET, [note])
    for most, partly in ((2, False), (1, True)):
        monkeypatch.setattr(written, "MOST_TRANSACTIONS", most)
        assert told(schema_dsn, run.run_id).partly is partly


def test_without_watched_tables_or_without_snapshots_there_are_none(schema_dsn: str) -> None:
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run() as run:
        run.tool(len, "a")
    assert told(schema_dsn, run.run_id) == ChangedSteps((), (), 1)
    add_step(schema_dsn, 1, "tool_call", output=1)
    assert told(schema_dsn, RUN) == ChangedSteps((), (), 0)


def test_a_table_of_steps_made_by_hand_knows_of_none(dsn: str) -> None:
    """Also where columns of these names hold something else."""
    bare_table(dsn)
    add_step(dsn, 1, "tool_call", output=1)
    with replaying(dsn) as replayer:
        assert replayer.changed_steps() == ChangedSteps((), (), 0)
        with psycopg.connect(dsn) as owner:
            owner.execute("ALTER TABLE agent_steps ADD snapshot_before text, ADD snapshot_after text")
            owner.execute("UPDATE agent_steps SET snapshot_before = 'a.jpg', snapshot_after = 'b.jpg'")
            owner.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        with psycopg.connect(dsn, autocommit=True) as owner:
            watch(owner, "orders")
        assert replayer.changed_steps().told == 0
        (found,) = replayer.changes(1).tables
        assert found.table.verdict.why == "this step was recorded without a snapshot"
