"""Whole runs are deleted, a batch at a time, and never one that is alive; nobody waits for it or for whom it waits."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell.core.liveness import lock_key
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.replay import Replayer
from stepwell.store import pruning
from stepwell.store.connect import connect, resolve
from stepwell.store.pruning import Pruned
from tests.store.rows import add_run, add_step, run_id
from tests.store.test_roles import grant_roles, login, refused

DAY = timedelta(days=1)
numbers = count(1)


def run(dsn: str, *, days: float = 0, steps: int = 1, **columns: object) -> UUID:
    """A run that began and ended so many days ago, and its steps; its id."""
    when = datetime.now(UTC) - timedelta(days=days)
    ended = when if columns.get("status", "ok") in ("ok", "failed") else None
    row: dict[str, Any] = {"status": "ok", "steps": steps, "finished": steps, "finished_at": ended, **columns}
    made = add_run(dsn, run_id(next(numbers)), started_at=when, **row)
    for number in range(1, steps + 1):
        add_step(dsn, made, number, started_at=when, created_at=when)
    return made


def left(dsn: str) -> set[UUID]:
    """The runs that are there; each with all its steps, and no steps without their run."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "SELECT coalesce(r.run_id, s.run_id), r.steps, s.steps FROM agent_runs AS r"
            " FULL JOIN (SELECT run_id, count(*) AS steps FROM agent_steps GROUP BY run_id) AS s USING (run_id)"
        ).fetchall()
    assert all(steps == there for _, steps, there in rows)
    return {run_id for run_id, *_ in rows}


def prune(dsn: str, older: timedelta | None = None) -> list[Pruned]:
    """What each transaction deleted; all together what was counted before."""
    with connect(resolve(dsn)) as connection:
        counted, runs = pruning.prunable(connection, older)
        done = list(pruning.prune(connection, older))
    assert sum(done, Pruned()) == counted
    assert len({run.run_id for run in runs} - left(dsn)) == counted.runs == len(runs)
    return done


