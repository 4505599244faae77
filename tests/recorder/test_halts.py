"""What ends a call is its outcome also where it is no `Exception`: it is recorded, and raised unchanged."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from stepwell import Recorder, Run


class Halt(BaseException):
    """As a KeyboardInterrupt or a CancelledError is, but raised where a test says."""


def stream() -> Iterator[int]:
    yield 1
    raise Halt


def stream_with_an_end() -> Iterator[int]:
    try:
        yield 1
    finally:
        raise Halt


async def astream() -> AsyncIterator[int]:
    yield 1
    raise Halt


async def astream_with_an_end() -> AsyncIterator[int]:
    try:
        yield 1
    finally:
        raise Halt


async def coroutine() -> None:
    raise Halt


def awaitable() -> Awaitable[None]:
    return coroutine()


@contextlib.contextmanager
def manager() -> Iterator[None]:
    raise Halt
    yield


@contextlib.asynccontextmanager
async def amanager() -> AsyncIterator[None]:
    raise Halt
    yield


def read(run: Run) -> None:
    list(run.tool(stream))


def leave(run: Run) -> None:
    with run.tool(stream_with_an_end) as chunks:  # type: ignore[attr-defined]  # a stream can be left by a block
        next(chunks)


def enter(run: Run) -> None:
    with run.llm(manager):
        pytest.fail("it was entered")


async def read_async(run: Run) -> None:
    async for _ in run.tool(astream):
        pass


async def leave_async(run: Run) -> None:
    async with run.tool(astream_with_an_end) as chunks:  # type: ignore[attr-defined]  # as above
        await anext(chunks)


async def enter_async(run: Run) -> None:
    async with run.llm(amanager):
        pytest.fail("it was entered")


async def call_async(run: Run) -> None:
    await run.tool(coroutine)


async def await_it(run: Run) -> None:
    await run.tool(awaitable)


@pytest.mark.parametrize("use", [read, leave, enter])
def test_a_plain_step(recorder: Recorder, steps: Any, use: Callable[[Run], None]) -> None:
    run = recorder.start()
    with pytest.raises(Halt):
        use(run)
    (row,) = steps(run.run_id)
    assert row["error"]["type"].endswith("Halt")


@pytest.mark.parametrize("use", [read_async, leave_async, enter_async, call_async, await_it])
def test_a_step_that_is_awaited(
    recorder: Recorder, steps: Any, use: Callable[[Run], Awaitable[None]]
) -> None:
    async def main() -> None:
        with pytest.raises(Halt):
            await use(run)

    run = recorder.start()
    asyncio.run(main())
    (row,) = steps(run.run_id)
    assert row["error"]["type"].endswith("Halt")
