"""Reading the list of runs: paged, filtered, honest about who died, and never by scanning the steps."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.core.liveness import lock_key
from stepwell.core.steps import Loop, RunHead
from stepwell.errors import DatabaseError, NotFoundError, UsageError
from stepwell.store import reading
from stepwell.store.filters import filter_of
from stepwell.store.queries import query
from tests.store.rows import NOON, add_run, add_step, run_id

HIGH = UUID("ffffffff-ffff-4fff-8fff-ffffffffffff")


def listed(dsn: str, limit: int = 100, **options: Any) -> list[RunHead]:
    with psycopg.connect(dsn) as connection:
        return reading.list_runs(connection, limit=limit, **options)


def found(dsn: str, prefix: str) -> RunHead:
    with psycopg.connect(dsn) as connection:
        return reading.find_run(connection, prefix)


def names(runs: list[RunHead]) -> list[str | None]:
    return [run.name for run in runs]


def drop_runs_table(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE agent_runs")


@contextmanager
def recording(dsn: str, *runs: UUID) -> Iterator[None]:
    """A process that has these runs open."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for run in runs:
            connection.execute("SELECT pg_advisory_lock_shared(%s)", [lock_key(run)])
        yield


def test_a_run_comes_with_all_that_the_list_shows(schema_dsn: str) -> None:
    loop = {"name": "search", "first": 4, "last": 9, "period": 1, "laps": 6}
    add_run(
        schema_dsn,
        run_id(1),
        name="refund",
        status="failed",
        tags=Jsonb({"tenant": "a"}),
        steps=9,
        finished=9,
        agents=["planner", "buyer"],
        finished_at=NOON,
        error=Jsonb({"type": "ValueError", "message": "no order"}),
        loop=Jsonb(loop),
        source="swe-agent",
    )
    (run,) = listed(schema_dsn)
    assert run == RunHead(
        run_id(1),
        "failed",
        name="refund",
        tags={"tenant": "a"},
        steps=9,
        agents=("planner", "buyer"),
        started=NOON,
        finished=NOON,
        error="ValueError: no order",
        loop=Loop(**loop),  # type: ignore[arg-type]  # a mapping of mixed values
        source="swe-agent",
    )


