"""The list of runs by part of a name or the beginning of an id: the same with names that are few and with many."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from stepwell.store import filters, reading
from stepwell.store.queries import query
from tests.store.rows import add_run, run_id

HIGH = UUID("ffffffff-ffff-4fff-8fff-ffffffffffff")
NAMES = [None, "100% done", "snake_case", "back\\slash", "über"]
NEWEST_FIRST = NAMES[::-1]


def names(dsn: str, text: str, **options: Any) -> list[str | None]:
    with psycopg.connect(dsn) as connection:
        return [run.name for run in reading.list_runs(connection, limit=100, text=text, **options)]


@pytest.fixture(params=["few names", "more names than are looked at", "no index"])
def named_runs(request: pytest.FixtureRequest, schema_dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run a minute, of each of NAMES."""
    for number, name in enumerate(NAMES, 1):
        add_run(schema_dsn, run_id(number), name=name, minute=number)
    if request.param == "more names than are looked at":
        monkeypatch.setattr(filters, "MOST_NAMES", len(NAMES) - 2)
    if request.param == "no index":
        with psycopg.connect(schema_dsn) as connection:
            connection.execute("DROP INDEX agent_runs_name")
    return schema_dsn


def test_what_is_typed_is_part_of_a_name_or_begins_an_id(named_runs: str) -> None:
    expected = {
        "": NEWEST_FIRST,
        "%": ["100% done"],
        "_": ["snake_case"],
        "\\": ["back\\slash"],
        "0% D": ["100% done"],
        "SNAKE": ["snake_case"],
        "ÜB": ["über"],
        "00000001": [None],
        "00000001-": [None],
        "0000000100004000": [None],
        "0000000": NEWEST_FIRST,
        "1-0000": [],
        "0000-0001": [],
        "'; --": [],
    }
    assert {text: names(named_runs, text) for text in expected} == expected


def test_an_id_may_be_typed_in_capitals(schema_dsn: str) -> None:
    add_run(schema_dsn, HIGH, name="high")
    assert names(schema_dsn, "FFFFFFFF-") == ["high"]


def test_names_are_looked_at_by_an_index_as_long_as_they_are_few(named_runs: str) -> None:
    with psycopg.connect(named_runs) as connection:
        found = filters.filter_of(connection, "A")
        few = len(NAMES) < filters.MOST_NAMES and connection.execute(
            "SELECT to_regclass('agent_runs_name') IS NOT NULL"
        ).fetchone() == (True,)
    assert (found["names"], found["pattern"]) == (
        (["back\\slash", "snake_case"], None) if few else (None, "A")
    )
    assert found["last"] == UUID("afffffff-ffff-ffff-ffff-ffffffffffff")


def test_a_filter_pages_on_and_goes_with_failed_only(schema_dsn: str) -> None:
    for number in range(1, 7):
        status = "failed" if number % 2 else "ok"
        add_run(schema_dsn, run_id(number), name=f"refund {number % 3}", minute=number, status=status)
    assert names(schema_dsn, "refund 1") == ["refund 1", "refund 1"]
    with psycopg.connect(schema_dsn) as connection:
        first = reading.list_runs(connection, limit=2, text="refund", failed=True)
        rest = reading.list_runs(connection, limit=2, text="refund", failed=True, after=first[-1])
    assert [run.run_id for run in (*first, *rest)] == [run_id(5), run_id(3), run_id(1)]


def scanned(plan: Any) -> Iterator[tuple[str, str | None]]:
    yield plan["Node Type"], plan.get("Index Name", plan.get("Relation Name"))
    for child in plan.get("Plans", ()):
        yield from scanned(child)


def test_a_name_that_few_runs_have_is_found_without_looking_at_all_of_them(schema_dsn: str) -> None:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, started_at)"
            " SELECT gen_random_uuid(), 'agent ' || n % 500, 'ok', now() - make_interval(secs => n)"
            " FROM generate_series(1, 10000) AS n"
        )
        connection.execute("ANALYZE agent_runs")
        wanted = filters.filter_of(connection, "agent 77")
        page = {"started": None, "run_id": None, "failed": False, "limit": 100, "patience": 5, **wanted}
        row = connection.execute(b"EXPLAIN (FORMAT JSON) " + query("list_runs"), page).fetchone()
    assert wanted["names"] == ["agent 77"]
    assert row is not None
    found = set(scanned(row[0][0]["Plan"]))
    assert "agent_runs_name" in {name for _, name in found}, json.dumps(row[0], indent=1)
    assert ("Seq Scan", "agent_runs") not in found
