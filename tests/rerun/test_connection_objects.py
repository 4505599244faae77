"""What an agent does with `run.connection` itself: it hands it on, and closes it."""

from typing import Any

import psycopg
import pytest

from stepwell import Run
from stepwell.core.divergence import Kind
from tests.rerun.orders import again, assert_same, make, record, tell


@pytest.fixture(scope="module")
def dsn(runs_dsn: str) -> str:
    """Shared: what these agents do to it matters to none of them."""
    make(runs_dsn)
    return runs_dsn


class Thing:
    """Its repr has an address and nothing else."""


def test_of_a_connection_that_is_handed_on_its_kind_counts_alone(dsn: str) -> None:
    def count(using: list[Any], limit: int) -> object:
        return using[0].execute("SELECT count(*) FROM orders WHERE id < %s", (limit,)).fetchone()

    def agent(run: Run, limit: int = 5) -> object:
        own = run.connection
        run.state({"using": own, "by": [Thing()]})
        run.tool(count, [own, Thing()], limit=limit)
        run.tool(count, [own.cursor(), own.transaction()], limit=limit)
        with own.cursor(name="c") as cursor:
            run.state({"using": cursor, "by": [Thing()], "limit": limit})
        return run.result({"used": own, "thing": Thing()})

    recorded = record(dsn, agent)
    assert_same(again(dsn, recorded, agent))
    found = again(dsn, recorded, lambda run: agent(run, 6)).divergence
    assert found is not None
    assert (found.step, found.path, found.expected, found.actual) == (2, "$.limit", 5, 6)

    def unlike(run: Run) -> None:
        run.state({"using": run.connection.cursor(), "by": [Thing()]})

    found = again(dsn, recorded, unlike).divergence
    assert found is not None
    assert (found.step, found.path) == (1, "$.using")


def test_tasks_hand_theirs_on_too(dsn: str) -> None:
    async def count(what: Any) -> object:
        return await (await what.execute("SELECT count(*) FROM orders")).fetchone()

    async def agent(run: Run) -> None:
        await run.tool(count, run.connection)
        await run.tool(count, run.connection.cursor())

    assert_same(again(dsn, record(dsn, agent), agent))


def test_another_input_beside_an_object_is_the_one_that_is_named(dsn: str) -> None:
    def agent(run: Run, item: int = 1) -> None:
        run.tool(tell, {"thing": Thing(), "item": item})

    found = again(dsn, record(dsn, agent), lambda run: agent(run, 2)).divergence
    assert found is not None
    assert (found.path, found.expected, found.actual) == ("$.what.item", 1, 2)


CLOSED = pytest.raises(psycopg.OperationalError, match=r"the connection is closed")


def test_what_the_agent_has_closed_is_closed(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection
        cursor = own.cursor()
        (before,) = cursor.execute("UPDATE orders SET qty = 77 WHERE id = 1 RETURNING qty").fetchone()
        run.tool(tell, before)
        cursor.execute("SELECT 'left'")
        if closes:
            own.close()
            own.close()
            assert (own.closed, own.broken, cursor.fetchone()) == (True, False, ("left",))
            for use in (
                own.commit,
                own.rollback,
                own.cursor,
                own.pipeline().__enter__,
                own.transaction().__enter__,
            ):
                with CLOSED:
                    use()
            for use in (own.execute, run.connection.execute, cursor.execute):
                with CLOSED:
                    use("SELECT 1")
            with CLOSED:
                own.autocommit = True
        run.tool(tell, "done" if closes else own.execute("SELECT qty FROM orders WHERE id = 1").fetchone())

    closes = True
    report = again(dsn, record(dsn, agent), agent)
    assert (report.divergence, report.refused, report.served) == (None, None, 2)
    closes = False
    recorded = record(dsn, agent)
    assert_same(again(dsn, recorded, agent))

    def mutated(run: Run) -> None:
        run.connection.close()
        agent(run)

    found = again(dsn, recorded, mutated).divergence
    assert found is not None
    assert (found.kind, found.step) == (Kind.RAISED, 1)
    assert "psycopg.OperationalError: the connection is closed" in str(found.actual)


def test_what_was_not_committed_when_it_was_closed_is_undone(dsn: str) -> None:
    def agent(run: Run) -> None:
        with psycopg.connect(dsn) as first:
            own = run.named(connection=first).connection
            own.execute("UPDATE orders SET qty = 78 WHERE id = 2")
            own.close()
        with psycopg.connect(dsn) as second:
            view = run.named(connection=second)
            view.tool(tell, view.connection.execute("SELECT qty FROM orders WHERE id = 2").fetchone())
        with psycopg.connect(dsn) as third, run.named(connection=third).connection as own:
            own.execute("UPDATE orders SET qty = 79 WHERE id = 2")
        with psycopg.connect(dsn) as last:
            view = run.named(connection=last)
            view.tool(tell, view.connection.execute("SELECT qty FROM orders WHERE id = 2").fetchone())

    report = again(dsn, record(dsn, agent, own=False), agent)
    assert (report.divergence, report.refused, report.served) == (None, None, 2)
