"""What an agent may not do to the database of a replay, and how it is told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.core.rerun import Report
from tests.rerun.orders import again, digest, do, make, record, tell

FILE = "tests/rerun/test_connection_refused.py"


@pytest.fixture(scope="module")
def dsn(runs_dsn: str) -> str:
    make(runs_dsn)
    return runs_dsn


@pytest.fixture(scope="module")
def recorded(dsn: str) -> RecordedRun:
    """One that did nothing."""
    return record(dsn, doing("SELECT 1"))


def doing(text: str, *, as_well: str = "SELECT 1") -> Callable[[Run], object]:
    """Does something and says what came of it."""

    def agent(run: Run) -> object:
        own = run.connection
        try:
            own.execute(as_well)
            own.execute(text)
        except psycopg.Error as problem:
            return run.tool(tell, [type(problem).__name__, str(problem).partition("DETAIL:  Failing")[0]])
        finally:
            own.rollback()
        return run.tool(tell, "done")

    return agent


def refusals(report: Report) -> list[str]:
    """The notes that name a line of this file, without it."""
    return [note.partition(": ")[2] for note in report.notes if note.startswith(FILE)]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "INSERT INTO customers VALUES (2, 'Bob')",
            "cannot execute INSERT in a read-only transaction (customers is not watched: stepwell watch customers)",
        ),
        (
            "UPDATE public.orders SET qty = 1",
            "cannot execute UPDATE in a read-only transaction (orders is watched: name it without its schema)",
        ),
        ("CREATE TABLE other (id int)", "cannot execute CREATE TABLE in a read-only transaction"),
        ("SELECT setval('orders_id_seq', 7)", "cannot execute setval() in a read-only transaction"),
        ("LOCK TABLE public.customers", "LOCK does not run in a replay"),
        (
            "SELECT pg_advisory_xact_lock(7)",
            "pg_advisory_xact_lock() does not run here: it takes or frees a lock that others may wait for",
        ),
        (
            "COPY customers TO PROGRAM 'cat'",
            "COPY from or to a file of the server's, or a program, does not run in a replay",
        ),
        (
            "COPY (SELECT 1 AS stdout) TO '/nowhere/else'",
            "COPY from or to a file of the server's, or a program, does not run in a replay",
        ),
        ("PREPARE TRANSACTION 'one'", "PREPARE TRANSACTION does not run in a replay: it would outlive it"),
        (
            "DELETE FROM customers; COMMIT",
            "it ends the transaction and does something else in one text; call commit() or rollback()",
        ),
    ],
)
def test_what_would_be_felt_by_others_is_refused_and_named(
    dsn: str, recorded: RecordedRun, text: str, note: str
) -> None:
    before = digest(dsn)
    report = again(dsn, recorded, doing(text))
    assert report.divergence is not None
    assert report.divergence.asked is not None
    assert "ReadOnlySqlTransaction" in str(report.divergence.asked.value)
    assert refusals(report) == [note]
    assert digest(dsn) == before


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO NOTHING",
        "INSERT INTO orders (id) VALUES (1) ON CONFLICT DO NOTHING",
        "INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET qty = 8",
        "TRUNCATE orders",
    ],
)
def test_ways_of_writing_that_no_view_takes_are_named(dsn: str, recorded: RecordedRun, text: str) -> None:
    report = again(dsn, recorded, doing(text))
    assert report.divergence is not None
    (note,) = refusals(report)
    assert "(in a replay a watched table is a view: it takes INSERT, UPDATE, DELETE" in note


def test_what_a_table_refuses_its_overlay_refuses_as_well(dsn: str) -> None:
    for text in (
        "INSERT INTO orders (id) VALUES (1)",
        "INSERT INTO orders (status) VALUES (NULL)",
        "INSERT INTO orders (id, qty) VALUES (2000, -1)",
    ):
        assert again(dsn, record(dsn, doing(text)), doing(text)).divergence is None


@pytest.mark.parametrize("is_used_again", [True, False])
def test_a_transaction_that_was_ended_behind_the_replays_back_ends_it(dsn: str, is_used_again: bool) -> None:
    def agent(run: Run) -> None:
        own = run.connection
        psycopg.ClientCursor(own).execute("ROLLBACK")
        if is_used_again:
            psycopg.ClientCursor(own).execute("DELETE FROM orders")
            own.rollback()
        run.tool(tell, "done")

    recorded = record(dsn, agent)
    before = digest(dsn)
    report = again(dsn, recorded, agent)
    assert report.refused == "the agent has ended the transaction of the replay"
    assert digest(dsn) == before


def counting(run: Run) -> object:
    for _ in range(2):
        run.tool(tell, run.connection.execute("SELECT count(*) FROM orders").fetchone())
        run.connection.commit()
    return None


@pytest.mark.parametrize("writing", [False, True])
def test_who_is_kept_waiting_by_another_is_told_so(dsn: str, writing: bool) -> None:
    recorded = record(dsn, counting)
    with psycopg.connect(dsn) as other:
        other.execute("LOCK TABLE orders")
        report = again(dsn, recorded, counting, writing=writing)
    assert report.divergence is None
    assert report.refused is not None
    assert "canceling statement due to lock timeout" in report.refused


def test_a_connection_that_is_lost_is_no_divergence(dsn: str) -> None:
    recorded = record(dsn, counting)

    def cut_off(run: Run) -> object:
        with psycopg.connect(dsn, autocommit=True) as other:
            pid = run.connection.info.backend_pid
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        with suppress(psycopg.Error):
            run.connection.execute("SELECT count(*) FROM orders")
        return run.tool(tell, "nothing")

    report = again(dsn, recorded, cut_off)
    assert report.divergence is None
    assert report.refused == (
        "the connection to the agent's database was lost: an administrator or a restart ended the session"
    )


def test_a_thread_that_still_asks_in_the_end_is_cut_off(dsn: str) -> None:
    threads: list[threading.Thread] = []

    def agent(run: Run) -> object:
        own = run.connection

        def ask() -> None:
            with suppress(psycopg.OperationalError):
                own.execute("SELECT pg_sleep(600)")

        if threads:
            threads[0] = threading.Thread(target=ask, daemon=True)
            threads[0].start()
            while own.info.transaction_status != TransactionStatus.ACTIVE:
                threads[0].join(0.01)
        return run.tool(tell, "done")

    recorded = record(dsn, agent)
    threads.append(threading.current_thread())
    report = again(dsn, recorded, agent)
    assert report.divergence is None
    assert report.notes == ("the agent's database was still in use by another thread in the end",)
    threads[0].join(30)
    assert not threads[0].is_alive()


def test_the_server_lets_it_stand_still_for_no_longer_than_its_role_may(dsn: str) -> None:
    limits: list[object] = []

    def agent(run: Run) -> None:
        limits.extend(run.connection.execute("SHOW idle_in_transaction_session_timeout").fetchone())

    recorded = record(dsn, agent)
    again(dsn, recorded, agent)
    again(make_conninfo(dsn, options="-c idle_in_transaction_session_timeout=7s"), recorded, agent)
    assert limits == ["0", "2min", "7s"]


def test_a_table_that_is_not_watched_is_read_as_it_is_today_and_named(dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(tell, run.connection.execute("SELECT name FROM customers JOIN orders USING (id)").fetchone())

    recorded = record(dsn, agent)
    do(dsn, "UPDATE customers SET name = 'Bob'; UPDATE orders SET id = -id WHERE id = 1")
    report = again(dsn, recorded, agent)
    assert report.divergence is not None
    assert report.notes == (
        "public.customers is not watched, and was read as it is today: stepwell watch public.customers",
    )


def test_an_agent_may_set_a_path_of_its_own(dsn: str) -> None:
    do(dsn, "CREATE SCHEMA shop; CREATE TABLE shop.orders (id int); INSERT INTO shop.orders VALUES (-1)")

    def agent(run: Run) -> None:
        own = run.connection
        own.execute("SET search_path = shop, public")
        run.tool(tell, own.execute("SELECT count(*) FROM orders").fetchone())
        own.execute("SET search_path = public")
        run.tool(tell, own.execute("SELECT count(*) FROM orders").fetchone())
        own.rollback()
        run.tool(tell, own.execute("SELECT count(*) FROM orders").fetchone())

    report = again(dsn, record(dsn, agent), agent)
    assert report.divergence is None
    assert report.notes == (
        "shop.orders is not watched, and was read as it is today: stepwell watch shop.orders",
    )


def test_a_past_that_is_not_known_is_named_once(schema_dsn: str) -> None:
    dsn = schema_dsn
    make(dsn)

    def agent(run: Run) -> None:
        for _ in range(2):
            run.tool(tell, run.connection.execute("SELECT count(*) FROM orders").fetchone())

    recorded = record(dsn, agent)
    do(dsn, "ALTER TABLE orders DISABLE TRIGGER ALL; ALTER TABLE orders ENABLE TRIGGER ALL")
    (note,) = again(dsn, recorded, agent).notes
    assert note.startswith("orders as of the first step: uncertain, a trigger of Stepwell's")


@pytest.fixture
def plain_dsn(dsn: str) -> Iterator[str]:
    """As a role that may read, and make no temporary tables."""
    name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    do(
        dsn,
        f"CREATE ROLE stepwell_connection_reader LOGIN PASSWORD 'x'; REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC;"
        "GRANT pg_read_all_data TO stepwell_connection_reader",
    )
    yield make_conninfo(dsn, user="stepwell_connection_reader", password="x")
    do(dsn, "DROP OWNED BY stepwell_connection_reader; DROP ROLE stepwell_connection_reader")


def test_who_may_make_no_temporary_tables_is_told_so(dsn: str, plain_dsn: str) -> None:
    def agent(run: Run) -> None:
        run.connection.execute("DELETE FROM orders WHERE id = 1")
        run.tool(tell, run.connection.execute("SELECT count(*) FROM orders").fetchone())

    def reader(run: Run) -> Any:
        return run.tool(tell, run.connection.execute("SELECT count(*) FROM orders").fetchone())

    recorded = record(dsn, agent)
    report = again(plain_dsn, recorded, agent)
    assert report.refused is not None
    assert "which stepwell_connection_reader may not make: GRANT TEMPORARY ON DATABASE" in report.refused
    assert again(plain_dsn, record(dsn, reader), reader).divergence is None
