"""SQL at a step: what a statement reads, and whether that is of then or of today."""

from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stepwell.core.past import Certainty, Seen, Verdict
from stepwell.core.world import Moment
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from stepwell.store.watching import watch
from tests.replay.rows import RUN, add_step
from tests.replay.shop import snapshot

EXACT = Verdict(Certainty.EXACT)


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("TABLE parts", {("parts", "past")}),
        ("SELECT 1 FROM parts WHERE id = 11", {("parts", "past")}),
        ("SELECT FROM few_parts", {("public.parts", "today")}),
        ("SELECT FROM public.orders", {("public.orders", "today")}),
        ("SELECT FROM public.orders AS a, orders AS b", {("public.orders", "today"), ("orders", "past")}),
        ("SELECT FROM notes", {("public.orders", "today")}),
        ("SELECT FROM summary", {("public.summary", "today")}),
        ('SELECT FROM "Back Room"."Till"', {("Back Room.Till", "today")}),
        ("SELECT newest()", {("public.newest()", "opaque")}),
        ("SELECT * FROM newest(), LATERAL (SELECT lower('x')) AS l", {("public.newest()", "opaque")}),
        ("SELECT latest(1)", {("public.latest()", "opaque")}),
        ("SELECT total(1), max(id) FROM orders", {("orders", "past")}),
        ("TABLE newest_listed", {("public.newest()", "opaque")}),
        ("SELECT FROM generate_series(1, 2) g, LATERAL (VALUES (g.noted), ('')) v", {("public.noted()", "opaque")}),
        (f"VALUES (a{'b' * 70}()), ('')", {(f"public.a{'b' * 62}()", "opaque")}),
        ("SELECT lo_get(7)", {("lo_get()", "today")}),
        ("WITH o AS MATERIALIZED (TABLE orders) SELECT FROM o", {("orders", "past")}),
        ("EXPLAIN SELECT FROM orders WHERE id IN (SELECT id FROM parts)", {("orders", "past"), ("parts", "past")}),
        ("SELECT FROM pg_class, information_schema.tables", set()),
        ("VALUES (1)", set()),
        ("SHOW work_mem", set()),
    ],
)  # fmt: skip
def test_it_is_told_what_a_statement_reads(
    replayer: Replayer, query: str, seen: set[tuple[str, str]]
) -> None:
    assert {(relation.name, relation.how) for relation in replayer.query(1, Moment.ASKED, query).seen} == seen


def test_a_function_beside_the_past_of_a_table_is_told_as_any_other(schema_dsn: str) -> None:
    """Who owns a watched table owns the schema of its past, which stands in the path of whoever looks."""
    with psycopg.connect(schema_dsn, autocommit=True) as owner:
        owner.execute("CREATE TABLE goods (id int PRIMARY KEY)")
        watch(owner, "goods")
        before = snapshot(owner)
        row = owner.execute("SELECT shadow FROM stepwell_log.tables").fetchone()
        assert row is not None
        owner.execute(
            f"CREATE FUNCTION {row[0]}.tidy(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'".encode()
        )
    add_step(schema_dsn, 1, "tool_call", output=1, snapshot_before=before, snapshot_after=before)
    with closing(Replayer(resolve(schema_dsn), RUN)) as replayer:
        answer = replayer.query(1, Moment.AFTER, "WITH goods (a) AS (SELECT 7) SELECT tidy(a) FROM goods")
    assert {(seen.name, seen.how) for seen in answer.seen} == {(f"{row[0]}.tidy()", "opaque")}


def test_without_a_snapshot_the_rows_are_todays_and_said_to_be(replayer: Replayer) -> None:
    answer = replayer.query(3, Moment.AFTER, "SELECT note FROM orders WHERE id = 1")
    (seen,) = answer.seen
    assert (answer.instant, answer.rows.rows) == (None, (("new",),))
    assert (seen.how, seen.verdict and seen.verdict.certainty) == ("today", Certainty.UNKNOWN)


def test_what_a_foreign_server_reads_is_todays(shop: str, replayer: Replayer) -> None:
    """Also where it joins by itself, and the plan names no table of its own."""
    here = conninfo_to_dict(shop)
    with psycopg.connect(shop, autocommit=True) as connection:
        if not connection.execute(
            "SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw'"
        ).fetchall():
            pytest.skip("this server has no postgres_fdw")
        connection.execute("CREATE EXTENSION postgres_fdw")
        connection.execute(
            f"CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{here['host']}',"
            f" port '{here.get('port', 5432)}', dbname '{here['dbname']}')"
        )
        connection.execute("CREATE USER MAPPING FOR CURRENT_USER SERVER other OPTIONS (user 'postgres')")
        for name in ("far", "farther"):
            connection.execute(
                f"CREATE FOREIGN TABLE {name} (id int, note text) SERVER other OPTIONS (table_name 'orders')"
            )
    query = "SELECT count(*) FROM far JOIN farther USING (id)"
    answer = replayer.query(1, Moment.ASKED, query)
    assert answer.rows.rows == (("1200",),)
    assert all(seen.how == "today" and "far" in seen.name for seen in answer.seen)
    assert answer.seen


def test_of_two_tables_of_one_name_each_has_its_own_verdict(schema_dsn: str) -> None:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        for schema in ("a", "b"):
            connection.execute(f"CREATE SCHEMA {schema}")
            connection.execute(f"CREATE TABLE {schema}.orders (id int PRIMARY KEY)")
            watch(connection, f"{schema}.orders")
        add_step(schema_dsn, 1, "tool_call", output=1, snapshot_after=snapshot(connection))
        connection.execute("ALTER TABLE a.orders DISABLE TRIGGER ALL")
    path = make_conninfo(schema_dsn, options="-c search_path=public,b")
    with closing(Replayer(resolve(path), RUN)) as replayer:
        answer = replayer.query(1, Moment.AFTER, "SELECT FROM orders")
    assert answer.seen == (Seen("b.orders", "past", EXACT),)