@contextmanager
def recorder_of(dsn: str, run_id: UUID) -> Iterator[None]:
    """Somebody who has the run open."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock_shared(%s)", [lock_key(run_id)])
        yield


def test_runs_that_are_marked_as_not_worth_keeping_go_and_no_others(schema_dsn: str) -> None:
    run(schema_dsn, keep="", steps=3)
    run(schema_dsn, keep="", status="failed", days=9)
    stays = {
        run(schema_dsn, keep="failed"),
        run(schema_dsn, keep=None, days=900),
        run(schema_dsn, keep="", status="running"),
        run(schema_dsn, keep="", status=None),
    }
    assert prune(schema_dsn) == [Pruned(2, 4)]
    assert left(schema_dsn) == stays
    assert prune(schema_dsn) == []


def test_all_that_ended_or_died_long_ago_go_where_an_age_is_given(schema_dsn: str) -> None:
    run(schema_dsn, days=2, steps=2)
    run(schema_dsn, days=2, keep="asked for", status="failed")
    run(schema_dsn, days=2, status="running")
    run(schema_dsn, days=2, status="running", heartbeat="2020-01-01")
    run(schema_dsn, days=2, status=None, source="recording")
    alive = run(schema_dsn, days=2, status="running")
    slow = run(schema_dsn, days=2, status="running")
    add_step(schema_dsn, slow, 2)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("UPDATE agent_runs SET steps = 2 WHERE run_id = %s", [slow])
    stays = {
        alive,
        slow,
        run(schema_dsn, days=0.5, keep=""),
        run(schema_dsn, days=0.5, status="running"),
        run(schema_dsn, days=2, status="running", heartbeat="now"),
        run(schema_dsn, days=2, status=None),
        run(schema_dsn, days=2, finished_at="now"),
    }
    with recorder_of(schema_dsn, alive):
        assert prune(schema_dsn, DAY) == [Pruned(5, 6)]
        assert left(schema_dsn) == stays
    assert prune(schema_dsn, DAY) == [Pruned(1, 1)]


def test_a_transaction_deletes_so_much_and_a_run_is_never_torn_apart(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "MOST_RUNS", 3)
    monkeypatch.setattr(pruning, "MOST_STEPS", 5)
    for day, steps in enumerate((2, 2, 2, 9, 1, 1, 1, 1, 0)):
        run(schema_dsn, keep="", days=20 - day, steps=steps)
    done = prune(schema_dsn)
    assert [(batch.runs, batch.steps) for batch in done] == [(2, 4), (1, 2), (1, 9), (3, 3), (2, 1)]
    assert left(schema_dsn) == set()


def test_runs_whose_rows_are_locked_are_left_for_the_next_time(schema_dsn: str) -> None:
    busy, free = run(schema_dsn, keep=""), run(schema_dsn, keep="")
    with psycopg.connect(schema_dsn) as other, connect(resolve(schema_dsn)) as connection:
        other.execute("SELECT FROM agent_runs WHERE run_id = %s FOR NO KEY UPDATE", [busy])
        assert list(pruning.prune(connection)) == [Pruned(1, 1)]
        other.rollback()
    assert free not in left(schema_dsn)
    assert prune(schema_dsn) == [Pruned(1, 1)]


def test_a_run_that_is_taken_for_deletion_cannot_come_to_life_meanwhile(schema_dsn: str) -> None:
    """Neither may take the lock while the other has it."""
    dying = run(schema_dsn, days=2, status="running")
    lock = "SELECT pg_try_advisory_lock_shared(%s)", [lock_key(dying)]
    with connect(resolve(schema_dsn)) as connection, psycopg.connect(schema_dsn, autocommit=True) as other:
        with connection.transaction():
            ((taken, _, free, _),) = pruning._take(connection, DAY, None)
            assert (taken, free) == (dying, True)
            assert other.execute(*lock).fetchone() == (False,)
        assert other.execute(*lock).fetchone() == (True,)
        assert list(pruning.prune(connection, DAY)) == []
    assert left(schema_dsn) == {dying}


def test_a_run_that_was_pruned_cannot_be_resumed_nor_stepped_through(schema_dsn: str) -> None:
    with stepwell.Recorder(schema_dsn, keep=lambda _: "") as recorder:
        with recorder.run("r") as gone:
            gone.tool(len, "abc")
        replayer = Replayer(resolve(schema_dsn), gone.run_id)
        assert replayer.at(1).payload.output == "3"
        assert prune(schema_dsn) == [Pruned(1, 1)]
        with pytest.raises(NotFoundError, match="no run"):
            recorder.resume(gone.run_id)
        with pytest.raises(NotFoundError, match="is gone: it was deleted from the database"):
            replayer.at(1)
        assert replayer.pulse() is None
        replayer.close()


def test_recorders_at_work_are_neither_waited_for_nor_disturbed(schema_dsn: str) -> None:
    """Every run that ended is pruned in the end, and none before it has."""
    stop = threading.Event()
    recorded: list[UUID] = []

    def work(recorder: stepwell.Recorder) -> None:
        while not stop.is_set():
            with recorder.run("r") as run:
                for _ in range(5):
                    assert run.tool(len, "abc") == 3
                run.state({"n": 1})
            recorded.append(run.run_id)

    with stepwell.Recorder(schema_dsn, keep=lambda _: False) as recorder, recorder.run("long") as long:
        with (
            ThreadPoolExecutor(4) as pool,
            connect(resolve(schema_dsn)) as one,
            connect(resolve(schema_dsn)) as other,
        ):
            workers = [pool.submit(work, recorder) for _ in range(4)]
            try:
                while len(recorded) < 60 and not any(worker.done() for worker in workers):
                    long.tool(len, "abcd")
                    for connection, older in ((one, None), (other, timedelta(0))):
                        list(pruning.prune(connection, older))
            finally:
                stop.set()
        for worker in workers:
            worker.result()
        prune(schema_dsn)
        assert left(schema_dsn) == {long.run_id}


def test_a_pruner_prunes_and_marks_and_does_nothing_else(server: str, schema_dsn: str) -> None:
    grant_roles(schema_dsn)
    run(schema_dsn, keep="")
    kept = run(schema_dsn, keep="failed")
    with login(server, schema_dsn, "stepwell_pruner") as pruner:
        assert prune(pruner) == [Pruned(1, 1)]
        assert prune(pruner, DAY) == []
        statements = [
            "INSERT INTO agent_runs (run_id) SELECT gen_random_uuid()",
            "UPDATE agent_runs SET status = 'ok'",
            "UPDATE agent_steps SET output = NULL",
            "TRUNCATE agent_steps",
            "DELETE FROM stepwell_migrations",
            "CREATE TABLE mine ()",
        ]
        assert refused(pruner, "UPDATE agent_runs SET keep = ''", *statements) == statements
        assert prune(pruner) == [Pruned(1, 1)]
    assert kept not in left(schema_dsn)


@pytest.mark.parametrize("role", ["stepwell_debugger", "stepwell_recorder"])
def test_who_may_not_delete_is_told_which_role_may(server: str, schema_dsn: str, role: str) -> None:
    grant_roles(schema_dsn)
    kept = run(schema_dsn, keep="")
    with login(server, schema_dsn, role) as dsn, connect(resolve(dsn)) as connection:
        assert pruning.prunable(connection)[0] == Pruned(1, 1)
        with pytest.raises(
            DatabaseError, match=r"^permission denied .*; deleting runs takes the role stepwell_pruner"
        ):
            list(pruning.prune(connection))
    assert left(schema_dsn) == {kept}


def test_where_only_steps_are_nothing_says_what_may_go(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE agent_steps (run_id uuid, step_number int)")
    with (
        connect(resolve(dsn)) as connection,
        pytest.raises(DatabaseError, match="stepwell init makes what is missing"),
    ):
        list(pruning.prune(connection))
