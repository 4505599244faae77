"""Transactions, cursors, threads and tasks on `run.connection` in a replay."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from stepwell import Run
from tests.rerun.orders import again, assert_same, changer, make, record, tell


@pytest.fixture
def dsn(schema_dsn: str) -> str:
    make(schema_dsn)
    return schema_dsn


def test_what_is_rolled_back_is_not_read_again(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection
        own.execute("UPDATE orders SET qty = 70 WHERE id = 1")
        own.rollback()
        run.tool(tell, own.execute("SELECT qty FROM orders WHERE id = 1").fetchone())
        own.execute("UPDATE orders SET qty = 71 WHERE id = 1")
        own.commit()
        with suppress(psycopg.errors.UndefinedColumn), own.transaction():
            own.execute("UPDATE orders SET qty = 72 WHERE id = 1")
            own.execute("SELECT wrong FROM orders")
        with own.transaction():
            own.execute("UPDATE orders SET qty = 73 WHERE id = 2")
        with pytest.raises(psycopg.errors.UndefinedColumn):
            own.execute("SELECT wrong FROM orders")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            own.execute("SELECT 1")
        own.commit()  # which rolls back
        run.tool(tell, own.execute("SELECT id, qty FROM orders WHERE id < 4 ORDER BY id").fetchall())
        own.commit()

    assert_same(again(dsn, record(dsn, agent), agent))


def test_a_tool_may_begin_and_end_the_agents_transaction(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection

        def pay(ends: bool) -> None:
            own.execute("UPDATE orders SET qty = 60 WHERE id = 6")
            if ends:
                own.commit()

        def qty() -> Any:
            return own.execute("SELECT id, qty FROM orders WHERE id < 9 ORDER BY id").fetchall()

        run.tool(tell, qty())
        own.commit()
        own.execute("UPDATE orders SET qty = 70 WHERE id = 7")
        run.tool(pay, ends=True)
        own.rollback()
        run.tool(tell, qty())
        own.commit()
        run.tool(pay, ends=False)
        with own.transaction():
            own.execute("UPDATE orders SET qty = 80 WHERE id = 8")
        own.rollback()
        run.tool(tell, qty())

    report = again(dsn, record(dsn, agent), agent)
    assert report.divergence is None
    assert {note.partition(": ")[2].partition(",")[0] for note in report.notes} <= {"uncertain"}


@pytest.mark.parametrize("lock", ["FOR UPDATE", "FOR NO KEY UPDATE SKIP LOCKED", "FOR SHARE OF orders"])
def test_rows_may_be_locked(dsn: str, lock: str) -> None:
    def agent(run: Run) -> None:
        found = run.connection.execute(
            f"SELECT id, qty FROM orders WHERE id < 4 ORDER BY id {lock}"
        ).fetchall()
        run.tool(tell, found)
        run.connection.commit()

    assert_same(again(dsn, record(dsn, agent), agent))


def test_in_autocommit_each_statement_stands_by_itself(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection
        own.autocommit = True
        own.execute("UPDATE orders SET qty = qty + 70 WHERE id = 1")  # before the first step, too
        own.rollback()  # of nothing
        with pytest.raises(psycopg.errors.UndefinedColumn):
            own.execute("SELECT wrong FROM orders")
        own.execute("BEGIN")
        own.execute("UPDATE orders SET qty = 70 WHERE id = 2")
        own.execute("ROLLBACK")
        own.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        own.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        own.execute("UPDATE orders SET qty = 71 WHERE id = 2")
        own.execute("ROLLBACK")
        own.execute("BEGIN; UPDATE orders SET qty = 70 WHERE id = 3")
        own.execute("COMMIT")
        with own.transaction(force_rollback=True):
            own.execute("UPDATE orders SET qty = 70 WHERE id = 4")
        run.tool(tell, own.execute("SELECT id, qty FROM orders WHERE id < 5 ORDER BY id").fetchall())

    assert_same(again(dsn, record(dsn, agent), agent))


def test_cursors_copy_and_pipelines_do_what_they_do(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection
        own.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        with own.cursor(row_factory=dict_row) as cursor:
            seen: list[Any] = [cursor.execute("SELECT id, qty FROM orders WHERE id = 1").fetchone()]
        with own.cursor() as cursor:
            cursor.executemany("INSERT INTO notes (about, body) VALUES (%s, %s)", [(1, "a"), (2, "b")])
            with cursor.copy("COPY notes (about, body) FROM STDIN") as copy:
                copy.write_row((3, "c"))
            with cursor.copy("COPY (SELECT about, body FROM notes ORDER BY 1) TO STDOUT") as copy:
                seen.append(list(copy.rows()))
            seen.append(list(cursor.stream("SELECT about FROM notes ORDER BY 1")))
        with own.cursor("named") as named:
            named.execute("SELECT id FROM orders ORDER BY id")
            seen += named.fetchmany(3)
        with own.pipeline():
            first, second = own.execute("SELECT 1"), own.execute("SELECT max(id) FROM orders")
            seen += [first.fetchone(), second.fetchone()]
        seen += psycopg.ClientCursor(own).execute("SELECT count(*) FROM orders").fetchall()
        run.tool(tell, seen)
        own.commit()
        own.close()

    assert_same(again(dsn, record(dsn, agent), agent))


def test_tasks_get_a_connection_to_be_awaited(dsn: str) -> None:
    async def work(run: Run) -> None:
        own = run.connection
        assert isinstance(own, psycopg.AsyncConnection)

        async def rows(text: str) -> Any:
            return await (await own.execute(text)).fetchall()

        run.tool(tell, await rows("SELECT qty FROM orders WHERE id = 1"))
        async with own.transaction():
            await own.execute("UPDATE orders SET qty = 90 WHERE id = 1")
        async with own.cursor() as cursor, cursor.copy("COPY notes (about, body) FROM STDIN") as copy:
            await copy.write_row((3, "c"))
        run.tool(tell, await rows("SELECT qty FROM orders WHERE id = 1"))
        await own.commit()
        run.tool(tell, await rows("SELECT about FROM notes"))
        await own.rollback()

    recorded = record(dsn, work)
    assert_same(again(dsn, recorded, work))


def test_threads_are_each_where_they_are(dsn: str) -> None:
    change = changer(dsn)

    def agent(run: Run) -> object:
        def work(order: int) -> Any:
            found = []
            for _ in range(3):
                run.tool(change, f"UPDATE orders SET qty = qty + 1 WHERE id = {order}")
                found.append(run.tool(tell, _qty(dsn, run, order)))
            return found

        return [asyncio.run(asyncio.to_thread(work, order)) for order in (1, 2)]

    assert_same(again(dsn, record(dsn, agent, own=False), agent))


def _qty(dsn: str, run: Run, order: int) -> Any:
    if run.connection is not None:
        return run.connection.execute("SELECT qty FROM orders WHERE id = %s", (order,)).fetchone()
    with psycopg.connect(dsn) as other:
        return other.execute("SELECT qty FROM orders WHERE id = %s", (order,)).fetchone()


def test_who_has_waited_for_another_sees_what_that_did(dsn: str) -> None:
    change = changer(dsn)

    def agent(run: Run) -> object:
        own = run.connection

        def look() -> Any:
            found = own.execute("SELECT qty FROM orders WHERE id = 1").fetchone()
            own.execute("UPDATE orders SET qty = 3 WHERE id = 2")
            own.commit()
            return found

        def elsewhere(qty: int) -> None:
            there = copy_context()
            text = f"UPDATE orders SET qty = {qty} WHERE id = 1"
            pool.submit(lambda: there.run(lambda: run.tool(change, text))).result()

        run.tool(tell, "first")
        with ThreadPoolExecutor(1) as pool:
            for qty in (2, 4):
                elsewhere(qty)
                run.tool(tell, look())
            with run.step("tool_call", "look") as step:
                elsewhere(5)
                step.output = look()
            elsewhere(6)
        return run.result(look())

    assert_same(again(dsn, record(dsn, agent), agent))
