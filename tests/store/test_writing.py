"""The statements of a recorder: numbering, counting and finishing, one at a time and in batches."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from stepwell.errors import DatabaseError
from stepwell.store import writing
from stepwell.store.rows import Ended, Finish, Opened, Resumed, Start

Row = dict[str, Any]
NOW = 1_790_000_000_123_456


@pytest.fixture
def connection(schema_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        writing.prepare(connection, durable=True)
        yield connection


@pytest.fixture
def run_id(connection: psycopg.Connection[Any]) -> UUID:
    return opened(connection)


def opened(connection: psycopg.Connection[Any]) -> UUID:
    run_id = uuid4()
    writing.open_run(
        connection, Opened(run_id, "a run", '{"a": 1}', NOW, 7, '{"index": 1}', "Asia/Tokyo", "{}")
    )
    return run_id


def start(run_id: UUID, **given: Any) -> Start:
    return Start(run_id, "tool_call", None, "search", None, None, NOW, "{}", None)._replace(**given)


def finish(run_id: UUID, number: int, **given: Any) -> Finish:
    return Finish(run_id, number, "[1]", None, None, NOW + 1500)._replace(**given)


def begin(connection: psycopg.Connection[Any], *rows: Start) -> list[int | None]:
    if len(rows) == 1:
        return [writing.start_step(connection, rows[0])]
    return writing.write_steps(connection, [], rows)[1]


def end(connection: psycopg.Connection[Any], *rows: Finish) -> list[bool]:
    if len(rows) == 1:
        return [writing.finish_step(connection, rows[0])]
    return writing.write_steps(connection, rows, [])[0]


def read(connection: psycopg.Connection[Any], table: str, run_id: UUID) -> list[Row]:
    order = "step_number" if table == "agent_steps" else "run_id"
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(f"SELECT * FROM {table} WHERE run_id = %s ORDER BY {order}".encode(), (run_id,))
        return cursor.fetchall()


def facts(connection: psycopg.Connection[Any], run_id: UUID) -> list[tuple[int | None, ...]]:
    names = ("step_number", "finished_order", "finished_before", "started_before")
    return [tuple(row[name] for name in names) for row in read(connection, "agent_steps", run_id)]


def test_a_batch_means_what_its_steps_mean_one_at_a_time(connection: Any) -> None:
    one, many = opened(connection), opened(connection)
    given = [("z", None), ("b", "[]"), ("z", None), (None, "[]")]

    def starts(run_id: UUID) -> list[Start]:
        return [start(run_id, agent=agent, output=output) for agent, output in given]

    assert [begin(connection, row) for row in starts(one)] == [[1], [2], [3], [4]]
    assert begin(connection, *starts(many)) == [1, 2, 3, 4]
    for number in (3, 1):
        assert end(connection, finish(one, number)) == [True]
    assert end(connection, finish(many, 3), finish(many, 1)) == [True, True]
    expected = [(1, 4, 0, 4), (2, 1, 0, 2), (3, 3, 1, 4), (4, 2, 1, 4)]
    assert facts(connection, one) == facts(connection, many) == expected
    for run_id in (one, many):
        (row,) = read(connection, "agent_runs", run_id)
        assert (row["steps"], row["finished"], row["agents"]) == (4, 4, ["z", "b"])


def test_every_column_arrives_alike_from_both_statements(connection: Any, run_id: UUID) -> None:
    text = 'x"\\{}, é 😀' * 50
    row = start(
        run_id,
        agent="a",
        name=text,
        parent_step=7,
        seed=-(2**63),
        input=f'["{"é" * 9}"]',
        input_exact='{"v": 1}',
    )
    done = finish(
        run_id,
        0,
        output="null",
        output_exact='{"v": 2}',
        error='{"type": "E"}',
        tokens_in=1,
        tokens_out=2,
        finish_reason="stop",
        call_hash=2**63 - 1,
        loop='{"laps": 3}',
    )
    assert begin(connection, row) == [1]
    assert begin(connection, row, row) == [2, 3]
    end(connection, done._replace(step_number=1))
    end(connection, done._replace(step_number=2), done._replace(step_number=3))
    counted = {"id", "created_at", "step_number", "finished_order", "finished_before", "started_before"}
    counted |= {"snapshot_before", "snapshot_after"}
    first, *others = [
        {name: value for name, value in found.items() if name not in counted}
        for found in read(connection, "agent_steps", run_id)
    ]
    assert others == [first, first]
    assert (first["name"], first["seed"], first["parent_step"]) == (text, -(2**63), 7)
    assert (first["output"], first["error"], first["call_hash"]) == (None, {"type": "E"}, 2**63 - 1)
    assert first["started_at"].timestamp() == NOW / 1e6
    assert (first["finished_at"] - first["started_at"]).microseconds == 1500
    assert read(connection, "agent_runs", run_id)[0]["loop"] == {"laps": 3}


def test_several_runs_in_a_batch_count_for_themselves(connection: Any) -> None:
    one, two = opened(connection), opened(connection)
    assert begin(connection, start(one), start(two), start(one), start(two)) == [1, 1, 2, 2]
    end(connection, finish(one, 2), finish(two, 1), finish(one, 1))
    assert facts(connection, one) == [(1, 2, 0, 2), (2, 1, 0, 2)]
    assert facts(connection, two) == [(1, 1, 0, 2), (2, None, 0, None)]


def test_a_run_that_is_not_there_gets_no_steps_and_its_neighbours_do(connection: Any, run_id: UUID) -> None:
    assert begin(connection, start(uuid4())) == [None]
    assert begin(connection, start(uuid4()), start(run_id)) == [None, 1]


@pytest.mark.parametrize("others", [0, 1])
def test_steps_wait_for_nothing_newer_than_what_they_know(connection: Any, run_id: UUID, others: int) -> None:
    begin(connection, start(run_id))
    rows = [start(run_id, known=0), *[start(run_id)] * others]
    assert begin(connection, *rows) == [None] * len(rows)
    assert read(connection, "agent_runs", run_id)[0]["steps"] == 1
    rows[0] = start(run_id, known=1)
    assert begin(connection, *rows) == list(range(2, 2 + len(rows)))


def test_a_step_is_finished_once_however_often_it_is_sent(connection: Any, run_id: UUID) -> None:
    begin(connection, start(run_id), start(run_id))
    end(connection, finish(run_id, 1, output="1"))
    for seen in (None, '{"server": "another"}'):
        assert end(connection, finish(run_id, 1, output="2", seen=seen)) == [False]
    with pytest.raises(psycopg.errors.DivisionByZero):
        end(connection, finish(run_id, 1, output="2"), finish(run_id, 2))
    assert [row["output"] for row in read(connection, "agent_steps", run_id)] == [1, None]
    assert end(connection, finish(run_id, 2)) == [True]
    assert read(connection, "agent_runs", run_id)[0]["finished"] == 2


def test_a_batch_finishes_steps_before_it_begins_others(connection: Any, run_id: UUID) -> None:
    other = opened(connection)
    begin(connection, start(run_id), start(run_id))
    done, numbers = writing.write_steps(
        connection,
        [finish(run_id, 2), finish(run_id, 1)],
        [start(run_id), start(other), start(run_id, output="1")],
    )
    assert (done, numbers) == ([True, True], [3, 1, 4])
    assert facts(connection, run_id) == [(1, 2, 0, 2), (2, 1, 0, 2), (3, None, 2, None), (4, 3, 2, 4)]
    (row,) = read(connection, "agent_runs", run_id)
    assert (row["steps"], row["finished"]) == (4, 3)


def test_a_run_with_steps_that_know_too_little_gets_nothing_and_its_neighbours_do(
    connection: Any, run_id: UUID
) -> None:
    other = opened(connection)
    begin(connection, start(run_id), start(run_id), start(other))
    done, numbers = writing.write_steps(
        connection,
        [finish(run_id, 1), finish(other, 1)],
        [start(run_id, known=1, output="1"), start(other), start(run_id)],
    )
    assert (done, numbers) == ([False, True], [None, 2, None])
    (row,) = read(connection, "agent_runs", run_id)
    assert (row["steps"], row["finished"]) == (2, 0)


def test_new_agents_of_a_batch_are_listed_in_their_order(connection: Any, run_id: UUID) -> None:
    begin(connection, start(run_id, agent="b"), start(run_id))
    names = ['q"\\', "b", "{a,NULL}", "NULL", "a b"]
    begin(connection, *[start(run_id, agent=name) for name in names], start(opened(connection), agent="c"))
    assert read(connection, "agent_runs", run_id)[0]["agents"] == ["b", *(n for n in names if n != "b")]


def test_of_several_loops_in_a_batch_the_last_is_kept(connection: Any, run_id: UUID) -> None:
    begin(connection, *[start(run_id)] * 3)
    rows = [finish(run_id, 1, loop='{"laps": 3}'), finish(run_id, 2, loop='{"laps": 4}'), finish(run_id, 3)]
    end(connection, *rows)
    assert read(connection, "agent_runs", run_id)[0]["loop"] == {"laps": 4}


def test_opening_a_run_twice_begins_one(connection: Any, run_id: UUID) -> None:
    writing.open_run(connection, Opened(run_id, "another", None, NOW, 8))
    (row,) = read(connection, "agent_runs", run_id)
    assert (row["name"], row["tags"], row["started_at"].timestamp()) == ("a run", {"a": 1}, NOW / 1e6)
    assert (row["seed"], row["random"], row["zone"], row["connection"]) == (7, {"index": 1}, "Asia/Tokyo", {})


def test_ending_and_resuming(connection: Any, run_id: UUID) -> None:
    begin(connection, start(run_id))
    assert writing.end_run(connection, Ended(run_id, "failed", NOW, '{"type": "E"}'))
    assert read(connection, "agent_runs", run_id)[0]["status"] == "failed"
    assert writing.resume_run(connection, run_id) == Resumed(1, "a run", {"a": 1}, 7)
    (row,) = read(connection, "agent_runs", run_id)
    assert (row["status"], row["error"], row["finished_at"]) == ("running", None, None)
    assert not writing.end_run(connection, Ended(uuid4(), "ok", NOW))
    assert writing.resume_run(connection, uuid4()) is None


def test_what_a_run_came_to_stays_until_a_later_end_says_otherwise(connection: Any, run_id: UUID) -> None:
    def end(**given: Any) -> list[object]:
        assert writing.end_run(connection, Ended(run_id, "ok", NOW)._replace(**given))
        (row,) = read(connection, "agent_runs", run_id)
        return [row[name] for name in ("result", "result_exact", "drawn")]

    assert end() == [None, None, None]
    assert end(result="[1]", result_exact='["tuple"]', drawn='["0 ff"]') == [[1], ["tuple"], ["0 ff"]]
    assert end() == [[1], ["tuple"], ["0 ff"]]
    assert end(result="2") == [2, None, ["0 ff"]]


@pytest.mark.parametrize("count", [1, 2])
def test_one_step_and_several_keep_what_a_replay_gives_back(
    connection: Any, run_id: UUID, count: int
) -> None:
    begin(connection, *[start(run_id, lane=n, drawn=f'["0{n}"]') for n in range(count)])
    end(connection, *[finish(run_id, n + 1, form=f"stream {n}", random_after=str(n)) for n in range(count)])
    rows = read(connection, "agent_steps", run_id)
    assert [(r["lane"], r["drawn"], r["form"], r["random_after"]) for r in rows] == [
        (n, [f"0{n}"], f"stream {n}", n) for n in range(count)
    ]


def test_steps_begun_just_so_are_found_again(connection: Any, run_id: UUID) -> None:
    row = start(run_id, agent="a", input='{"b": 1, "a": [1.0]}')
    begin(
        connection,
        row,
        row,
        row._replace(started_at=NOW + 1),
        row._replace(input="{}"),
        row._replace(agent=None),
    )
    assert writing.find_started(connection, row, 0) == [1, 2]
    assert writing.find_started(connection, row, 1) == [2]


def test_rows_are_found_by_key_even_before_there_are_statistics(connection: Any, run_id: UUID) -> None:
    for _ in range(10):
        numbers = begin(connection, *[start(run_id)] * 3)
        end(connection, *(finish(run_id, number) for number in numbers if number))
    plans = connection.execute("SELECT generic_plans + custom_plans FROM pg_prepared_statements").fetchall()
    assert plans
    connection.execute("SELECT pg_stat_force_next_flush()")
    scans = connection.execute(
        "SELECT sum(seq_scan), sum(idx_tup_fetch) FILTER (WHERE relname = 'agent_steps')"
        " FROM pg_stat_user_tables WHERE relname LIKE 'agent_%'"
    ).fetchone()
    assert scans[0] == 0
    assert scans[1] == 30, "each step that finishes is looked up once, and no other step of its run"


def test_a_database_without_tables_is_refused_with_the_remedy(dsn: str) -> None:
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        pytest.raises(DatabaseError, match=r"no table agent_runs .*stepwell init"),
    ):
        writing.prepare(connection, durable=True)
