"""SQL that asks for the time gets that of a replay in the text itself."""

from datetime import UTC, datetime

import pytest

from stepwell.core.sql_clock import at_time

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
    ],
)
def test_what_asks_for_the_time_is_told(text: str, expected: str | None) -> None:
    if expected is None:
        expected = f"VALUES ({told('time', 'localtime')}, {told('timestamp(10)', 'localtimestamp')})"
    assert at_time(text, BEGAN, NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT now, t.now, t.current_date, 1 AS current_date, mine.now(), now(1) FROM t",
        """SELECT 'now()', "current_date", $$ now() $$ /* now() */ FROM t""",
        "CREATE TEMP TABLE t (at timestamptz DEFAULT now())",
        "CALL p(now())",
        "SET x = current_date",
        "no SQL, now()",
        "'",
        "",
    ],
)
def test_what_does_not_or_takes_no_subquery_stays(text: str) -> None:
    assert at_time(text, BEGAN, NOW) == text
