"""A shop whose tables are watched, and a run that was recorded while they changed."""

from collections.abc import Iterator

import psycopg
import pytest

from stepwell.store.watching import watch
from tests.conftest import create_database, drop_database
from tests.replay.rows import RUN, add_step

SHOP = """
CREATE TABLE orders (id int PRIMARY KEY, note text);
INSERT INTO orders SELECT n, 'note ' || n FROM generate_series(1, 1200) AS n;
CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE few_parts PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE many_parts PARTITION OF parts FOR VALUES FROM (10) TO (100);
INSERT INTO parts VALUES (1), (11);
CREATE VIEW notes AS SELECT note FROM orders;
CREATE MATERIALIZED VIEW summary AS SELECT count(*) FROM orders;
CREATE FUNCTION newest() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN max(id) FROM public.orders; END $$;
CREATE VIEW newest_listed AS VALUES (newest()), (0);
CREATE FUNCTION noted(int) RETURNS text LANGUAGE plpgsql
    AS $$ BEGIN RETURN (SELECT note FROM public.orders WHERE id = $1); END $$;
CREATE FUNCTION abbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb() RETURNS text
    LANGUAGE sql VOLATILE RETURN noted(1);
CREATE FUNCTION later(int, int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN newest(); END $$;
CREATE AGGREGATE latest(int) (SFUNC = later, STYPE = int, INITCOND = 0);
CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int, INITCOND = 0);
SELECT lo_from_bytea(7, 'x');
CREATE SCHEMA "Back Room";
CREATE TABLE "Back Room"."Till" (id int);
"""


@pytest.fixture(scope="module")
def shop(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a shop, for the tests of one file."""
    dsn = create_database(server, schema_template)
    open_shop(dsn)
    yield dsn
    drop_database(server, dsn)


def open_shop(dsn: str) -> None:
    """Into a database with Stepwell's schema. During step 1 the orders were changed; step 2 had begun before that and
    never ended; step 3 has no snapshot."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(SHOP)
        for name in ("orders", "parts"):
            watch(connection, name)
        before = snapshot(connection)
        connection.execute("UPDATE orders SET note = 'new' WHERE id <= 2")
        connection.execute("UPDATE parts SET id = id + 1")
        after = snapshot(connection)
        add_step(dsn, 1, "tool_call", output=1, snapshot_before=before, snapshot_after=after)
        add_step(dsn, 2, "tool_call", snapshot_before=before)
        add_step(dsn, 3, "tool_call", output=1)
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, steps, finished, system_identifier, timeline)"
            " SELECT %s, 'shop', 'ok', 3, 2, system_identifier, timeline_id"
            " FROM pg_control_system(), pg_control_checkpoint()",
            [RUN],
        )


def snapshot(connection: psycopg.Connection) -> str:
    row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert row is not None
    return str(row[0])
