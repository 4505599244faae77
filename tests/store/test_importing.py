"""Runs from files in the tables: once, whole, exact, or not at all."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.core import codec
from stepwell.core.recording import Failure, ImportedRun, ImportedStep, run_id
from stepwell.core.world import MISSING
from stepwell.errors import DatabaseError, EncodingError
from stepwell.store.heads import read_heads
from stepwell.store.importing import Imported, import_runs
from stepwell.store.reading import find_run, read_payload

AT = datetime(2024, 5, 1, 12, tzinfo=UTC)
RUN = run_id("a" * 64, 0)
OTHER = run_id("a" * 64, 1)


@pytest.fixture
def connection(schema_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(schema_dsn, autocommit=True) as opened:
        yield opened


def finished(number: int, type_: str = "tool_call", **more: object) -> ImportedStep:
    step = ImportedStep(
        number,
        type_,
        {"q": 1},
        "none",
        name="search",
        finished_order=number,
        finished_before=number - 1,
        started_before=number,
    )
    return replace(step, **more)  # type: ignore[arg-type]  # the fields of this test's choice


def store(connection: psycopg.Connection, *runs: ImportedRun) -> Imported:
    numbered = [(run_id("a" * 64, index), run) for index, run in enumerate(runs)]
    return import_runs(connection, numbered, source="chat-completions", at=AT)


def count(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    assert row is not None
    return int(row[0])


def test_a_run_comes_back_as_it_was_in_the_file(connection: psycopg.Connection) -> None:
    doubt = ImportedStep(3, "tool_call", {"q": 2}, name="search", agent="b", finished_before=2)
    run = ImportedRun(
        (
            finished(1, "llm_call", agent="a", tokens_in=5, tokens_out=6, finish_reason="stop"),
            finished(2),
            doubt,
        ),
        name="refund",
        status="failed",
        error=Failure("reward", "0.0"),
        tags={"task_id": 13},
    )
    assert store(connection, run) == Imported(new=[RUN], steps=3)
    head = find_run(connection, str(RUN))
    assert (head.name, head.status, head.error, head.source) == (
        "refund",
        "failed",
        "reward: 0.0",
        "chat-completions",
    )
    assert (head.steps, head.unfinished, head.unfinished_number) == (3, 1, 3)
    assert (head.unanswered, head.in_doubt) == (True, False)
    assert (head.tags, head.agents) == ({"task_id": 13}, ("a", "b"))
    first, second, third = read_heads(connection, RUN)
    assert (first.tokens_in, first.tokens_out, first.finish_reason, first.agent) == (5, 6, "stop", "a")
    assert (second.finished_order, second.in_doubt, third.in_doubt) == (2, False, True)


def test_without_times_in_the_file_a_step_has_none_and_the_run_is_of_the_import(
    connection: psycopg.Connection,
) -> None:
    store(connection, ImportedRun((finished(1),)))
    (head,) = read_heads(connection, RUN)
    assert (head.started, head.finished, head.duration, head.created) == (None, None, None, AT)
    assert (find_run(connection, str(RUN)).started, find_run(connection, str(RUN)).finished) == (AT, None)


def test_times_of_the_file_are_kept(connection: psycopg.Connection) -> None:
    then = datetime(2023, 1, 1, tzinfo=UTC)
    store(connection, ImportedRun((finished(1, finished=then),), started=then, finished=then))
    (head,) = read_heads(connection, RUN)
    assert (head.created, head.started, head.finished) == (then, None, then)
    assert find_run(connection, str(RUN)).started == then


def test_what_the_file_does_not_say_about_the_end_stays_unknown(connection: psycopg.Connection) -> None:
    store(connection, ImportedRun((finished(1),)))
    assert find_run(connection, str(RUN)).status == "unknown"


HOSTILE = {
    "z": "NUL \x00 and the six characters \\u0000",
    "a\x00": ["\ud800", 1e400, float("-inf"), -0.0, 1.0, 10**40],
    "\x1b[2J": {"]": "[/x]"},
}


def test_payloads_come_back_exactly(connection: psycopg.Connection) -> None:
    store(connection, ImportedRun((finished(1, input=HOSTILE, output=HOSTILE),)))
    payload = read_payload(connection, RUN, 1)
    for plain, exact in ((payload.input, payload.input_exact), (payload.output, payload.output_exact)):
        assert plain is not None
        found = codec.decode(codec.parse(plain), None if exact is None else codec.parse(exact))
        assert repr(found) == repr(HOSTILE)


def test_what_a_text_column_cannot_hold_is_replaced_in_names_and_errors(
    connection: psycopg.Connection,
) -> None:
    step = finished(
        1, name="a\x00b", finish_reason="\ud800", error=Failure("E\x00", "m\udfff"), agent="x\x00"
    )
    run = ImportedRun((step,), name="n\x00", status="failed", error=Failure("t", "\x00"), tags={"k": "\x00"})
    store(connection, run)
    (head,) = read_heads(connection, RUN)
    assert (head.name, head.agent, head.finish_reason, head.error) == (
        "a\ufffdb",
        "x\ufffd",
        "\ufffd",
        "E\ufffd: m\ufffd",
    )
    assert find_run(connection, str(RUN)).name == "n\ufffd"


def test_a_missing_payload_is_null_and_a_none_is_json_null(connection: psycopg.Connection) -> None:
    store(connection, ImportedRun((finished(1, input=MISSING, output=None),)))
    payload = read_payload(connection, RUN, 1)
    assert (payload.input, payload.output) == (None, "null")


def test_importing_again_changes_nothing(connection: psycopg.Connection) -> None:
    run = ImportedRun((finished(1),), name="first")
    store(connection, run)
    assert store(connection, replace(run, name="second")) == Imported(there=[RUN])
    assert (count(connection, "agent_runs"), count(connection, "agent_steps")) == (1, 1)
    assert find_run(connection, str(RUN)).name == "first"


def test_of_two_at_once_one_imports_and_the_other_finds_it_there(
    connection: psycopg.Connection, schema_dsn: str
) -> None:
    run = ImportedRun((finished(1),))
    begun, waiting = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        assert waiting.wait(10)

    with psycopg.connect(schema_dsn, autocommit=True) as other, ThreadPoolExecutor() as pool:
        first = pool.submit(import_runs, other, [(RUN, run)], source="x", at=AT, on_step=hold)
        assert begun.wait(10)
        second = pool.submit(store, connection, run)
        waiting.set()
        assert (first.result().new, second.result().there) == ([RUN], [RUN])
    assert count(connection, "agent_steps") == 1


def test_one_run_that_cannot_be_stored_keeps_all_of_its_file_out(connection: psycopg.Connection) -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(EncodingError):
        store(connection, ImportedRun((finished(1),)), ImportedRun((finished(1), finished(2, output=loop))))
    assert (count(connection, "agent_runs"), count(connection, "agent_steps")) == (0, 0)
    assert store(connection, ImportedRun((finished(1),))).new == [RUN]


def test_a_row_that_the_server_refuses_keeps_all_of_its_file_out(connection: psycopg.Connection) -> None:
    with pytest.raises(DatabaseError, match=r"nothing was imported: .*duplicate key"):
        store(connection, ImportedRun((finished(1),)), ImportedRun((finished(1), finished(1))))
    assert (count(connection, "agent_runs"), count(connection, "agent_steps")) == (0, 0)


def test_equal_calls_with_equal_results_hash_alike_and_others_do_not(connection: psycopg.Connection) -> None:
    steps = (
        finished(1),
        finished(2),
        finished(3, output="some"),
        finished(4, input={"q": 1.0}),
        finished(5, "llm_call"),
    )
    store(connection, ImportedRun(steps))
    hashes = [head.call_hash for head in read_heads(connection, RUN)]
    assert hashes[0] == hashes[1]
    assert len({hashes[0], hashes[2], hashes[3]}) == 3
    assert hashes[4] is None


def test_three_laps_are_a_loop_and_two_are_not(connection: psycopg.Connection) -> None:
    three = ImportedRun(tuple(finished(number) for number in (1, 2, 3)))
    store(connection, three, ImportedRun(three.steps[:2]))
    loop = find_run(connection, str(RUN)).loop
    assert loop is not None
    assert (loop.name, loop.first, loop.last, loop.period, loop.laps) == ("search", 1, 3, 1, 3)
    assert find_run(connection, str(OTHER)).loop is None


def test_a_run_of_no_steps_is_a_run(connection: psycopg.Connection) -> None:
    assert store(connection, ImportedRun((), status="failed")) == Imported(new=[RUN])
    assert find_run(connection, str(RUN)).steps == 0


def test_progress_is_told_once_a_step_even_for_what_is_there(connection: psycopg.Connection) -> None:
    told: list[None] = []
    runs: list[tuple[UUID, ImportedRun]] = [(RUN, ImportedRun((finished(1), finished(2))))]
    for _ in range(2):
        import_runs(connection, runs, source="x", at=AT, on_step=lambda: told.append(None))
    assert len(told) == 4


def test_a_database_without_the_schema_is_named_with_the_remedy(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as opened, pytest.raises(DatabaseError, match="stepwell init"):
        store(opened, ImportedRun((finished(1),)))


def test_a_role_that_may_only_read_is_told_what_it_lacks(
    connection: psycopg.Connection, schema_dsn: str
) -> None:
    connection.execute("CREATE ROLE reader_of_imports LOGIN")
    try:
        connection.execute("GRANT SELECT ON agent_runs, agent_steps TO reader_of_imports")
        reader = psycopg.connect(
            make_conninfo(schema_dsn, options="-c role=reader_of_imports"), autocommit=True
        )
        with reader, pytest.raises(DatabaseError, match=r"may not import here .*GRANT it stepwell_recorder"):
            store(reader, ImportedRun((finished(1),)))
    finally:
        connection.execute("DROP OWNED BY reader_of_imports")
        connection.execute("DROP ROLE reader_of_imports")


def test_tags_are_plain_json_for_queries(connection: psycopg.Connection) -> None:
    store(
        connection,
        ImportedRun((finished(1),), tags={"after_last_reply": [{"role": "user", "content": "bye"}]}),
    )
    row = connection.execute("SELECT tags FROM agent_runs").fetchone()
    assert row is not None
    assert json.dumps(row[0]) == '{"after_last_reply": [{"role": "user", "content": "bye"}]}'
