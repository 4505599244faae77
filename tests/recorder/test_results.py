"""What a run was begun with and has come to, and how the answers in between were handed out."""

import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
import pytest

from stepwell import EncodingError, Recorder, RecordingError, Run, UsageError
from tests.recorder.conftest import exact


def look(*_: object) -> None:
    return None


def test_the_last_result_that_was_given_is_kept_with_its_types(recorder: Recorder, run_row: Any) -> None:
    with recorder.run() as run:
        assert run.result("first") == "first"
        given: dict[str, object] = {"total": (1, 2.0), "at": b"\x00"}
        assert run.result(given) is given
        given["more"] = "later"
    row = {name: json.dumps(run_row(run.run_id)[name]) for name in ("result", "result_exact")}
    assert exact(row, "result") == {"total": (1, 2.0), "at": b"\x00"}


def test_a_run_that_fails_keeps_its_result_and_one_without_has_none(recorder: Recorder, run_row: Any) -> None:
    def agent(run: Run) -> None:
        run.result(None)
        raise ValueError("late")

    with pytest.raises(ValueError, match="late"), recorder.run() as run:
        agent(run)
    with recorder.run() as other:
        pass
    with psycopg.connect(recorder._target.conninfo) as connection:
        query = "SELECT result IS NULL, result::text FROM agent_runs WHERE run_id = %s"
        assert connection.execute(query, (run.run_id,)).fetchone() == (False, "null")
        assert connection.execute(query, (other.run_id,)).fetchone() == (True, None)
    assert run_row(run.run_id)["status"] == "failed"


def test_a_result_that_cannot_be_kept_is_told_at_once(recorder: Recorder, run_row: Any) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with recorder.run() as run:
        with pytest.raises(EncodingError):
            run.result(deep)
        run.result("small")
    assert run_row(run.run_id)["result"] == "small"


@pytest.fixture
def little_room(schema_dsn: str) -> str:
    """A database that refuses a result of 1,000 characters as Postgres refuses one of 256 MB."""
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF length(NEW.result::text) > 1000 THEN"
            " RAISE program_limit_exceeded USING MESSAGE = 'string too long to represent as jsonb string';"
            " END IF; RETURN NEW; END $$"
        )
        connection.execute(
            "CREATE TRIGGER refuse BEFORE UPDATE ON agent_runs FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    return schema_dsn


def test_a_run_whose_result_is_too_large_has_ended_without_it(little_room: str, run_row: Any) -> None:
    said = "the end of run .* was not recorded: string too long .*; JSONB holds no more than 256 MB"
    with Recorder(little_room) as recorder:
        with pytest.raises(RecordingError, match=said), recorder.run() as run:
            run.result("x" * 2000)

        async def agent() -> None:
            async with recorder.run() as again:
                runs.append(again)
                again.result("x" * 2000)

        runs: list[Run] = [run]
        with pytest.raises(RecordingError, match=said):
            asyncio.run(agent())
    for ended in runs:
        row = run_row(ended.run_id)
        assert (row["status"], row["result"], row["finished_at"] is None) == ("ok", None, False)


@pytest.mark.usefixtures("quick")
def test_nor_does_it_keep_a_spooled_run_out_of_the_database(
    little_room: str, outage: Any, steps: Any, run_row: Any
) -> None:
    with Recorder(little_room, on_failure="spool") as recorder:
        outage(True)
        with recorder.run() as run:
            run.tool(len, "ab")
            run.result("x" * 2000)
        outage(False)
    assert [row["got"] for row in steps(run.run_id)] == [2]
    assert (run_row(run.run_id)["status"], run_row(run.run_id)["result"]) == ("ok", None)


def test_a_result_is_redacted_as_everything_is(schema_dsn: str, run_row: Any) -> None:
    with Recorder(schema_dsn, redact="*password*") as recorder, recorder.run() as run:
        assert run.result({"password": "hunter2"}) == {"password": "hunter2"}
    assert "hunter2" not in str(run_row(run.run_id))


def test_a_run_says_what_it_was_begun_with_when_it_is_taken_up_too(
    recorder: Recorder, steps: Any, run_row: Any
) -> None:
    tags: dict[str, object] = {"tenant": "a", "tries": [1]}
    with recorder.run("refund", tags=tags, seed=7) as run:
        tags["more"] = 1
        again = recorder.resume(run.run_id)
        for one in (run, run.agent("b"), again):
            assert (one.name, one.tags, one.seed) == ("refund", {"tenant": "a", "tries": [1]}, 7)
        again.tool(look)
    assert [row["seed"] for row in steps(run.run_id)] == [7]
    assert run_row(run.run_id)["seed"] == 7
    with recorder.run() as bare:
        assert (bare.name, bare.tags, bare.seed) == (None, {}, None)
    again = recorder.resume(bare.run_id)
    assert (again.name, again.tags, again.seed) == (None, {}, None)


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, "seven", 1.5, True])
def test_a_seed_that_no_column_holds_is_not_recorded(recorder: Recorder, run_row: Any, seed: Any) -> None:
    with recorder.run(seed=seed) as run:
        run.tool(look)
    assert run_row(run.run_id)["seed"] is None


