"""Rows that an agent makes get the keys that they got then, be these numbers or drawn by chance."""

from __future__ import annotations

import pytest
from psycopg.types.enum import EnumInfo, register_enum

from stepwell import Run
from stepwell.core.divergence import Kind
from tests.rerun.orders import again, assert_same, do, make, make_watched, record, tell

MADE = """
CREATE TYPE kind AS ENUM ('low', 'high');
CREATE TABLE events (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), what text, kind kind DEFAULT 'low');
CREATE VIEW lately AS SELECT * FROM events;
"""


@pytest.fixture(scope="module")
def dsn(runs_dsn: str) -> str:
    make(runs_dsn)
    make_watched(runs_dsn, MADE, "events")
    return runs_dsn


def several(run: Run) -> None:
    own = run.connection
    one = "INSERT INTO events (what) VALUES ('one') RETURNING id"
    run.tool(tell, str(own.execute(one).fetchone()[0]))
    own.execute("SAVEPOINT before")
    own.execute(one)
    own.execute("ROLLBACK TO before")
    run.tool(tell, str(own.execute(one).fetchone()[0]))
    own.commit()
    found = own.execute("INSERT INTO events (what) VALUES ('two'), ('three') RETURNING id, what").fetchall()
    own.rollback()
    found = own.execute(
        "INSERT INTO events (what) SELECT 'more' FROM generate_series(1, 3) RETURNING id"
    ).fetchall()
    found += own.execute("SELECT id FROM events WHERE what = 'more'").fetchall()
    own.commit()
    run.tool(tell, [str(row[0]) for row in found])


def test_keys_that_are_drawn_are_those_of_then(dsn: str) -> None:
    recorded = record(dsn, several)
    do(dsn, "DELETE FROM events")
    assert_same(again(dsn, recorded, several))


def test_a_row_that_was_not_made_then_gets_one_of_its_own(dsn: str) -> None:
    def one_more(run: Run) -> None:
        several(run)
        (key,) = run.connection.execute("INSERT INTO events (what) VALUES ('x') RETURNING id").fetchone()
        assert run.connection.execute("SELECT FROM events WHERE id = %s", [key]).fetchall() == [()]

    report = again(dsn, record(dsn, several), one_more)
    assert (report.divergence, report.refused) == (None, None)


def test_a_number_that_is_taken_from_a_sequence_is_that_of_then(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection
        (number,) = own.execute("SELECT nextval('orders_id_seq')").fetchone()
        own.execute("INSERT INTO orders (id) VALUES (%s)", [number])
        own.commit()
        run.tool(tell, number)

    assert_same(again(dsn, record(dsn, agent), agent))


def test_a_view_of_the_owners_is_named_for_it_shows_todays_rows(dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(tell, run.connection.execute("SELECT count(*) FROM lately").fetchone()[0])

    recorded = record(dsn, agent)
    do(dsn, "INSERT INTO events (what) VALUES ('since')")
    report = again(dsn, recorded, agent)
    assert report.divergence is not None
    assert "public.lately is a view: what it shows is as it is today" in report.notes


def test_that_an_enum_is_a_text_in_the_past_is_said_where_it_matters(dsn: str) -> None:
    def agent(run: Run) -> None:
        info = EnumInfo.fetch(run.connection, "kind")
        assert info is not None
        register_enum(info, run.connection)
        found = run.connection.execute(
            "SELECT count(*) FROM events WHERE kind = %s", [info.enum.low]
        ).fetchone()
        run.tool(tell, found[0] >= 0)

    report = again(dsn, record(dsn, agent), agent)
    assert report.divergence is not None
    assert report.divergence.kind is Kind.RAISED
    assert any("of an enum, a composite or an extension's type is a text" in note for note in report.notes)
