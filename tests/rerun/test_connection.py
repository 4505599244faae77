"""`run.connection` in a replay: the tables as they were, whatever has become of them."""

from collections.abc import Callable
from typing import Any

import pytest

from stepwell import Run
from tests.rerun.orders import again, digest, do, make, record


@pytest.fixture
def dsn(schema_dsn: str) -> str:
    make(schema_dsn)
    return schema_dsn


def changer(dsn: str) -> Callable[[str], str]:
    """A tool in which somebody else changes the tables."""

    def change(text: str) -> str:
        do(dsn, text)
        return "changed"

    return change


def reading(dsn: str, wanted: int = 1) -> Callable[[Run], object]:
    change = changer(dsn)

    def agent(run: Run) -> object:
        def look(order: int) -> Any:
            found = run.connection.execute("SELECT id, status, qty FROM orders WHERE id = %s", (order,)).fetchone()
            run.connection.commit()
            return found

        def tell(row: Any) -> str:
            return f"told {row}"

        seen = [run.tool(tell, look(wanted))]
        run.tool(change, "UPDATE orders SET status = 'packed' WHERE id = 1")
        seen.append(run.tool(tell, look(wanted)))
        run.tool(change, "DELETE FROM orders WHERE id = 1")
        seen.append(run.tool(tell, look(wanted)))
        return run.result(seen)

    return agent


def test_rows_are_those_of_the_step_that_the_agent_is_at(dsn: str) -> None:
    recorded = record(dsn, reading(dsn))
    before = digest(dsn)
    for _ in range(3):
        report = again(dsn, recorded, reading(dsn))
        assert report.divergence is None, report.divergence
        assert report.notes == ()
        assert report.refused is None
    assert digest(dsn) == before
    report = again(dsn, recorded, reading(dsn, wanted=2))
    assert report.divergence is not None
    assert report.divergence.step == 1


def writing(dsn: str, status: str = "refunded", order: int = 7) -> Callable[[Run], object]:
    change = changer(dsn)

    def agent(run: Run) -> object:
        connection = run.connection

        def tell(what: Any) -> str:
            return f"told {what}"

        def rows(text: str, *values: object) -> Any:
            return connection.execute(text, values).fetchall()

        run.tool(tell, rows("SELECT count(*), sum(qty) FROM orders"))
        connection.execute("UPDATE orders SET status = %s WHERE id = %s", (status, order))
        connection.execute("DELETE FROM orders WHERE id = 9")
        (made,) = rows("INSERT INTO orders (qty) VALUES (5) RETURNING id, status, twice")
        connection.execute("INSERT INTO notes (about, body) VALUES (%s, 'new')", (made[0],))
        run.tool(tell, [made, rows("SELECT id, status FROM orders WHERE id IN (7, 8, 9) ORDER BY id")])
        connection.commit()
        run.tool(change, "UPDATE orders SET qty = 50 WHERE id = 7; INSERT INTO orders (qty) VALUES (1)")
        run.tool(tell, rows("SELECT id, status, qty, twice FROM orders WHERE id > 20 OR id = 7 ORDER BY id"))
        connection.execute("UPDATE orders SET qty = qty + 1 WHERE id = 7")
        (second,) = rows("INSERT INTO orders DEFAULT VALUES RETURNING id")
        run.tool(tell, [second, rows("SELECT qty FROM orders WHERE id = 7"), rows("SELECT * FROM notes")])
        connection.commit()
        return run.result(rows("SELECT count(*) FROM orders"))

    return agent


def test_what_the_agent_writes_it_reads_again_and_nobody_else_does(dsn: str) -> None:
    recorded = record(dsn, writing(dsn))
    before = digest(dsn)
    for _ in range(3):
        report = again(dsn, recorded, writing(dsn))
        assert report.divergence is None, report.divergence
        assert report.notes == ()
        assert report.refused is None
    assert digest(dsn) == before