def test_pages_cover_runs_that_began_in_the_same_instant_once(schema_dsn: str) -> None:
    for number in range(1, 11):
        add_run(schema_dsn, run_id(number), minute=number // 5)
    pages = []
    after = None
    while page := listed(schema_dsn, 3, after=after):
        pages.append(page)
        after = page[-1]
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert [run.run_id for page in pages for run in page] == [run_id(number) for number in range(10, 0, -1)]


def test_a_running_run_whose_lock_is_gone_has_died(schema_dsn: str, dsn: str) -> None:
    add_run(schema_dsn, run_id(1), name="open")
    add_run(schema_dsn, HIGH, name="open, its key a negative number", minute=1)
    add_run(schema_dsn, run_id(2), name="killed", minute=2)
    add_run(schema_dsn, run_id(3), name="locked elsewhere", minute=3)
    with recording(schema_dsn, run_id(1), HIGH), recording(dsn, run_id(3)):
        alive = {run.name: run.status for run in listed(schema_dsn)}
        assert found(schema_dsn, str(HIGH)).status == "running"
    assert alive == {
        "open": "running",
        "open, its key a negative number": "running",
        "killed": "died",
        "locked elsewhere": "died",
    }
    assert {run.status for run in listed(schema_dsn)} == {"died"}
    assert found(schema_dsn, str(HIGH)).status == "died"


def test_locks_of_two_numbers_are_not_a_recorders(schema_dsn: str) -> None:
    key = lock_key(add_run(schema_dsn, run_id(1)))
    with psycopg.connect(schema_dsn, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", [key >> 32, key & 0x7FFFFFFF])
        assert [run.status for run in listed(schema_dsn)] == ["died"]


def test_failed_only_keeps_what_failed_and_what_died(schema_dsn: str) -> None:
    statuses = ["ok", "failed", "running", "running", None]
    for number, status in enumerate(statuses, 1):
        add_run(schema_dsn, run_id(number), status=status, minute=number)
    with recording(schema_dsn, run_id(3)):
        runs = listed(schema_dsn, failed=True)
    assert [(run.run_id, run.status) for run in runs] == [(run_id(4), "died"), (run_id(2), "failed")]


def test_a_run_says_which_step_never_finished(schema_dsn: str) -> None:
    add_run(schema_dsn, run_id(1), steps=3, finished=1, minute=1)
    add_step(schema_dsn, run_id(1), 1, name="done", output=Jsonb(None))
    add_step(schema_dsn, run_id(1), 2, name="search_orders")
    add_step(schema_dsn, run_id(1), 3, "thought")
    add_run(schema_dsn, run_id(2), steps=2, finished=1)
    add_step(schema_dsn, run_id(2), 1, name="refund")
    add_step(schema_dsn, run_id(2), 2, name="raised", error=Jsonb({}))
    named, other = listed(schema_dsn)
    assert (named.unfinished, named.unfinished_number, named.unfinished_name) == (2, 3, "thought")
    assert (other.unfinished, other.unfinished_number, other.unfinished_name) == (1, 1, "refund")
    assert found(schema_dsn, str(run_id(2))).unfinished_name == "refund"


def test_a_run_is_found_by_any_prefix_with_or_without_dashes(schema_dsn: str) -> None:
    add_run(schema_dsn, UUID("7f3a1111-2222-4333-8444-555555555555"), name="it")
    add_run(schema_dsn, UUID("7f400000-0000-4000-8000-000000000000"), name="other")
    for prefix in ("7f3", "7F3A1111", "7f3a1111-22", "7f3a11112222", "7f3a1111-2222-4333-8444-555555555555"):
        assert found(schema_dsn, prefix).name == "it"


def test_a_prefix_of_several_runs_is_told_with_their_beginnings(schema_dsn: str) -> None:
    for number in range(1, 4):
        add_run(schema_dsn, UUID(f"7f{number}00000-0000-4000-8000-000000000000"))
    with pytest.raises(UsageError, match="7f matches 3 runs: 7f1000…, 7f2000…, 7f3000…; give more of the id"):
        found(schema_dsn, "7f")


def test_a_prefix_of_no_run_is_told(schema_dsn: str) -> None:
    with pytest.raises(NotFoundError, match="no run's id begins with 7f; list them: stepwell runs"):
        found(schema_dsn, "7f")


@pytest.mark.parametrize("prefix", ["", "-", "xyz", "7f%", "7" * 33])
def test_what_cannot_begin_an_id_is_told(schema_dsn: str, prefix: str) -> None:
    with pytest.raises(UsageError, match="cannot begin a run's id"):
        found(schema_dsn, prefix)


def test_the_newest_and_the_newest_failed_run_have_names(schema_dsn: str) -> None:
    with pytest.raises(NotFoundError, match="no run is recorded here"):
        found(schema_dsn, "@last")
    add_run(schema_dsn, run_id(1), status="failed", name="failed")
    add_run(schema_dsn, run_id(2), status="ok", name="newest", minute=1)
    assert (found(schema_dsn, "@last").name, found(schema_dsn, "@failed").name) == ("newest", "failed")
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("DELETE FROM agent_runs WHERE status = 'failed'")
    with pytest.raises(NotFoundError, match="no run has failed here"):
        found(schema_dsn, "@failed")


def test_a_run_written_by_hand_beside_recorded_ones_is_found(schema_dsn: str) -> None:
    add_run(schema_dsn, run_id(1), name="recorded")
    add_step(schema_dsn, run_id(2), 4, output=Jsonb(1), created_at=NOON)
    assert found(schema_dsn, str(run_id(2))) == RunHead(
        run_id(2), "unknown", steps=1, started=NOON, finished=NOON
    )


def test_of_a_run_written_by_hand_it_is_told_whether_its_last_step_has_an_output(schema_dsn: str) -> None:
    add_step(schema_dsn, run_id(1), 1)
    add_step(schema_dsn, run_id(1), 2, name="send_email", created_at=NOON)
    open_ = found(schema_dsn, str(run_id(1)))
    assert (open_.unfinished, open_.unfinished_number, open_.unfinished_name) == (1, 2, "send_email")
    assert (open_.unanswered, open_.in_doubt) == (True, False)
    add_step(schema_dsn, run_id(1), 3, error=Jsonb({"type": "Boom", "message": "no"}), created_at=NOON)
    raised = found(schema_dsn, str(run_id(1)))
    assert (raised.unfinished, raised.unfinished_number, raised.unfinished_name) == (0, None, None)


def test_a_table_of_steps_alone_lists_its_runs_newest_first(schema_dsn: str) -> None:
    drop_runs_table(schema_dsn)
    for number in range(1, 6):
        for step in range(1, number + 1):
            add_step(schema_dsn, run_id(number), step, created_at=NOON)
    runs = listed(schema_dsn, 3)
    assert [(run.run_id, run.steps, run.status) for run in runs] == [
        (run_id(5), 5, "unknown"),
        (run_id(4), 4, "unknown"),
        (run_id(3), 3, "unknown"),
    ]
    assert [run.steps for run in listed(schema_dsn, 3, after=runs[-1])] == [2, 1]
    assert [run.steps for run in listed(schema_dsn, text="00000002")] == [2]
    assert listed(schema_dsn, failed=True) == []
    assert found(schema_dsn, "@last").run_id == run_id(5)
    with pytest.raises(UsageError, match="0 matches 5 runs"):
        found(schema_dsn, "0")


def test_steps_without_a_time_put_their_run_last_and_page_on(schema_dsn: str) -> None:
    drop_runs_table(schema_dsn)
    for number, time in enumerate([None, NOON, None], 1):
        add_step(schema_dsn, run_id(number), 1)
        with psycopg.connect(schema_dsn) as connection:
            connection.execute("ALTER TABLE agent_steps ALTER created_at DROP NOT NULL")
            connection.execute(
                "UPDATE agent_steps SET created_at = %s WHERE run_id = %s", [time, run_id(number)]
            )
    runs = listed(schema_dsn)
    assert [run.run_id for run in runs] == [run_id(2), run_id(3), run_id(1)]
    assert listed(schema_dsn, after=runs[1]) == [runs[2]]


def test_an_empty_table_of_steps_lists_nothing(schema_dsn: str) -> None:
    assert listed(schema_dsn) == []
    drop_runs_table(schema_dsn)
    assert listed(schema_dsn) == []


def test_without_any_table_the_remedy_is_told(dsn: str) -> None:
    with pytest.raises(DatabaseError, match=r"no table agent_steps in database .* create it: stepwell init"):
        listed(dsn)


def test_runs_are_counted_exactly_while_they_are_few(schema_dsn: str) -> None:
    add_run(schema_dsn, run_id(1))
    with psycopg.connect(schema_dsn) as connection:
        assert reading.count_runs(connection) == (1, True)
    drop_runs_table(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        assert reading.count_runs(connection) is None


def test_beyond_that_the_planners_estimate_is_taken(many_runs: str) -> None:
    with psycopg.connect(many_runs) as connection:
        assert connection.execute(query("estimate_runs"), {"bound": 2999}).fetchone() == (3000, False)
        assert connection.execute(query("estimate_runs"), {"bound": 3000}).fetchone() == (3000, True)


@pytest.fixture
def many_runs(schema_dsn: str) -> str:
    """3,000 runs of ten steps each, one in a hundred of them failed, and their statistics."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, steps, finished, started_at)"
            " SELECT gen_random_uuid(), 'refund', CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'ok' END, 10, 9,"
            " now() - make_interval(secs => n) FROM generate_series(1, 3000) AS n"
        )
        connection.execute(
            "INSERT INTO agent_steps (run_id, step_number, step_type, input, output)"
            " SELECT run_id, n, 'tool_call', '{}', '{}' FROM agent_runs, generate_series(1, 10) AS n"
        )
        connection.execute("ANALYZE agent_runs, agent_steps")
    return schema_dsn


def scans(plan: Any) -> Iterator[tuple[str, str, str | None]]:
    """Table, kind and index of each scan in a plan."""
    if "Relation Name" in plan:
        yield plan["Relation Name"], plan["Node Type"], plan.get("Index Name")
    for child in plan.get("Plans", ()):
        yield from scans(child)


@pytest.mark.parametrize(
    ("failed", "after", "index"),
    [
        (False, False, "agent_runs_newest"),
        (False, True, "agent_runs_newest"),
        (True, False, "agent_runs_not_ok"),
    ],
)
def test_a_page_is_read_from_an_index_and_scans_no_steps(
    many_runs: str, failed: bool, after: bool, index: str
) -> None:
    (last,) = listed(many_runs, 1)
    parameters: dict[str, object] = {
        "started": last.started if after else None,
        "run_id": last.run_id if after else None,
        "failed": failed,
        "limit": 50,
        "patience": 5,
    }
    with psycopg.connect(many_runs) as connection:
        parameters |= filter_of(connection, "")
        row = connection.execute(b"EXPLAIN (FORMAT JSON) " + query("list_runs"), parameters).fetchone()
    assert row is not None
    found = {scan for scan in scans(row[0][0]["Plan"]) if scan[0].startswith("agent_")}
    assert ("agent_runs", "Index Scan", index) in found, json.dumps(row[0], indent=1)
    assert {table for table, kind, _ in found if kind == "Seq Scan"} == set()
    assert len(found) == 2
