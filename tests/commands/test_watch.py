"""`stepwell watch`, `unwatch` and `watched`: a line a table, and a status that tells whether all went well."""

import json
import shlex
from collections.abc import Iterator

import psycopg
import pytest

from tests.commands.cases import stepwell
from tests.store.rows import add_run, run_id
from tests.store.test_roles import login
from tests.store.watching import Connection, instant

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def shop(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE TYPE mood AS ENUM ('well'); CREATE TABLE orders (id int PRIMARY KEY, v text);"
            "CREATE TABLE bare (id int);"
            'CREATE TABLE "Odd ""\x1b[31m" (id int PRIMARY KEY, mood mood)'
        )
        yield connection


@pytest.fixture
def debugger(shop: Connection, server: str, dsn: str) -> Iterator[str]:
    """A conninfo of somebody who may only look."""
    shop.execute(
        "DO $$ BEGIN CREATE ROLE stepwell_debugger NOLOGIN; EXCEPTION WHEN duplicate_object THEN END $$"
    )
    with login(server, dsn, "stepwell_debugger") as conninfo:
        yield conninfo


def objects(capsys: Capture) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("shop")
def test_each_table_is_told_of_and_one_that_is_refused_stops_no_other(dsn: str, capsys: Capture) -> None:
    assert stepwell(dsn, "watch", "bare", "nowhere", "orders", '"Odd ""\x1b[31m"') == 2
    out, err = capsys.readouterr()
    assert [line.partition(" is watched from now on; ")[0] for line in out.splitlines()] == [
        "public.orders",
        r'public.Odd "\x1b[31m',
    ]
    assert all("0.1 ms more; out: stepwell unwatch " in line for line in out.splitlines())
    assert [line.partition(":")[0] for line in err.splitlines()] == [
        "stepwell",
        "stepwell",
        r'public.Odd "\x1b[31m',
    ]
    assert "mood: as text in the past" in err
    assert "no primary key" in err
    assert "no table nowhere" in err
    assert stepwell(dsn, "watch", "orders", "nowhere") == 1
    assert "public.orders is watched again" in capsys.readouterr().out
    assert stepwell(dsn, "watch", "orders") == 0


def test_what_is_watched_is_listed_with_its_log(shop: Connection, dsn: str, capsys: Capture) -> None:
    assert stepwell(dsn, "watched") == 1
    assert capsys.readouterr().err == "no table is watched here; stepwell watch TABLE\n"
    stepwell(dsn, "watch", "orders", '"Odd ""\x1b[31m"')
    shop.execute("INSERT INTO orders VALUES (1, 'a'), (2, 'b'); DELETE FROM orders")
    shop.execute('ALTER TABLE "Odd ""\x1b[31m" DISABLE TRIGGER ALL')
    capsys.readouterr()
    assert stepwell(dsn, "watched") == 0
    titles, odd, orders = capsys.readouterr().out.splitlines()
    assert titles.split() == ["TABLE", "SINCE", "ROWS", "SIZE", "PAST", "WHY"]
    assert orders.split()[:3] == ["public.orders", "now", "4"]
    assert orders.split()[-1] == "exact"
    assert odd.startswith(r'public.Odd "\x1b[31m')
    assert "uncertain  a trigger of Stepwell's" in odd
    assert stepwell(dsn, "watched", "--json") == 0
    found = objects(capsys)[1]
    assert (found["schema"], found["name"], found["rows"], found["counted"]) == ("public", "orders", 4, True)
    assert (found["certainty"], found["why"], found["pruned_to"], found["rows_a_day"]) == (
        "exact",
        "",
        None,
        None,
    )


def test_a_role_that_may_not_read_the_table_may_list_it(
    shop: Connection, dsn: str, debugger: str, capsys: Capture
) -> None:
    stepwell(dsn, "watch", "orders")
    capsys.readouterr()
    assert stepwell(debugger, "watched") == 0
    out, err = capsys.readouterr()
    assert "unknown  this role may not read the table" in out
    assert err == (
        "public.orders: this role may not read the table; GRANT SELECT ON public.orders to this role,"
        f" then stepwell watch public.orders as {shop.info.user}\n"
    )


@pytest.mark.parametrize("part", ["losses", "shapes"])
def test_where_a_part_of_the_logs_was_dropped_it_is_told_how_to_begin_anew(
    shop: Connection, dsn: str, capsys: Capture, part: str
) -> None:
    stepwell(dsn, "watch", "orders", '"Odd ""\x1b[31m"')
    shop.execute(f"DROP TABLE stepwell_log.{part}")
    capsys.readouterr()
    assert stepwell(dsn, "watched") == 2
    out, err = capsys.readouterr()
    assert (out, "begin anew: stepwell unwatch public.orders 'public.\"Odd " in err) == ("", True)
    assert stepwell(dsn, "unwatch", "orders", '"Odd ""\x1b[31m"') == 0
    assert stepwell(dsn, "watch", "orders") == 0


