"""Which moment of the database a step's world is of, as far as its row tells."""

from typing import Any

import psycopg
import pytest

from stepwell import Recorder
from stepwell.core.past import Instant, Origin
from stepwell.core.world import Moment
from stepwell.store.migrate import applied, migrate
from tests.replay.rows import RUN, add_step, bare_table
from tests.replay.test_replayer import replaying

NEW = {
    "agent_steps": "snapshot_before snapshot_after own_before own_after position_before position_after backend",
    "agent_runs": "system_identifier timeline snapshot",
}


def test_a_world_is_of_before_its_step_was_made_or_of_after_it(schema_dsn: str) -> None:
    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        run.tool(len, "a")
        with run.step("tool_call", "under way"), replaying(schema_dsn, run.run_id) as replayer:
            done, asked = replayer.at(1), replayer.at(1, Moment.ASKED)
            doubtful = replayer.at(2)
    assert done.before is not None
    assert done.after is not None
    assert done.before.snapshot != done.after.snapshot
    assert (done.instant, asked.instant) == (done.after, done.before)
    assert (doubtful.instant, doubtful.after) == (doubtful.before, None)
    assert doubtful.before is not None


def test_it_has_the_transaction_of_the_agents_own_connection(schema_dsn: str) -> None:
    with Recorder(schema_dsn) as recorder, recorder.run() as run, psycopg.connect(schema_dsn) as own:
        own.execute("CREATE TABLE orders (id int)")
        own.commit()
        run.named(connection=own).tool(own.execute, "INSERT INTO orders VALUES (1)")
        (xid,) = own.execute("SELECT pg_current_xact_id()::text").fetchall()
        with replaying(schema_dsn, run.run_id) as replayer:
            world = replayer.at(1)
    before, after = world.before, world.after
    assert before is not None
    assert after is not None
    pid = before.backend
    assert before == Instant(before.snapshot, None, None, pid)
    assert after == Instant(after.snapshot, int(xid[0]), 0, pid)
    assert pid is not None


@pytest.mark.parametrize("where", ["by id", "newest"])
def test_a_run_knows_which_server_its_instants_are_of(schema_dsn: str, where: str) -> None:
    from stepwell.replay.runs import Runs
    from stepwell.store.connect import resolve

    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        run.tool(len, "a")
    with psycopg.connect(schema_dsn) as connection:
        told = connection.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
    assert told is not None
    runs = Runs(resolve(schema_dsn))
    found = runs.find(str(run.run_id) if where == "by id" else "@last")
    runs.close()
    assert found.origin == Origin(told[0], 1)


@pytest.mark.parametrize("schema", ["eight columns", "version 6", "columns of other meanings"])
def test_older_tables_open_and_step_without_instants(dsn: str, schema: str) -> None:
    if schema == "version 6":
        older(dsn)
    else:
        bare_table(dsn)
    columns: dict[str, Any] = {}
    if schema == "columns of other meanings":
        with psycopg.connect(dsn) as connection:
            connection.execute("ALTER TABLE agent_steps ADD backend text, ADD position_before text")
        columns = {"backend": "openai", "position_before": "left"}
    add_step(dsn, 1, "tool_call", input={"q": 1}, output="hi", **columns)
    with replaying(dsn) as replayer:
        world, run = replayer.at(1), replayer.run()
    assert (world.before, world.after, world.instant, run.origin) == (None, None, None, None)
    assert run.run_id == RUN


def older(dsn: str) -> None:
    """The schema before there were snapshots, with a row for the run."""
    migrate(dsn)
    with psycopg.connect(dsn) as connection:
        for table, columns in NEW.items():
            for column in columns.split():
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("DELETE FROM stepwell_migrations WHERE version > 6")
        connection.execute("INSERT INTO agent_runs (run_id, steps, finished) VALUES (%s, 1, 1)", (RUN,))
        assert max(applied(connection)) == 6
