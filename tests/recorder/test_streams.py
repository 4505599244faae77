"""Streams: every chunk at once, the whole on disk before the end, and what came so far when closed early."""

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell import Recorder, RecordingError
from stepwell.core.streamed import Streamed


def count(upto: int, fail: bool = False) -> Generator[int, str, str]:
    yield from range(upto)
    if fail:
        raise ValueError("broken")
    return "end"


async def acount(upto: int, fail: bool = False) -> AsyncIterator[int]:
    for n in range(upto):
        yield n
    if fail:
        raise ValueError("broken")


def test_chunks_pass_at_once_and_the_whole_is_committed_before_the_stream_ends(
    recorder: Recorder, steps: Any
) -> None:
    with recorder.run() as run:
        stream = run.tool(count, 2)
        assert next(stream) == 0
        assert steps(run.run_id)[0]["output"] is None
        assert next(stream) == 1
        with pytest.raises(StopIteration) as end:
            next(stream)
        assert end.value.value == "end"
        assert steps(run.run_id)[0]["got"] == Streamed([0, 1], "done", "end")


def test_a_stream_closed_early_keeps_what_came_so_far_and_says_so(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        stream = run.tool(count, 5)
        next(stream)
        stream.close()
        assert steps(run.run_id)[0]["got"] == Streamed([0], "closed")
        with run.tool(count, 5) as managed:  # type: ignore[attr-defined]  # a stream can be left by a block
            next(managed)
            next(managed)
        assert steps(run.run_id)[1]["got"] == Streamed([0, 1], "closed")
        dropped = run.tool(count, 5)
        next(dropped)
        del dropped
        gc.collect()
    assert steps(run.run_id)[2]["got"] == Streamed([0], "closed")


def test_a_stream_that_fails_keeps_its_chunks_and_its_error(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        stream = run.tool(count, 1, fail=True)
        assert next(stream) == 0
        with pytest.raises(ValueError, match="broken"):
            next(stream)
    (row,) = steps(run.run_id)
    assert row["got"] == Streamed([0], "failed")
    assert row["error"]["message"] == "broken"


def test_a_generator_can_be_sent_to_and_looks_like_one(recorder: Recorder, steps: Any) -> None:
    def echo() -> Generator[str, str, None]:
        heard = yield "ready"
        while heard:
            heard = yield heard.upper()

    with recorder.run() as run:
        assert inspect.isgenerator(run.tool(echo))
        stream = run.tool(echo)
        assert next(stream) == "ready"
        assert stream.send("a") == "A"
        with pytest.raises(KeyError):
            stream.throw(KeyError("k"))
    assert steps(run.run_id)[1]["got"] == Streamed(["ready", "A"], "failed")


def test_what_a_generator_does_is_part_of_its_step_and_what_lies_between_is_not(
    recorder: Recorder, steps: Any
) -> None:
    @stepwell.tool
    def inner() -> None: ...

    def outer() -> Iterator[int]:
        inner()
        yield 1
        inner()
        yield 2

    with recorder.run() as run:
        for _ in run.tool(outer):
            inner()
    assert [row["parent_step"] for row in steps(run.run_id)] == [None, 1, None, 1, None]


def test_a_chunk_is_kept_as_it_was_when_it_passed(recorder: Recorder, steps: Any) -> None:
    def chunks() -> Iterator[dict[str, object]]:
        yield {"text": "a"}

    with recorder.run() as run:
        for chunk in run.tool(chunks):
            chunk["text"] = "changed by the agent"
    assert steps(run.run_id)[0]["got"] == Streamed([{"text": "a"}])


def test_a_context_manager_that_a_model_call_returns_is_recorded_through_its_block(
    recorder: Recorder, steps: Any
) -> None:
    class Reply:
        model = "m"

        def __enter__(self) -> Iterator[str]:
            assert steps(run.run_id)[-1]["output"] is None
            return iter(["a", "b"])

        def __exit__(self, *_: object) -> None: ...

    with recorder.run() as run:
        reply = run.llm(Reply)
        assert reply.model == "m"
        assert isinstance(reply, Reply)
        with reply as stream:
            assert list(stream) == ["a", "b"]
        with run.llm(Reply) as stream:
            next(stream)
    first, second = steps(run.run_id)
    assert first["got"] == Streamed(["a", "b"])
    assert second["got"] == Streamed(["a"], "closed")


def test_async_generators_begin_at_their_first_chunk_and_end_alike(recorder: Recorder, steps: Any) -> None:
    async def main() -> UUID:
        async with recorder.run() as run:
            stream = run.tool(acount, 2)
            assert inspect.isasyncgen(stream)
            assert steps(run.run_id) == []
            assert [n async for n in stream] == [0, 1]
            early = run.tool(acount, 5)
            await anext(early)
            await early.aclose()  # type: ignore[attr-defined]  # it is a generator
            failing = run.tool(acount, 1, fail=True)
            await anext(failing)
            with pytest.raises(ValueError, match="broken"):
                await anext(failing)
            unused = run.tool(acount, 1)
            await unused.aclose()  # type: ignore[attr-defined]  # it is a generator
        return run.run_id

    rows = steps(asyncio.run(main()))
    assert [row["got"] for row in rows] == [
        Streamed([0, 1]),
        Streamed([0], "closed"),
        Streamed([0], "failed"),
    ]
    assert rows[2]["error"]["message"] == "broken"


def test_a_stream_whose_whole_cannot_be_committed_does_not_end_as_if_it_had(
    recorder: Recorder, connection: psycopg.Connection[Any]
) -> None:
    run = recorder.start()
    stream = run.tool(count, 1)
    assert next(stream) == 0
    connection.execute("DELETE FROM agent_steps")
    with pytest.raises(RecordingError, match="no longer in the database"):
        next(stream)
