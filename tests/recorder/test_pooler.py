"""Recording through a real PgBouncer in transaction mode: no session is the recorder's own."""

import os
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell import Recorder, Run
from stepwell.core.liveness import ALIVE_SECONDS, HEARTBEAT_SECONDS
from stepwell.recorder import batches, link
from stepwell.recorder.intents import StartStep
from stepwell.recorder.outcomes import Outcomes
from stepwell.store import writing
from stepwell.store.rows import Start
from tests.pooler import pooler
from tests.recorder.test_failures import Observer, in_threads, kill_recorders


@pytest.fixture
def pooled(schema_dsn: str, short_folder: Path) -> Iterator[str]:
    """The database behind a pooler that has fewer connections than the tests have recorders."""
    with pooler(schema_dsn, short_folder) as dsn:
        yield dsn


def locks(connection: Observer) -> int:
    found = connection.execute(
        "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    ).fetchone()
    assert found is not None
    return int(found["n"])


def beats(connection: Observer, *runs: Run) -> list[datetime | None]:
    """The heartbeats of the runs."""
    look = "SELECT heartbeat FROM agent_runs WHERE run_id = %s"
    return [row["heartbeat"] for run in runs for row in connection.execute(look, (run.run_id,))]


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_more_recorders_than_the_pool_has_connections_share_it(
    schema_dsn: str, short_folder: Path, connection: Observer, steps: Any, run_row: Any, mode: str
) -> None:
    size = 2 if mode == "transaction" else 4
    with pooler(schema_dsn, short_folder, size=size, mode=mode) as pooled:
        recorders = [Recorder(pooled) for _ in range(4)]
        runs = [recorder.start(f"run {n}") for n, recorder in enumerate(recorders)]
        shared = [recorders[0].start("shared")]
        shared += [recorder.resume(shared[0].run_id) for recorder in recorders[1:]]
        assert locks(connection) == 0

        def work(n: int) -> None:
            for lap in range(5):
                assert runs[n].tool(str, [n, lap]) == str([n, lap])
                shared[n].agent(str(n)).tool(str, [n, lap])
                shared[n].agent(str(n)).state({"lap": lap, "of": n})

        assert in_threads(*[lambda n=n: work(n) for n in range(4) for _ in range(3)]) == [None] * 12
        for run in [*runs, shared[0]]:
            run.finish()
        for recorder in recorders:
            recorder.close()
    for run in runs:
        assert [row["finished_order"] is not None for row in steps(run.run_id)] == [True] * 15
        assert run_row(run.run_id)["status"] == "ok"
    rows = steps(shared[0].run_id)
    assert [row["step_number"] for row in rows] == list(range(1, 121))
    assert sorted(row["finished_order"] for row in rows) == list(range(1, 121))


def test_settings_hold_for_the_transaction_and_no_longer(
    schema_dsn: str, short_folder: Path, steps: Any
) -> None:
    with psycopg.connect(schema_dsn, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {admin.info.dbname} SET synchronous_commit = 'on'")
        admin.execute(
            "ALTER TABLE agent_steps ADD COLUMN said text DEFAULT"
            " current_setting('synchronous_commit') || ' ' || current_setting('lock_timeout')"
        )
    with pooler(schema_dsn, short_folder, size=1) as pooled:
        with Recorder(pooled, durability="async") as recorder, recorder.run() as run:
            run.tool(len, "ab")
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as other:
            now = other.execute(
                "SELECT current_setting('synchronous_commit'), current_setting('lock_timeout')"
            )
            assert now.fetchone() == ("on", "0")
    assert steps(run.run_id)[0]["said"] == "off 30s"


def test_a_heart_beats_while_the_agent_is_busy_elsewhere(pooled: str, connection: Observer) -> None:
    with Recorder(pooled) as recorder, Recorder(pooled) as idle:
        run, other = recorder.start(), idle.start()
        deadline = time.monotonic() + 30
        with run.step("tool_call", "slow"):
            before = beats(connection, run, other)
            assert None not in before
            while set(before) & set(beats(connection, run, other)):  # both go on, with nothing recorded
                assert time.monotonic() < deadline
                time.sleep(0.05)
    assert HEARTBEAT_SECONDS * 2 < ALIVE_SECONDS


def test_a_recorder_of_its_own_connection_has_no_heartbeat(recorder: Recorder, run_row: Any) -> None:
    with recorder.run() as run:
        run.tool(len, "ab")
        assert run_row(run.run_id)["heartbeat"] is None


def test_lost_sessions_behind_the_pooler_lose_and_double_nothing(
    pooled: str, connection: Observer, steps: Any
) -> None:
    with Recorder(pooled) as recorder, recorder.run() as run:
        stop = threading.Event()

        def kill() -> None:
            while not stop.wait(0.05):
                kill_recorders(connection)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            outcomes = in_threads(
                *[lambda n=n: [run.tool(str, (n, lap)) for lap in range(30)] for n in range(4)]
            )
        finally:
            stop.set()
            killer.join()
    assert outcomes == [[str((n, lap)) for lap in range(30)] for n in range(4)]
    rows = steps(run.run_id)
    assert [row["step_number"] for row in rows] == list(range(1, 121))
    assert sorted(str(row["got"]) for row in rows) == sorted(
        str((n, lap)) for n in range(4) for lap in range(30)
    )


def writing_connection(dsn: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(dsn, autocommit=True)
    writing.prepare(connection, durable=True)
    return connection


def test_a_commit_that_is_still_under_way_at_a_lost_session_is_waited_for(
    pooled: str, schema_dsn: str, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's connection is gone, the server goes on with what it was sent."""
    write = batches.write
    late: list[threading.Timer] = []

    def breaking(connected: Any, intents: Any, *given: Any) -> Any:
        if not late and any(isinstance(intent, StartStep) for intent in intents):
            server = writing_connection(schema_dsn)
            server.execute("BEGIN")
            write(server, [StartStep(intent.row) for intent in intents], {}, Outcomes(lazy=False))

            def commit() -> None:
                server.execute("COMMIT")
                server.close()

            late.append(threading.Timer(0.3, commit))
            late[0].start()
            connected.close()
        return write(connected, intents, *given)

    with Recorder(pooled) as recorder, recorder.run() as run:
        monkeypatch.setattr(link, "write", breaking)
        assert run.tool(str, 1) == "1"
        assert run.tool(str, 2) == "2"
    late[0].join()
    assert [(row["step_number"], row["got"]) for row in steps(run.run_id)] == [(1, "1"), (2, "2")]


@pytest.mark.parametrize("after", [False, True])
def test_what_arrives_late_from_a_lost_session_is_not_recorded_twice(
    pooled: str, schema_dsn: str, steps: Any, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    """It waits in the pooler while the recorder looks, and comes before or after what is sent again."""
    write = batches.write
    rows: list[Start] = []

    def arrive() -> None:
        with writing_connection(schema_dsn) as server:
            writing.start_step(server, rows[0])

    def breaking(connected: Any, intents: Any, *given: Any) -> Any:
        starts = [intent for intent in intents if isinstance(intent, StartStep)]
        if starts and not rows:
            rows.append(starts[0].row._replace(known=0))  # as it was sent
            connected.close()
        elif starts and len(rows) == 1 and not after:
            arrive()
            rows.append(starts[0].row)
        return write(connected, intents, *given)

    with Recorder(pooled) as recorder, recorder.run() as run:
        monkeypatch.setattr(link, "write", breaking)
        assert run.tool(str, 1) == "1"
        if after:
            arrive()
    assert [(row["step_number"], row["got"]) for row in steps(run.run_id)] == [(1, "1")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_records_behind_the_pooler_too(pooled: str, steps: Any) -> None:
    with Recorder(pooled) as recorder, recorder.run() as run:
        run.tool(str, 1)
        child = os.fork()
        if child == 0:
            run.tool(str, 2)
            recorder.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        run.tool(str, 3)
    assert [row["got"] for row in steps(run.run_id)] == ["1", "2", "3"]
