"""Which table an unqualified name means where watched tables are shown as they were."""

from collections.abc import Iterator

import psycopg
import pytest

from stepwell.core.pages import Start
from stepwell.core.past import Instant
from stepwell.store.asof import survey
from stepwell.store.changes import read_changes
from stepwell.store.pages import read_layout, read_page, read_row
from stepwell.store.watching import watch
from tests.asof.looking import look_back
from tests.conftest import create_database, drop_database


@pytest.fixture(scope="module")
def shop(server: str) -> Iterator[tuple[str, Instant]]:
    """A database with the same name in several schemas, and an instant after which all rows are changed."""
    dsn = create_database(server)
    tables = ("public.orders", "shop.orders", "shop.stock", "one.parts", "two.parts")
    with psycopg.connect(dsn, autocommit=True) as connection:
        for table in tables:
            schema = table.partition(".")[0]
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
            connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, was text)".encode())
            connection.execute(f"INSERT INTO {table} VALUES (1, 'then, {table}')".encode())
            watch(connection, table)
        connection.execute("CREATE TABLE shop.plain (id int)")
        connection.execute(
            "CREATE FUNCTION shop.lower(int) RETURNS text LANGUAGE sql AS $$ SELECT 'taken' $$"
        )
        row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
        assert row is not None
        for table in tables:
            connection.execute(f"UPDATE {table} SET was = 'now'".encode())
    yield dsn, Instant(row[0])
    drop_database(server, dsn)


def read(shop: tuple[str, Instant], statement: str, path: str = "public") -> object:
    dsn, instant = shop
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", (path,))
        look_back(connection, instant, None)
        row = connection.execute(statement.encode()).fetchone()
        return row and row[0]


def test_a_name_that_the_search_path_lacks_means_the_past_of_a_watched_table(
    shop: tuple[str, Instant],
) -> None:
    assert read(shop, "SELECT was FROM stock") == "then, shop.stock"


@pytest.mark.parametrize(
    ("path", "schema"), [("public", "public"), ("shop, public", "shop"), ("public, shop", "public")]
)
def test_the_search_path_goes_first(shop: tuple[str, Instant], path: str, schema: str) -> None:
    assert read(shop, "SELECT was FROM orders", path) == f"then, {schema}.orders"


def test_a_name_that_two_schemas_have_means_neither(shop: tuple[str, Instant]) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        read(shop, "SELECT was FROM parts")
    assert read(shop, "SELECT was FROM parts", "two") == "then, two.parts"


def test_nothing_else_of_such_a_schema_is_found(shop: tuple[str, Instant]) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        read(shop, "SELECT FROM plain")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        read(shop, "SELECT lower(1)")


def test_no_function_or_operator_of_somebody_else_s_is_called_unasked(dsn: str) -> None:
    """Not where it suits the types of a table better than Postgres's own."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('ok', 'bad')")
        connection.execute("CREATE TABLE people (name varchar PRIMARY KEY, mood mood)")
        connection.execute("INSERT INTO people VALUES ('a', 'ok')")
        watch(connection, "people")
        row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
        assert row is not None
        connection.execute("UPDATE people SET mood = 'bad'")
        for trap in (
            "num_nonnulls(mood) RETURNS int",
            "format(unknown_text text, mood) RETURNS text",
            "same(varchar, varchar) RETURNS boolean",
        ):
            connection.execute(
                f"CREATE FUNCTION {trap} LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$".encode()
            )
        connection.execute("CREATE OPERATOR = (FUNCTION = same, LEFTARG = varchar, RIGHTARG = varchar)")
        before = Instant(row[0])
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
        assert row is not None
        (found,) = read_changes(connection, before, Instant(row[0]), None)
        assert [(change.old, change.new) for change in found.changes] == [(("a", "ok"), ("a", "bad"))]
        (standing,) = survey(connection, before, None).standings
        layout = read_layout(connection, standing)
        assert read_row(connection, layout, ("a",)).rows == (("a", "bad"),)
        assert read_page(connection, layout, Start(("a",), inclusive=True), 5).rows == (("a", "bad"),)
