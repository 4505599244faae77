"""Outcomes go to the server's disk with the next intent; should the server fail before, they are committed again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from stepwell import Recorder, Run
from stepwell.recorder import outcomes
from stepwell.store import writing
from tests.pooler import pooler
from tests.recorder.conftest import steps_of
from tests.recorder.servers import Server
from tests.recorder.spools import until_in_database

LAZY = {"wal_writer_delay": "10s", "synchronous_commit": "on"}
"""A server that writes nothing to its disk unless somebody waits for it."""


@pytest.fixture(scope="module")
def made(short_folder: Path) -> Iterator[Server]:
    server = Server(short_folder, "forgetful")
    server.make()
    server.stop()
    yield server
    server.remove()


@pytest.fixture
def server(made: Server) -> Iterator[Server]:
    made.start(**LAZY)
    yield made
    made.stop()


def crash(server: Server) -> None:
    server.stop()
    server.start(**LAZY)


def got(server: Server, run_id: UUID) -> list[object]:
    """What is there of the outcomes of the run's steps."""
    with psycopg.connect(server.dsn, row_factory=dict_row) as connection:
        return [row["got"] for row in steps_of(connection, run_id)]


def test_an_outcome_that_the_server_forgot_is_committed_again_with_the_next_step(server: Server) -> None:
    with Recorder(server.dsn) as recorder, recorder.run() as run:
        run.tool(str, 1)
        run.tool(str, 2)
        assert got(server, run.run_id) == ["1", "2"]
        crash(server)
        assert got(server, run.run_id) == ["1", None], "the server had it on its disk; nothing is shown here"
        run.tool(str, 3)
        assert got(server, run.run_id) == ["1", "2", "3"]
    with psycopg.connect(server.dsn, row_factory=dict_row) as connection:
        rows = steps_of(connection, run.run_id)
        assert [row["finished_order"] for row in rows] == [1, 2, 3]
        counted = "SELECT status, steps, finished FROM agent_runs WHERE run_id = %s"
        ended = connection.execute(counted, (run.run_id,)).fetchone()
    assert ended == {"status": "ok", "steps": 3, "finished": 3}


def test_an_outcome_that_the_server_forgot_is_committed_again_with_the_end(server: Server) -> None:
    with Recorder(server.dsn) as recorder, recorder.run() as run:
        run.tool(str, 1)
        crash(server)
    assert got(server, run.run_id) == ["1"]


def test_the_end_of_a_run_takes_its_outcomes_to_the_disk(server: Server) -> None:
    with Recorder(server.dsn) as recorder, recorder.run() as run:
        run.tool(str, 1)
    crash(server)
    assert got(server, run.run_id) == ["1"]


def test_with_sync_every_outcome_is_on_the_disk_at_once(server: Server) -> None:
    with Recorder(server.dsn, durability="sync") as recorder:
        run = recorder.start()
        run.tool(str, 1)
        crash(server)
        assert got(server, run.run_id) == ["1"]
        run.finish()


def test_outcomes_of_several_callers_that_the_server_forgot_are_all_committed_again(server: Server) -> None:
    with Recorder(server.dsn) as recorder, recorder.run() as run:
        steps = [run.agent(str(n)).step("tool_call", "nest", n) for n in range(4)]
        for step in steps:
            step.__enter__()
        for n, step in enumerate(reversed(steps)):
            step.output = n
            step.__exit__(None, None, None)
        crash(server)
        assert got(server, run.run_id) == [None] * 4
        run.tool(str, 1)
        assert got(server, run.run_id) == [3, 2, 1, 0, "1"]


@pytest.mark.usefixtures("quick")
def test_what_the_server_forgot_goes_to_the_file_while_there_is_no_server(server: Server) -> None:
    with Recorder(server.dsn, on_failure="spool") as recorder, recorder.run() as run:
        run.tool(str, 1)
        server.stop()
        run.tool(str, 2)
        server.start(**LAZY)
        assert got(server, run.run_id) in ([None], ["1", "2"])
        until_in_database()
        assert got(server, run.run_id) == ["1", "2"]


def test_an_outcome_too_large_to_be_kept_waits_for_the_disk(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "MOST_BYTES", 100)
    with Recorder(server.dsn) as recorder:
        run = recorder.start()
        run.tool(str, "x" * 200)
        crash(server)
        assert got(server, run.run_id) == ["x" * 200]
        run.finish()


def test_behind_a_pooler_every_outcome_is_on_the_disk_at_once(server: Server, short_folder: Path) -> None:
    """Its clients would not notice that the server has forgotten something."""
    with (
        pooler(server.dsn, short_folder, size=3, server_login_retry=0.1) as pooled,
        Recorder(pooled) as recorder,
    ):
        run = recorder.start()
        run.tool(str, 1)
        crash(server)
        assert got(server, run.run_id) == ["1"]
        run.finish()


def test_an_outcome_that_a_server_refused_since_it_is_read_only_now_goes_to_the_next_as_a_new_one(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection lasts when a primary has become a standby."""
    finish_step = writing.finish_step
    refused: list[int] = []

    def refusing(*given: Any, **options: Any) -> bool:
        if len(refused) < 2:  # of the caller, and of the writer's thread
            refused.append(1)
            raise psycopg.errors.ReadOnlySqlTransaction("cannot execute UPDATE in a read-only transaction")
        return finish_step(*given, **options)

    monkeypatch.setattr(writing, "finish_step", refusing)
    with Recorder(server.dsn) as recorder, recorder.run() as run:
        assert run.tool(str, 1) == "1"
    assert refused == [1, 1]
    assert got(server, run.run_id) == ["1"]


def test_an_outcome_that_cannot_be_committed_again_is_told_and_does_not_stop_the_others(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with Recorder(server.dsn) as recorder, recorder.run() as run:
        run.tool(str, 1)
        crash(server)
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("ALTER TABLE agent_steps ADD CONSTRAINT none CHECK (output IS NULL) NOT VALID")
            try:
                with run.step("tool_call", "other", 2):
                    assert [row["got"] for row in _rows(server, run)] == [None, None]
                    connection.execute("ALTER TABLE agent_steps DROP CONSTRAINT none")
            finally:
                connection.execute("ALTER TABLE agent_steps DROP CONSTRAINT IF EXISTS none")
    assert f"the outcome of step 1 of run {run.run_id} was not recorded" in caplog.text


def _rows(server: Server, run: Run) -> list[dict[str, Any]]:
    with psycopg.connect(server.dsn, row_factory=dict_row) as connection:
        return steps_of(connection, run.run_id)