def test_since_when_a_pruned_table_is_told(schema_dsn: str, capsys: Capture) -> None:
    with psycopg.connect(schema_dsn, autocommit=True) as owner:
        owner.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        stepwell(schema_dsn, "watch", "orders")
        owner.execute("INSERT INTO orders VALUES (1); DELETE FROM orders")
        add_run(schema_dsn, run_id(1), status="ok", snapshot=instant(owner).snapshot)
        capsys.readouterr()
        assert stepwell(schema_dsn, "prune") == 0
        assert stepwell(schema_dsn, "watched") == 0
        assert "exact  pruned; told since 2025-03-01 12:00Z" in capsys.readouterr().out
        owner.execute("DELETE FROM agent_runs")
    assert stepwell(schema_dsn, "watched") == 0
    assert capsys.readouterr().out.rstrip().endswith("exact  pruned")


def test_a_table_is_taken_out_again(shop: Connection, dsn: str, capsys: Capture) -> None:
    stepwell(dsn, "watch", "orders")
    shop.execute("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    capsys.readouterr()
    assert stepwell(dsn, "unwatch", "bare", "orders", "--json") == 1
    bare, orders = objects(capsys)
    assert bare["error"] == "bare is not watched; stepwell watched lists the tables that are"
    assert orders == {"table": "orders", "schema": "public", "name": "orders", "entries": 2, "error": None}
    assert stepwell(dsn, "unwatch", "orders") == 1
    assert capsys.readouterr().err == "stepwell: orders is not watched: no table is\n"
    assert stepwell(dsn, "watched") == 1


def test_what_goes_with_a_table_is_counted(shop: Connection, dsn: str, capsys: Capture) -> None:
    stepwell(dsn, "watch", "orders")
    assert stepwell(dsn, "unwatch", "orders") == 0
    stepwell(dsn, "watch", "orders")
    shop.execute("INSERT INTO orders VALUES (1, 'a')")
    assert stepwell(dsn, "unwatch", "orders") == 0
    stepwell(dsn, "watch", "orders")
    shop.execute("INSERT INTO orders VALUES (2, 'b'); DROP TABLE stepwell_log.t1")  # with who knows how many
    assert stepwell(dsn, "unwatch", "orders") == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "any more" in line] == [
        "public.orders is not watched any more; its log was empty; nothing of it is left",
        "public.orders is not watched any more; 1 entry of its past went with it; nothing is left",
        "public.orders is not watched any more; its past went with it; nothing of it is left",
    ]


def test_a_table_is_taken_out_by_its_owner_and_who_is_not_is_told_whom_to_be(
    shop: Connection, dsn: str, debugger: str, capsys: Capture
) -> None:
    stepwell(dsn, "watch", "orders")
    capsys.readouterr()
    said = f"only its owner may take that out; run this as {shop.info.user}\n"
    assert stepwell(debugger, "unwatch", "orders") == 2
    assert capsys.readouterr().err == f"stepwell: public.orders stays watched: {said}"
    shop.execute("DROP TABLE orders")
    assert stepwell(debugger, "unwatch", "orders") == 2
    assert capsys.readouterr().err.endswith(said)


def test_names_in_commands_can_be_pasted(shop: Connection, dsn: str, capsys: Capture) -> None:
    shop.execute('CREATE TABLE "It\'s $odd!" (id int PRIMARY KEY)')
    stepwell(dsn, "watch", '"It\'s $odd!"')
    _, *words = shlex.split(capsys.readouterr().out.partition("; out: ")[2])
    assert stepwell(dsn, *words) == 0


def test_a_dry_run_prints_the_sql_and_changes_nothing(shop: Connection, dsn: str, capsys: Capture) -> None:
    assert stepwell(dsn, "watch", "--dry-run", "orders", "bare") == 2
    text = capsys.readouterr().out
    assert shop.execute("SELECT to_regnamespace('stepwell_log')").fetchone() == (None,)
    assert stepwell(dsn, "watch", "--dry-run", "--json", "orders") == 0
    (told,) = objects(capsys)
    assert (told["again"], told["error"]) == (False, None)
    assert text == f"-- watch public.orders\n{told['sql']}\n"
    shop.execute(text)
    assert stepwell(dsn, "watched") == 0
    assert "exact" in capsys.readouterr().out


def test_no_name_in_a_dry_run_is_run(shop: Connection, dsn: str, capsys: Capture) -> None:
    hostile = '"a\nDROP TABLE bare; --"'
    shop.execute(f"CREATE TABLE {hostile} (id int PRIMARY KEY)")
    assert stepwell(dsn, "watch", "--dry-run", hostile) == 0
    shop.execute(capsys.readouterr().out)
    assert shop.execute("SELECT to_regclass('bare') IS NOT NULL").fetchone() == (True,)
    assert stepwell(dsn, "unwatch", hostile) == 0


@pytest.mark.usefixtures("shop")
def test_json_tells_what_was_done_and_why_not(dsn: str, capsys: Capture) -> None:
    assert stepwell(dsn, "watch", "--json", "orders", "bare") == 2
    orders, bare = objects(capsys)
    assert (orders["schema"], orders["name"], orders["again"], orders["sql"]) == (
        "public",
        "orders",
        False,
        None,
    )
    assert (bare["schema"], bare["again"], bare["notes"]) == (None, None, [])
    assert "no primary key" in str(bare["error"])
