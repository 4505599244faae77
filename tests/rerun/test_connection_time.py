"""SQL of an agent that asks for the time is told that of the replay."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.store.watching import watch
from tests.rerun.orders import again, assert_same, do, make, record, tell

THEN = datetime(2001, 2, 3, 4, 5, 6, 700_000, tzinfo=UTC)


@pytest.fixture(scope="module")
def dsn(runs_dsn: str) -> str:
    make(runs_dsn)
    return runs_dsn


@pytest.fixture(scope="module")
def long_ago(dsn: str) -> RecordedRun:
    """A run that did nothing, in 2001."""
    recorded = record(dsn, lambda _: None)
    return replace(recorded, head=replace(recorded.head, started=THEN))


Read = Callable[..., Any]


@pytest.fixture
def read(dsn: str, long_ago: RecordedRun) -> Read:
    """What an agent gets in a replay of that, from these texts in one transaction."""

    def do(*texts: str, writing: bool = False) -> Any:
        found: list[Any] = []

        def agent(run: Run) -> None:
            own = run.connection
            own.execute("SET TIME ZONE 'UTC'")
            for text in texts:
                cursor = own.cursor(row_factory=dict_row).execute(text)
                found.append(cursor.fetchall() if cursor.description else None)

        assert again(dsn, long_ago, agent, writing=writing).same
        return found[-1]

    return do


def test_every_way_of_asking_is_answered_under_its_own_name(read: Read) -> None:
    (row,) = read("SELECT now(), current_date, localtimestamp(0), localtime, current_timestamp AS at")
    naive = THEN.replace(tzinfo=None)
    assert row == {
        "now": THEN,
        "current_date": date(2001, 2, 3),
        "localtimestamp": datetime(2001, 2, 3, 4, 5, 7),
        "localtime": naive.time(),
        "at": THEN,
    }


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM orders WHERE made > now() + interval '1 year'",
        "SELECT date_trunc('year', made - now()), count(*) AS n FROM orders GROUP BY date_trunc('year', made - now())",
        "WITH t AS (SELECT now() AS at) SELECT count(*) AS n FROM orders, t WHERE made > at",
        "SELECT sum(n) AS n FROM (SELECT 1 AS n FROM orders WHERE extract(year FROM now()) = 2001 ORDER BY now()) t",
        "SELECT count(*) AS n FROM orders CROSS JOIN (VALUES (current_date)) AS v (day) WHERE made::date > day",
    ],
)
def test_a_query_finds_what_it_found_then(read: Read, text: str) -> None:
    (all_of_them,) = read("SELECT count(*) AS n FROM orders")
    (row,) = read(text)
    assert row["n"] == all_of_them["n"] > 0


def test_what_an_agent_writes_has_the_time_of_then(read: Read) -> None:
    write = "UPDATE orders SET made = now() WHERE id = 1"
    assert read(write, "SELECT made FROM orders WHERE id = 1", writing=True) == [{"made": THEN}]


def test_what_a_column_is_given_by_itself_and_has_to_be_is_told_too(dsn: str, long_ago: RecordedRun) -> None:
    columns = ("day date DEFAULT current_date", "at timestamp DEFAULT (now() AT TIME ZONE 'utc')")
    owner = f"CREATE TABLE offers (id int PRIMARY KEY, {', '.join(columns)}, until timestamptz CHECK (until > now()))"
    do(dsn, owner)
    with psycopg.connect(dsn, autocommit=True) as connection:
        watch(connection, "offers")

    def agent(run: Run) -> None:
        own = run.connection
        own.execute("SET TIME ZONE 'UTC'")
        for number in range(2):
            now = THEN.replace(tzinfo=None) + timedelta(days=number)
            until = now + timedelta(hours=1)
            own.execute("INSERT INTO offers (id, until) VALUES (%s, %s)", [number, until])
            own.execute("SAVEPOINT one")
            with pytest.raises(psycopg.errors.CheckViolation):
                own.execute("INSERT INTO offers (id, until) VALUES (7, %s)", [now - timedelta(hours=1)])
            own.execute("ROLLBACK TO one")
            found = own.execute(
                "SELECT day, at, until > now() FROM offers WHERE id = %s", [number]
            ).fetchone()
            assert found == (now.date(), now, True)
            own.commit()
            time.sleep(86400)

    assert again(dsn, long_ago, agent, writing=True).same


def test_a_transaction_has_one_time_and_the_next_one_another(dsn: str, long_ago: RecordedRun) -> None:
    minute = timedelta(minutes=1)

    def agent(run: Run) -> None:
        own = run.connection
        times = "SELECT now(), clock_timestamp()"
        assert own.execute(times).fetchone() == (THEN, THEN)
        time.sleep(60)
        assert own.execute(times).fetchone() == (THEN, THEN + minute)
        own.commit()
        assert own.execute(times).fetchone() == (THEN + minute, THEN + minute)
        own.commit()
        own.autocommit = True
        time.sleep(60)
        assert own.execute(times).fetchone() == (THEN + 2 * minute, THEN + 2 * minute)
        with own.transaction():
            own.execute("SELECT 1")
            time.sleep(60)
            assert own.execute("SELECT now()").fetchone() == (THEN + 2 * minute,)

    assert again(dsn, long_ago, agent).same


def test_one_that_awaits_its_connection_is_told_too(dsn: str, long_ago: RecordedRun) -> None:
    async def agent(run: Run) -> None:
        own = run.connection
        assert isinstance(own, psycopg.AsyncConnection)
        cursor = await own.execute("SELECT now() - %s", [timedelta(days=1)])
        assert await cursor.fetchone() == (THEN - timedelta(days=1),)

    assert again(dsn, long_ago, agent).same


def test_a_block_has_the_time_at_which_it_begins(dsn: str, long_ago: RecordedRun) -> None:
    minute = timedelta(minutes=1)

    def agent(run: Run) -> None:
        own = run.connection
        for number, own.autocommit in enumerate([False, True]):
            before = THEN + 3 * number * minute
            assert own.execute("SELECT now()").fetchone() == (before,)
            own.commit()
            time.sleep(60)
            with own.transaction():
                time.sleep(60)
                assert own.execute("SELECT now()").fetchone() == (before + minute,)
            time.sleep(60)

    assert again(dsn, long_ago, agent).same


def test_a_transaction_that_a_tool_has_begun_is_as_old_as_that_step(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection

        def note() -> None:
            own.execute("INSERT INTO notes (body) VALUES ('x')")
            time.sleep(0.02)

        own.execute("SELECT now()")
        own.commit()
        run.tool(note)
        began, now = own.execute("SELECT now(), clock_timestamp()").fetchone()
        run.tool(tell, timedelta(seconds=0.02) <= now - began)

    assert again(dsn, record(dsn, agent), agent).same


@pytest.mark.parametrize(
    "text",
    [
        "SELECT now(), nosuch FROM orders",
        "SELECT id FROM orders WHERE made > now() - interval '7 days' AND made <= CURRENT_TIMESTAMP AND state = 'x'",
        "SELECT count(*)\nFROM orders\nWHERE now() > made AND id = %(id)s AND now() + 1",
        "INSERT INTO orders (made, nosuch) VALUES (now(), 1)",
        "UPDATE orders SET made = now() WHERE now() = 'never'",
        "SELECT (now()",
    ],
)
@pytest.mark.parametrize("name", ["", "of the server"])
def test_an_error_tells_of_the_text_that_the_agent_has_sent(dsn: str, text: str, name: str) -> None:
    def agent(run: Run) -> None:
        with run.connection.cursor(name=name or None) as cursor:
            try:
                cursor.execute(text, {"id": 1})
            except psycopg.Error as problem:
                run.tool(tell, str(problem))
            else:
                raise AssertionError
        run.connection.rollback()

    assert_same(again(dsn, record(dsn, agent), agent))
