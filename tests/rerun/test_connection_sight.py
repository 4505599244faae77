"""An agent that looks at what tables there are is told of its own, and of none that a replay puts before them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import StaticPool

from stepwell import Run
from tests.rerun.orders import again, assert_same, make, make_watched, record, tell

MADE = """
CREATE TYPE kind AS ENUM ('low', 'high');
CREATE TABLE lines (number int PRIMARY KEY, about int REFERENCES orders, kind kind NOT NULL DEFAULT 'low');
"""


@pytest.fixture(scope="module")
def dsn(runs_dsn: str) -> str:
    make(runs_dsn)
    make_watched(runs_dsn, MADE, "lines")
    return runs_dsn


def looking(run: Run) -> None:
    own = run.connection
    for text in (
        "SELECT current_schema(), current_schemas(true)",
        "SELECT relname FROM pg_class WHERE pg_table_is_visible(oid) AND relname !~ '^pg_' ORDER BY 1",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema ORDER BY 1",
    ):
        run.tool(tell, own.execute(text).fetchall())


def reflecting(run: Run) -> None:
    found = inspect(
        create_engine("postgresql+psycopg://", creator=lambda: run.connection, poolclass=StaticPool)
    )
    run.tool(tell, [sorted(found.get_table_names()), found.get_view_names(), found.default_schema_name])
    run.tool(tell, [(each["name"], str(each["type"])) for each in found.get_columns("lines")])
    run.tool(
        tell,
        [found.get_pk_constraint("orders"), found.get_foreign_keys("lines"), found.get_indexes("orders")],
    )


@pytest.mark.parametrize("look", [looking, reflecting])
def test_what_tables_there_are_is_as_the_agent_saw_it(dsn: str, look: Callable[[Run], None]) -> None:
    def agent(run: Run) -> None:
        look(run)
        run.connection.execute("UPDATE orders SET qty = 1 WHERE id = 1")
        run.connection.commit()
        look(run)

    assert_same(again(dsn, record(dsn, agent), agent))