def test_the_connection_of_a_run_is_that_of_its_steps(
    recorder: Recorder, own: psycopg.Connection[Any], steps: Any
) -> None:
    with recorder.run(connection=own) as run:
        assert run.connection is run.agent("b").connection is own
        own.execute("INSERT INTO orders VALUES (1)")
        run.tool(look)
    started = recorder.start(connection=own)
    started.tool(look)
    started.finish()
    resumed = recorder.resume(run.run_id, connection=own)
    resumed.tool(look)
    assert started.connection is resumed.connection is own
    rows = steps(run.run_id) + steps(started.run_id)
    assert [row["backend"] for row in rows] == [own.info.backend_pid] * 3
    with recorder.run() as other:
        assert other.connection is None
        assert other.named(connection=own).connection is own


def test_what_is_no_connection_begins_no_run(recorder: Recorder, connection: Any) -> None:
    run = recorder.start()
    for begin in (recorder.run, recorder.start, lambda **given: recorder.resume(run.run_id, **given)):
        with pytest.raises(UsageError, match="not str"):
            begin(connection="host=localhost")
    assert connection.execute("SELECT count(*) AS n FROM agent_runs").fetchone() == {"n": 1}


def test_a_value_is_a_tool_call_of_its_own_name(recorder: Recorder, steps: Any) -> None:
    async def dice(sides: int) -> int:
        return sides

    with recorder.run() as run:
        now = run.value("now", time.time)
        assert asyncio.run(_awaited(run.value("dice", dice, 6))) == 6
    assert [(row["step_type"], row["name"], row["given"], row["got"]) for row in steps(run.run_id)] == [
        ("tool_call", "now", {"args": [], "kwargs": {}}, now),
        ("tool_call", "dice", {"sides": 6}, 6),
    ]


async def _awaited(coroutine: Any) -> object:
    return await coroutine


def numbers() -> Iterator[int]:
    yield 1


async def anumbers() -> AsyncIterator[int]:
    yield 1


async def anumbers_soon() -> AsyncIterator[int]:
    return anumbers()


@contextmanager
def managed() -> Iterator[int]:
    yield 1


@asynccontextmanager
async def amanaged() -> AsyncIterator[int]:
    yield 1


class Soon:
    """Hides from a signature that what is called is a coroutine function."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self) -> Any:
        return self.fn()


async def small() -> int:
    return 1


async def take(run: Run, fn: Any) -> object:
    """Call it as an agent that knows what it gives."""
    given = run.llm(fn)
    if inspect.iscoroutine(given):
        given = await given
    if hasattr(given, "__next__"):
        return list(given)
    if hasattr(given, "__anext__"):
        return [item async for item in given]
    if hasattr(given, "__aenter__"):
        async with given as entered:
            return entered
    if hasattr(given, "__enter__"):
        with given as entered:
            return entered
    return given


@pytest.mark.parametrize(
    ("fn", "form"),
    [
        (lambda: 1, None),
        (small, None),
        (numbers, "stream builtins:generator"),
        (lambda: iter([1]), "stream builtins:list_iterator"),
        (lambda: anumbers(), "async_stream builtins:async_generator"),
        (anumbers_soon, "async_stream builtins:async_generator"),
        (managed, "manager contextlib:_GeneratorContextManager"),
        (amanaged, "async_manager contextlib:_AsyncGeneratorContextManager"),
        (Soon(small), "awaitable"),
        (Soon(anumbers_soon), "awaitable async_stream builtins:async_generator"),
    ],
)
def test_a_step_says_how_its_answer_was_handed_out(
    recorder: Recorder, steps: Any, fn: Any, form: str | None
) -> None:
    with recorder.run() as run:
        assert asyncio.run(_awaited(take(run, fn))) in (1, [1])
    (row,) = steps(run.run_id)
    assert (row["form"], row["error"]) == (form, None)


def test_a_block_is_no_replay_and_gives_what_it_was_set(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        block = run.step("tool_call", "search", {"limit": 1})
        block.output = ["before"]
        with block as step:
            assert step.output == ["before"]
            assert not step.replayed
    (row,) = steps(run.run_id)
    assert row["got"] == ["before"]
