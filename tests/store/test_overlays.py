"""What is written beside the past of a table, and how it gives way to what was recorded."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from stepwell.core.past import Instant, Origin
from stepwell.errors import DatabaseError
from stepwell.store import changes
from stepwell.store.connect import connect, resolve
from stepwell.store.held import Held
from stepwell.store.watching import watch
from tests.rerun.orders import do

Connection = psycopg.Connection[Any]
MAKE = """
CREATE TABLE pairs (a int, "B b" text, body jsonb, "100%" numeric(8,2) DEFAULT 1.50, at timestamptz DEFAULT now(),
                    p int, PRIMARY KEY (a, "B b"));
INSERT INTO pairs (a, "B b", body) VALUES (1, 'x', '{"k": 1}'), (1, 'y', NULL), (2, 'x', '[]');
CREATE TABLE parts (id bigint PRIMARY KEY, name text, size int GENERATED ALWAYS AS (length(name)) STORED)
    PARTITION BY RANGE (id);
CREATE TABLE few PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE many PARTITION OF parts FOR VALUES FROM (10) TO (1000);
INSERT INTO parts VALUES (1, 'one'), (11, 'eleven');
CREATE TYPE mood AS ENUM ('bad', 'good');
CREATE TABLE typed (made int PRIMARY KEY, price numeric(8,2), code varchar(3), mood mood,
                    third numeric(8,2) GENERATED ALWAYS AS (price / 3) STORED);
