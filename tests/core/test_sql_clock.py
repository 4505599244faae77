"""SQL that asks for the time gets that of a replay in the text itself."""

from datetime import UTC, datetime

import pytest

from stepwell.core.sql_clock import at_time, in_expression

BEGAN, NOW = (datetime(2026, 3, 1, 12, minute, tzinfo=UTC) for minute in (0, 5))


def told(type_: str, name: str, minute: int = 0) -> str:
    return f"(SELECT CAST(TIMESTAMPTZ '2026-03-01T12:0{minute}:00+00:00' AS {type_}) AS \"{name}\")"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT now()", f"SELECT {told('timestamptz', 'now')}"),
        ("select NOW ( ) + $1", f"select {told('timestamptz', 'now')} + $1"),
        ('SELECT "now"(), 1', f"SELECT {told('timestamptz', 'now')}, 1"),
        ("SELECT pg_catalog.now()", f"SELECT {told('timestamptz', 'now')}"),
        ("SELECT clock_timestamp()", f"SELECT {told('timestamptz', 'clock_timestamp', 5)}"),
        ("SELECT a, current_date", f"SELECT a, {told('date', 'current_date')}"),
        ("(SELECT CURRENT_TIMESTAMP(3))", f"(SELECT {told('timestamptz(3)', 'current_timestamp')})"),
        ("VALUES (localtime, localtimestamp(10))", None),
        (
            "DELETE FROM t WHERE at < now() -- now()",
            f"DELETE FROM t WHERE at < {told('timestamptz', 'now')} -- now()",
        ),
        ("SET a = now(); SELECT now()", f"SET a = now(); SELECT {told('timestamptz', 'now')}"),
        ("SELECT 1; CALL p(now())", "SELECT 1; CALL p(now())"),
        (
            "SELECT extract(day FROM now()) FROM t",
            f"SELECT extract(day FROM {told('timestamptz', 'now')}) FROM t",
        ),
    ],
)
def test_what_asks_for_the_time_is_told(text: str, expected: str | None) -> None:
    if expected is None:
        expected = f"VALUES ({told('time', 'localtime')}, {told('timestamp(10)', 'localtimestamp')})"
    assert at_time(text, BEGAN, NOW).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT now, t.now, t.current_date, 1 AS current_date, mine.now(), now(1) FROM t",
        """SELECT 'now()', "current_date", $$ now() $$ /* now() */ FROM t""",
        "CREATE TEMP TABLE t (at timestamptz DEFAULT now())",
        "CALL p(now())",
        "SET x = current_date",
        "SELECT %(current_date)s, %(localtime)s",
        "EXPLAIN EXECUTE p(now())",
        "COPY t FROM STDIN WHERE at < now()",
        "SELECT * FROM ROWS FROM (now(), f())",
        "no SQL, now()",
        "'",
        "",
    ],
)
def test_what_does_not_or_takes_no_subquery_stays(text: str) -> None:
    assert at_time(text, BEGAN, NOW) == (text, ())


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("SELECT * FROM now()", "SELECT * FROM ", ' AS "now"'),
        ("SELECT * FROM t, now() WHERE at < now", "SELECT * FROM t, ", ' AS "now" WHERE at < now'),
        ("SELECT * FROM t JOIN pg_catalog.now() AS x ON at < x", "SELECT * FROM t JOIN ", " AS x ON at < x"),
        ("DELETE FROM t USING now() x WHERE at < x", "DELETE FROM t USING ", " x WHERE at < x"),
    ],
)
def test_in_place_of_a_table_it_is_no_subquery(text: str, begin: str, end: str) -> None:
    value = "CAST(TIMESTAMPTZ '2026-03-01T12:00:00+00:00' AS timestamptz)"
    assert at_time(text, BEGAN, NOW).text == begin + value + end


def test_what_was_put_in_place_of_what_is_told() -> None:
    made = told("timestamptz", "now"), told("date", "current_date")
    assert at_time("SELECT NOW(), CURRENT_DATE", BEGAN, NOW).instead == (
        (made[0], "NOW()"),
        (made[1], "CURRENT_DATE"),
    )


def test_an_expression_of_a_tables_gets_another_one() -> None:
    given = "timezone('utc'::text, now()) > LOCALTIMESTAMP(0) OR clock_timestamp() > f()"
    assert in_expression(given, "then()") == (
        "timezone('utc'::text, CAST(then() AS timestamptz)) > CAST(then() AS timestamp(0))"
        " OR CAST(then() AS timestamptz) > f()"
    )
