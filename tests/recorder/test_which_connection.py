"""Which of the agent's connections are asked what they see, and which tell nothing of the database recorded to."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from stepwell import Recorder, UsageError
from tests.pooler import pooler
from tests.recorder.conftest import Look
from tests.recorder.test_failures import Observer
from tests.recorder.test_own_connection import IDLE, owned, xid_of
from tests.recorder.test_snapshots import World, snapshots


@pytest.fixture
def world(connection: Observer) -> World:
    return World(connection)


def wrapped(own: Connection[Any]) -> object:
    """As SQLAlchemy's connection leads to the driver's."""
    return SimpleNamespace(connection=SimpleNamespace(driver_connection=own, connection=None))


class Refusing:
    """One that was closed."""

    @property
    def connection(self) -> object:
        raise RuntimeError("This Connection is closed")


def test_what_leads_to_a_connection_is_as_good(recorder: Recorder, own: Connection[Any], steps: Look) -> None:
    opened_when_used = SimpleNamespace(connection=None)  # as Django's
    with recorder.run() as run:
        run.named(connection=wrapped(own)).tool(len, "a")
        run.named(connection=SimpleNamespace(connection=own)).tool(len, "a")
        run.named(connection=Refusing()).tool(len, "a")
        late = run.named(connection=opened_when_used)
        late.tool(setattr, opened_when_used, "connection", own)
        late.tool(len, "a")
    pid = own.info.backend_pid
    rows = steps(run.run_id)
    assert [row["backend"] for row in rows] == [pid, pid, None, pid, pid]
    assert [row["position_before"] for row in rows] == [0, 0, None, None, 0]


def test_one_that_is_another_after_the_call_is_told_as_no_backend(
    recorder: Recorder, own: Connection[Any], steps: Look
) -> None:
    """Nobody could say then which of the writes were the agent's."""
    reopened = SimpleNamespace(connection=own)
    with psycopg.connect(own.info.dsn) as other, recorder.run() as run:
        run.named(connection=reopened).tool(setattr, reopened, "connection", other)
    (row,) = steps(run.run_id)
    assert owned(row) == [None, 0, None, 0, None]


@pytest.mark.parametrize("given", ["postgres:///", SimpleNamespace(connection=lambda: None), 7])
def test_anything_else_is_refused_before_a_step_is_taken(
    recorder: Recorder, steps: Look, given: object
) -> None:
    with recorder.run() as run:
        with pytest.raises(
            UsageError, match=r"^connection is a psycopg connection, or leads to one, not \w+$"
        ):
            run.named(connection=given)
        with pytest.raises(UsageError):
            run.step("tool_call", connection=given)
    assert steps(run.run_id) == []


def test_one_to_another_database_or_to_a_standby_says_nothing_of_this_one(
    recorder: Recorder, steps: Look, world: World, server: str, request: pytest.FixtureRequest
) -> None:
    elsewhere = [server]
    if request.config.getoption("--dsn") is None:
        elsewhere.append(request.getfixturevalue("standby_dsn"))
    with recorder.run() as run:
        for dsn in elsewhere:
            with psycopg.connect(dsn) as own:
                run.named(connection=own).tool(world.change)
                own.execute("SELECT 1")
                run.named(connection=own).tool(world.change)
    for row in steps(run.run_id):
        assert world.saw(row, row["got"]) == ("n", "y")
        assert owned(row) == [None] * 5


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_one_behind_a_pooler_is_not_asked(
    schema_dsn: str, short_folder: Path, recorder: Recorder, own: Connection[Any], steps: Look, mode: str
) -> None:
    assert own.info.transaction_status == IDLE
    with (
        pooler(schema_dsn, short_folder, mode=mode) as pooled,
        psycopg.connect(pooled) as mine,
        recorder.run() as run,
    ):
        run.named(connection=mine).tool(len, "a")
        mine.execute("INSERT INTO orders VALUES (1)")
        run.named(connection=mine).tool(mine.execute, "INSERT INTO orders VALUES (2)")
        mine.commit()
    for row in steps(run.run_id):
        assert None not in snapshots(row)
        assert owned(row) == [None] * 5


def test_in_a_forked_child_the_parents_connection_is_left_alone(
    recorder: Recorder, own: Connection[Any], steps: Look
) -> None:
    own.execute("INSERT INTO orders VALUES (1)")
    with recorder.run() as run:
        mine = run.named(connection=own)
        if (child := os.fork()) == 0:
            mine.tool(len, "a")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        mine.tool(len, "ab")
    own.commit()
    assert [row["backend"] for row in steps(run.run_id)] == [None, own.info.backend_pid]


def test_roles_may_do_nothing_but_their_own_work(
    schema_dsn: str, connection: Observer, own: Connection[Any], steps: Look
) -> None:
    """Of the agent's and of the recorder's connection."""
    for role in ("stepwell_test_recorder", "stepwell_test_agent"):
        connection.execute(
            f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN END $$"
        )
    connection.execute("GRANT SELECT, INSERT, UPDATE ON agent_steps, agent_runs TO stepwell_test_recorder")
    connection.execute("GRANT ALL ON orders TO stepwell_test_agent")
    assert own.info.transaction_status == IDLE
    with (
        Recorder(f"{schema_dsn} user=stepwell_test_recorder") as recorder,
        psycopg.connect(f"{schema_dsn} user=stepwell_test_agent") as mine,
        recorder.run() as run,
    ):
        run.named(connection=mine).tool(mine.execute, "INSERT INTO orders VALUES (1)")
        run.named(connection=mine).tool(mine.execute, "SET stepwell.written = 'anything'")
        xid, pid = xid_of(mine), mine.info.backend_pid
    one, two = steps(run.run_id)
    assert owned(one) == [None, 0, xid, 0, pid]
    assert owned(two) == [xid, 0, xid, 0, pid]