CREATE SEQUENCE shared START 500 INCREMENT 10;
CREATE TABLE numbered (id int PRIMARY KEY DEFAULT nextval('shared'), name text NOT NULL);
INSERT INTO numbered (name) VALUES ('first');
CREATE TABLE stamped (id int PRIMARY KEY, name text, stamp int);
INSERT INTO stamped VALUES (1, 'one', 0);
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.stamp := old.stamp + 1; RETURN new; END $$;
CREATE TRIGGER stamp BEFORE UPDATE ON stamped FOR EACH ROW EXECUTE FUNCTION stamp();
"""


@pytest.fixture
def owner(schema_dsn: str) -> Iterator[Connection]:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(MAKE)
        for table in ("pairs", "parts", "typed", "numbered", "stamped"):
            watch(connection, table)
        yield connection


def now(owner: Connection) -> Instant:
    """As the owner sees it, with no transaction of its own."""
    row = owner.execute("SELECT pg_current_snapshot()::text, pg_backend_pid()").fetchone()
    assert row is not None
    return Instant(row[0], None, 0, row[1])


@pytest.fixture
def held(schema_dsn: str, owner: Connection) -> Iterator[Held]:
    """As of now, with overlays."""
    target = resolve(schema_dsn)
    with closing(Held(target, lambda: connect(target), writing=True)) as held:
        held.is_turned()
        assert held.turn(now(owner), None) == []
        yield held


def rows(held: Held, text: str) -> list[Any]:
    return held.raw.execute(text).fetchall()


def test_rows_are_written_and_removed_by_all_of_their_key(held: Held, owner: Connection) -> None:
    held.raw.execute("""UPDATE pairs SET body = '{"k": 2}' WHERE a = 1 AND "B b" = 'x'""")
    held.raw.execute("DELETE FROM pairs WHERE a = 2")
    held.raw.execute("""UPDATE pairs SET a = a + 1, "B b" = 'z' WHERE "B b" = 'y'""")
    held.raw.execute("""INSERT INTO pairs (a, "B b") VALUES (2, 'x')""")
    assert rows(held, 'SELECT a, "B b", body, "100%"::text FROM pairs ORDER BY 1, 2') == [
        (1, "x", {"k": 2}, "1.50"),
        (2, "x", None, "1.50"),
        (2, "z", None, "1.50"),
    ]
    assert owner.execute("SELECT count(*) FROM pairs").fetchone() == (3,)


def test_keys_may_be_moved_along_in_one_statement_as_in_a_table(held: Held) -> None:
    held.raw.execute("INSERT INTO parts (id, name) SELECT n, 'n' || n FROM generate_series(20, 29) AS n")
    held.raw.execute("UPDATE parts SET id = id + 100, name = name || '!' WHERE id >= 20")
    held.raw.execute("WITH gone AS (DELETE FROM parts WHERE id < 20 RETURNING *) INSERT INTO parts (id, name)"
                     " SELECT id + 50, name FROM gone")  # fmt: skip
    assert rows(held, "SELECT id, name, size FROM parts WHERE id < 122 ORDER BY id") == [
        (51, "one", 3),
        (61, "eleven", 6),
        (120, "n20!", 4),
        (121, "n21!", 4),
    ]
    held.raw.execute("SAVEPOINT taken")
    with pytest.raises(psycopg.errors.UniqueViolation) as caught:
        held.raw.execute("INSERT INTO parts (id, name) VALUES (51, 'again')")
    assert caught.value.diag.constraint_name == "parts_pkey"
    assert caught.value.diag.message_detail == "Key (id)=(51) already exists."


def test_a_value_is_made_what_its_column_takes(held: Held) -> None:
    made = "INSERT INTO typed VALUES (%s, %s, %s, %s) RETURNING price::text, third::text, mood"
    assert held.raw.execute(made, (1, "9.995", "abc", "good")).fetchall() == [("10.00", "3.33", "good")]
    for values, sqlstate in (((2, 1, "abcd", "bad"), "22001"), ((2, 1, "abc", "fine"), "22P02")):
        with pytest.raises(psycopg.DataError) as caught, held.raw.transaction():
            held.raw.execute(made, values)
        assert caught.value.sqlstate == sqlstate
    assert rows(held, "UPDATE typed SET price = price * 1.0005 RETURNING price::text") == [("10.01",)]


def test_a_sequence_goes_on_for_this_session_alone(held: Held, owner: Connection) -> None:
    made = "INSERT INTO numbered (name) VALUES ('more') RETURNING id"
    assert [rows(held, made), rows(held, made)] == [[(510,)], [(520,)]]
    assert rows(held, "SELECT nextval('shared')") == [(530,)]
    assert owner.execute("SELECT last_value FROM shared").fetchone() == (500,)


def test_numbers_are_those_that_the_agents_connection_was_given(held: Held, owner: Connection) -> None:
    owner.execute("SELECT nextval('shared'), nextval('shared')")
    owner.execute("INSERT INTO numbered (name) VALUES ('later')")
    target = resolve(owner.info.dsn)
    before = held.found.instant
    with closing(Held(target, lambda: connect(target), writing=True)) as again:
        again.is_turned()
        again.turn(before, None)
        assert rows(again, "INSERT INTO numbered (name) VALUES ('later') RETURNING id") == [(530,)]


def test_what_the_past_has_by_now_is_taken_from_the_overlay(owner: Connection, schema_dsn: str) -> None:
    before = now(owner)
    owner.execute("UPDATE parts SET name = 'uno' WHERE id = 1")
    owner.execute("DELETE FROM parts WHERE id = 11")
    owner.execute("INSERT INTO parts (id, name) VALUES (3, 'three')")
    owner.execute("UPDATE stamped SET name = 'uno'")
    after = now(owner)
    target = resolve(schema_dsn)
    with closing(Held(target, lambda: connect(target), writing=True)) as held:
        held.is_turned()
        held.turn(before, None)
        held.raw.execute("UPDATE parts SET name = 'uno' WHERE id = 1; DELETE FROM parts WHERE id = 11")
        held.raw.execute("INSERT INTO parts (id, name) VALUES (3, 'drei'), (4, 'vier')")
        held.raw.execute("UPDATE stamped SET name = 'uno'")
        held.is_turned()
        assert [each.what for each in held.turn(after, None)] == [
            "wrote other values to parts, key 3: name 'drei', recorded 'three'",
            "wrote other values to stamped, key 1: stamp '0', recorded '1' (or a trigger of stamped did)",
        ]
        assert rows(held, "SELECT id, name FROM parts ORDER BY id") == [(1, "uno"), (3, "three"), (4, "vier")]
        (overlay,) = (each for each in held.overlays if each.standing.table.name == "parts")
        assert [row[0] for row in held.raw.execute(f"SELECT id FROM {overlay.rows.as_string(None)}")] == [4]


def test_nothing_gives_way_to_what_was_there_before(owner: Connection, schema_dsn: str) -> None:
    before = now(owner)
    owner.execute("UPDATE parts SET name = 'uno' WHERE id = 1")
    after = now(owner)
    target = resolve(schema_dsn)
    with closing(Held(target, lambda: connect(target), writing=True)) as held:
        for instant in (after, before, after):
            held.is_turned()
            assert held.turn(instant, None) == []
            if instant == after:
                held.raw.execute("UPDATE parts SET name = 'one' WHERE id = 1")
            assert rows(held, "SELECT name FROM parts WHERE id = 1") == [("one",)]
        held.turn(after, None)
        assert rows(held, "SELECT name FROM parts WHERE id = 1") == [("one",)]


def test_what_the_agents_connection_wrote_is_found_however_much_others_did(
    owner: Connection, schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MOST_ENTRIES", 20)
    instants = [now(owner)]
    do(schema_dsn, "INSERT INTO parts (id, name) SELECT n, 'n' FROM generate_series(100, 140) AS n")
    instants.append(now(owner))
    owner.execute("UPDATE parts SET name = 'uno' WHERE id = 1")
    instants.append(now(owner))
    target = resolve(schema_dsn)
    with closing(Held(target, lambda: connect(target), writing=False)) as held:
        assert [held.wrote(instants[0], each, None) for each in instants] == [False, False, True]


def test_a_standby_has_no_temporary_tables(standby_dsn: str) -> None:
    target = resolve(standby_dsn)
    with closing(Held(target, lambda: connect(target), writing=False)) as held:
        assert held.note == "read with REPEATABLE READ READ ONLY: standby"
    with pytest.raises(DatabaseError, match="which a standby has none of: name its primary with --dsn"):
        Held(target, lambda: connect(target), writing=True)


def test_an_instant_of_another_server_is_none(held: Held) -> None:
    held.is_turned()
    held.turn(held.found.instant, Origin(1, 1))
    assert {str(table.verdict.certainty) for table in held.found.tables} == {"unknown"}
