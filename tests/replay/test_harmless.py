"""Stepping does no harm: no writer fails or waits because of it, and nothing is pinned between two moves."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import LiteralString

import psycopg
import pytest
from psycopg import IsolationLevel

from stepwell.errors import DatabaseError
from stepwell.replay import Replayer
from stepwell.replay.runs import Runs
from stepwell.store import migrate
from stepwell.store.connect import resolve
from tests.replay.rows import RUN, add_step
from tests.threads import running

OURS = "SELECT state, backend_xid, backend_xmin FROM pg_stat_activity WHERE pid = ANY (%s)"
BLOCKED_BY_US = "SELECT pid, query FROM pg_stat_activity WHERE pg_blocking_pids(pid) && %s::int[]"
STEPS = 20


@pytest.fixture
def run(schema_dsn: str) -> str:
    """Conninfo of a database with a run, and tables of an application's own."""
    for number in range(1, STEPS + 1):
        add_step(schema_dsn, number, "state_update", output={"tries": number})
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("CREATE TABLE control AS SELECT 1 AS batch")
        connection.execute("CREATE TABLE accounts AS SELECT n, 0 AS seed FROM generate_series(1, 20) AS n")
        connection.execute("CREATE VIEW steps AS SELECT step_number AS n, seed FROM agent_steps")
    return schema_dsn


@contextmanager
def serializable(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, application_name="shop") as connection:
        connection.isolation_level = IsolationLevel.SERIALIZABLE
        yield connection


def plain(dsn: str) -> None:
    """What a careless debugger would do."""
    with serializable(dsn) as connection:
        connection.read_only = True
        connection.execute("SELECT output FROM agent_steps WHERE step_number = 1").fetchall()


def a_move(dsn: str) -> None:
    with closing(Replayer(resolve(dsn), RUN)) as replayer:
        assert replayer.at(1).replay.notes[0].startswith("no safe snapshot in 1000 ms")


@pytest.mark.parametrize(("look", "fails"), [(plain, True), (a_move, False)])
def test_a_reader_between_two_writers_makes_none_of_them_fail(
    run: str, look: Callable[[str], None], fails: bool
) -> None:
    """The anomaly that only a reader completes: without one both writers commit, whatever the order."""
    with serializable(run) as first, serializable(run) as second:
        first.execute("SELECT * FROM control").fetchall()
        second.execute("UPDATE control SET batch = 2")
        second.commit()
        look(run)
        assert is_refused(first, "UPDATE agent_steps SET output = '{}' WHERE step_number = 1") is fails


def is_refused(connection: psycopg.Connection, statement: LiteralString) -> bool:
    """Whether the transaction, with this as its last statement, cannot be serialized with the others."""
    try:
        connection.execute(statement)
        connection.commit()
    except psycopg.errors.SerializationFailure:
        return True
    return False


def work(dsn: str, table: str, stop: threading.Event, done: list[str]) -> None:
    """Serializable transactions that read and write what no other worker touches: by themselves they never fail."""
    with serializable(dsn) as connection:
        while not stop.is_set():
            try:
                with connection.transaction():
                    for n in range(1, 11):
                        connection.execute(f"SELECT count(*) FROM {table} WHERE n <= %s", [n])
                        connection.execute(f"UPDATE {table} SET seed = seed + 1 WHERE n = %s", [n])
                done.append("")
            except psycopg.Error as problem:
                done.append(str(problem))


def test_serializable_writers_neither_fail_nor_wait_beside_a_debugger_that_steps(run: str) -> None:
    """And between two moves the debugger's backend is idle: no transaction, nothing kept from the vacuum."""
    with working(run, "steps", "accounts") as done, closing(Replayer(resolve(run), RUN)) as replayer:
        for _ in range(5):
            step_through(run, replayer)
    assert all(len(results) > 5 for results in done)
    assert {problem for results in done for problem in results} == {""}


@contextmanager
def working(dsn: str, *tables: str) -> Iterator[list[list[str]]]:
    """Such workers at work, and what each of their transactions came to."""
    stop = threading.Event()
    done: list[list[str]] = [[] for _ in tables]
    threads = [
        threading.Thread(target=work, args=(dsn, table, stop, results))
        for table, results in zip(tables, done, strict=True)
    ]
    with running(threads, stop):
        yield done


def step_through(dsn: str, replayer: Replayer) -> None:
    """List, search, step; meanwhile look whom we block, and after each how we are left."""
    with closing(Runs(resolve(dsn))) as runs, psycopg.connect(dsn, autocommit=True) as other:
        steps: list[Callable[[], object]] = [lambda: runs.page(10), lambda: replayer.search("tries")]
        steps += [lambda n=n: replayer.at(n) for n in range(1, STEPS + 1)]  # type: ignore[misc]  # a default binds the loop's variable
        for step in steps:
            stepping = threading.Thread(target=step)
            stepping.start()
            while stepping.is_alive():
                assert other.execute(BLOCKED_BY_US, [own_pids(other)]).fetchall() == []
            stepping.join()
            assert set(other.execute(OURS, [own_pids(other)]).fetchall()) == {("idle", None, None)}


def own_pids(connection: psycopg.Connection) -> list[int]:
    rows = connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'stepwell' AND datname = current_database()"
    )
    return [row[0] for row in rows]


def test_new_tables_do_not_make_the_recorders_wait(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` gives up where somebody is at work on the tables: behind its lock all others would queue."""
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT_MS", 50)
    with psycopg.connect(run) as other:
        other.execute("DELETE FROM stepwell_migrations WHERE version > 1")
        other.commit()
        other.execute("SELECT FROM agent_steps")
        with pytest.raises(DatabaseError, match="are in use and cannot be brought up to date now"):
            migrate.migrate(run)
        other.rollback()
        assert migrate.migrate(run)
