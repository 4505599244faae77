"""`run.connection` in a replay: the tables as they were, whatever has become of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell import Run
from stepwell.rerun.child.process import AgentProcess
from stepwell.store.connect import resolve
from tests import vacuum
from tests.rerun.orders import again, assert_same, changer, digest, do, make, next_xid, packing, record, tell


@pytest.fixture
def dsn(schema_dsn: str) -> str:
    make(schema_dsn)
    return schema_dsn


def reading(dsn: str, wanted: int = 1) -> Callable[[Run], object]:
    change = changer(dsn)

    def agent(run: Run) -> object:
        def look() -> Any:
            found = run.connection.execute(
                "SELECT id, status, qty FROM orders WHERE id = %s", (wanted,)
            ).fetchone()
            run.connection.commit()
            return found

        seen = [run.tool(tell, look())]
        run.tool(change, "UPDATE orders SET status = 'packed' WHERE id = 1")
        seen.append(run.tool(tell, look()))
        run.tool(change, "DELETE FROM orders WHERE id = 1")
        seen.append(run.tool(tell, look()))
        return run.result(seen)

    return agent


def test_rows_are_those_of_the_step_that_the_agent_is_at(dsn: str) -> None:
    recorded = record(dsn, reading(dsn))
    with vacuum.held_off(dsn):
        before, xid = digest(dsn), next_xid(dsn)
        for _ in range(3):
            assert_same(again(dsn, recorded, reading(dsn)))
        assert digest(dsn) == before
        assert next_xid(dsn) == xid


def test_a_row_that_changed_since_is_no_answer_for_another(dsn: str) -> None:
    recorded = record(dsn, reading(dsn))
    report = again(dsn, recorded, reading(dsn, wanted=2))
    assert report.divergence is not None
    assert (report.divergence.step, report.divergence.path) == (1, "$.what[0]")


def test_todays_rows_are_not_those_of_then(dsn: str) -> None:
    def agent(run: Run, table: str = "orders") -> None:
        run.tool(tell, run.connection.execute(f"SELECT sum(qty) FROM {table}").fetchone())

    recorded = record(dsn, agent)
    assert_same(again(dsn, recorded, agent))
    report = again(dsn, recorded, lambda run: agent(run, 'public."orders"'))
    assert report.divergence is not None
    assert report.divergence.step == 1
    assert report.notes == (
        "public.orders is the table of today: named without public, it is the one of then",
    )


def test_what_others_do_between_two_steps_is_seen_as_the_agent_saw_it(dsn: str) -> None:
    def agent(run: Run) -> object:
        run.tool(tell, 1)
        if run.book.ended is False:  # when it is recorded
            do(dsn, "UPDATE orders SET status = 'taken' WHERE id = 5")
        return run.tool(tell, run.connection.execute("SELECT status FROM orders WHERE id = 5").fetchone())

    recorded = record(dsn, agent)
    assert "taken" in str(recorded.steps[1].payload.output)
    assert_same(again(dsn, recorded, agent))


def test_a_block_that_is_executed_reads_what_was_there_when_it_began(dsn: str) -> None:
    change = changer(dsn)

    def agent(run: Run) -> None:
        with run.step("tool_call", "count") as step:
            step.output = run.connection.execute("SELECT count(*), max(qty) FROM orders").fetchone()
        run.tool(change, "DELETE FROM orders WHERE id > 10")
        with run.step("tool_call", "count") as step:
            step.output = run.connection.execute("SELECT count(*), max(qty) FROM orders").fetchone()

    assert_same(again(dsn, record(dsn, agent), agent))


def test_without_a_connection_in_the_recording_rows_are_those_after_the_last_step(dsn: str) -> None:
    change = changer(dsn)

    def agent(run: Run) -> None:
        found = []
        for text in ("UPDATE orders SET qty = 7 WHERE id = 1", "UPDATE orders SET qty = 8 WHERE id = 1"):
            with run.step("tool_call", "look") as step:
                step.output = "looked"
            found.append(run.tool(change, text))
            run.tool(tell, _one(dsn, run))

    assert_same(again(dsn, record(dsn, agent, own=False), agent))


def _one(dsn: str, run: Run) -> Any:
    if run.connection is not None:
        return run.connection.execute("SELECT qty FROM orders WHERE id = 1").fetchone()
    with psycopg.connect(dsn) as other:
        return other.execute("SELECT qty FROM orders WHERE id = 1").fetchone()


def writing(dsn: str, status: str = "refunded", order: int = 7) -> Callable[[Run], object]:
    change = changer(dsn)

    def agent(run: Run) -> object:
        connection = run.connection

        def rows(text: str, *values: object) -> Any:
            return connection.execute(text, values).fetchall()

        connection.execute("UPDATE orders SET qty = qty + 1 WHERE id = 2")
        connection.commit()
        run.tool(tell, rows("SELECT count(*), sum(qty) FROM orders"))
        connection.execute("UPDATE orders SET status = %s WHERE id = %s", (status, order))
        connection.execute("DELETE FROM orders WHERE id = 9")
        (made,) = rows("INSERT INTO orders (qty) VALUES (5) RETURNING id, status, twice")
        connection.execute("INSERT INTO notes (about, body) VALUES (%s, 'new')", (made[0],))
        run.tool(tell, [made, rows("SELECT id FROM orders WHERE id IN (7, 8, 9) ORDER BY id")])
        connection.commit()
        run.tool(change, "UPDATE orders SET qty = 50 WHERE id = 8; INSERT INTO orders (qty) VALUES (1)")
        run.tool(tell, rows("SELECT id, qty, twice FROM orders WHERE id > 20 OR id = 8 ORDER BY id"))
        connection.execute("UPDATE orders SET qty = qty + 1 WHERE id = 8")
        (second,) = rows("INSERT INTO orders DEFAULT VALUES RETURNING id")
        run.tool(tell, [second, rows("SELECT qty FROM orders WHERE id = 8"), rows("SELECT * FROM notes")])
        connection.commit()
        return run.result(rows("SELECT count(*) FROM orders"))

    return agent


def test_what_the_agent_writes_it_reads_again_and_nobody_else_does(dsn: str) -> None:
    recorded = record(dsn, writing(dsn))
    before = digest(dsn)
    for _ in range(3):
        assert_same(again(dsn, recorded, writing(dsn)))
    assert digest(dsn) == before


def test_a_database_that_knows_that_the_agent_writes_calls_it_once(dsn: str) -> None:
    calls = []
    agent = writing(dsn)

    def counted(run: Run) -> object:
        calls.append(1)
        return agent(run)

    recorded = record(dsn, agent)
    assert_same(again(dsn, recorded, counted))
    assert len(calls) == 2
    assert_same(again(dsn, recorded, counted, writing=True))
    assert len(calls) == 3


def test_other_values_than_were_recorded_are_named_and_do_not_last(dsn: str) -> None:
    recorded = record(dsn, writing(dsn))
    report = again(dsn, recorded, writing(dsn, status="returned"))
    assert_same(
        report,
        "by step 3 the agent wrote other values to orders, key 7: status 'returned', recorded 'refunded'",
    )


def test_a_number_is_that_of_then_also_after_what_was_only_read(dsn: str) -> None:
    do(dsn, "SELECT setval('orders_id_seq', 300)")

    def agent(run: Run) -> None:
        own = run.connection
        run.tool(tell, 1)
        own.execute("SELECT count(*) FROM orders")
        run.tool(tell, 2)
        run.tool(tell, own.execute("INSERT INTO orders (qty) VALUES (1) RETURNING id").fetchone())
        own.commit()

    assert_same(again(dsn, record(dsn, agent), agent))


def test_a_process_of_its_own_has_it_too_and_knows_nothing_of_another_call(dsn: str) -> None:
    recorded = record(dsn, packing)
    before = digest(dsn)
    with AgentProcess(
        resolve(dsn), recorded.head.run_id, "tests.rerun.orders:packing", cwd=Path.cwd()
    ) as process:
        first = process.replay()
        assert_same(first)
        assert first.output == "call 1\n"
        assert process.replay(1).stopped == "step 1"
        assert_same(process.replay())
    assert digest(dsn) == before


def test_behind_a_serializable_writer_it_reads_with_less_and_says_so(dsn: str) -> None:
    recorded = record(dsn, reading(dsn))
    with psycopg.connect(dsn) as writer:
        writer.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        writer.execute("UPDATE customers SET name = 'Eve'")
        pid = writer.info.backend_pid
        (note,) = again(dsn, recorded, reading(dsn)).notes
    assert note.startswith(
        "the agent's database was read with REPEATABLE READ READ ONLY: no safe snapshot in 1000 ms"
    )
    assert str(pid) in note


def test_an_agent_that_does_not_ask_for_it_may_do_without(dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(tell, 1)

    recorded = record(dsn, agent)
    report = again(make_conninfo(dsn, user="nobody"), recorded, agent)
    assert report.divergence is None
    (note,) = report.notes
    assert note.startswith(
        "whether the agent left out what was written then could not be looked at: cannot connect"
    )
