"""Streams are handed out piece by piece, with whatever ended them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from types import TracebackType
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.divergence import Kind
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play
from tests.rerun.agents import search

Record = Callable[[Any], RecordedRun]


def assert_same(record: Record, agent: Any) -> None:
    """Record the agent and replay it: what its result says is the same."""
    recorded = record(agent)
    for _ in range(3):
        report = play(recorded, agent)
        assert (report.divergence, report.refused, report.stopped, report.notes) == (None, None, None, ())


def count(upto: int, fails: bool = False) -> Generator[int, Any, str]:
    yield from range(upto)
    if fails:
        raise ConnectionError("gone")
    return "counted"


async def count_async(upto: int, fails: bool = False) -> AsyncIterator[int]:
    for number in range(upto):
        await asyncio.sleep(0.001)
        yield number
    if fails:
        raise ConnectionError("gone")


def test_a_generator_gives_its_pieces_and_what_it_returned(record: Record) -> None:
    def agent(run: Run) -> Any:
        def through() -> Iterator[Any]:
            returned = yield from run.tool(count, 3)
            yield returned

        return run.result([*through(), *run.tool(count, 0)])

    assert_same(record, agent)


def test_a_stream_that_broke_off_breaks_off_there(record: Record) -> None:
    def agent(run: Run) -> Any:
        got: list[Any] = []
        try:
            got.extend(run.llm(count, 2, fails=True))
        except ConnectionError as error:
            got.append(str(error))
        return run.result(got)

    assert_same(record, agent)


def test_an_async_stream_alike(record: Record) -> None:
    async def agent(run: Run) -> Any:
        got: list[Any] = [number async for number in run.llm(count_async, 3)]
        try:
            stream = run.llm(count_async, 1, fails=True)
            got.append(await anext(stream))
            await anext(stream)
        except ConnectionError as error:
            got.append(str(error))
        return run.result(got)

    assert_same(record, agent)


@pytest.mark.parametrize("closes", [True, False])
def test_a_stream_that_was_left_early_is_so_again(closes: bool, record: Record) -> None:
    def agent(run: Run) -> Any:
        stream = run.tool(count, 5)
        first = next(stream)
        if closes:
            stream.close()
        del stream
        run.tool(search, "then")
        return run.result(first)

    assert_same(record, agent)


def test_reading_on_where_the_stream_was_left_is_found(record: Record) -> None:
    def agent(run: Run) -> None:
        stream = run.tool(count, 5)
        for _ in range(pieces):
            next(stream)
        stream.close()

    pieces = 2
    recorded = record(agent)
    pieces = 3
    found = play(recorded, agent).divergence
    assert found is not None
    assert (found.kind, found.step, found.path) == (Kind.OUTCOME, 1, "$.chunks[2]")


def test_a_generator_that_is_sent_something_gives_what_it_gave(record: Record) -> None:
    def echo() -> Generator[str, str, None]:
        said = yield "ready"
        while said != "end":
            said = yield f"heard {said}"

    def agent(run: Run) -> Any:
        talk = run.tool(echo)
        got = [next(talk), talk.send("a"), talk.send("b")]
        talk.close()
        return run.result(got)

    assert_same(record, agent)


class Session:
    """A stream of no known client's, with more than what is iterated over."""

    def __init__(self) -> None:
        self._left = iter("abc")

    def __iter__(self) -> Session:
        return self

    def __next__(self) -> str:
        return next(self._left)

    def usage(self) -> int:
        return 3


def test_a_stream_of_a_class_that_is_not_known_has_its_pieces_and_refuses_the_rest(record: Record) -> None:
    def agent(run: Run) -> Any:
        stream: Any = run.llm(Session)
        got = list(stream)
        return run.result([*got, stream.usage()] if asks else got)

    asks = False
    assert_same(record, agent)
    asks = True
    report = play(record(agent), agent)
    assert report.refused is not None
    assert report.refused.endswith("Session.usage is asked for, which was not recorded")


class Manager:
    """A block whose entry is the call."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def __enter__(self) -> Iterator[int]:
        if self.fails:
            raise ConnectionError("refused")
        return iter([1, 2])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def test_a_block_that_could_not_be_entered_cannot_be_so_again(record: Record) -> None:
    def agent(run: Run) -> Any:
        with run.llm(Manager) as numbers:
            got: list[Any] = list(numbers)
        try:
            with run.llm(Manager, fails=True):
                got.append("entered")
        except ConnectionError as error:
            got.append(str(error))
        return run.result(got)

    assert_same(record, agent)


def test_a_task_that_reads_a_stream_is_cancelled_where_it_was(record: Record) -> None:
    async def drip() -> AsyncIterator[int]:
        for number in range(100):
            yield number
            await asyncio.sleep(0.01 if number < 2 else 3600)

    async def agent(run: Run) -> Any:
        got: list[Any] = []
        try:
            async with asyncio.timeout(0.2):
                async for number in run.tool(drip):
                    got += [number]
        except TimeoutError:
            got.append("late")
        return run.result(got)

    assert_same(record, agent)


def test_what_a_plain_function_returned_to_be_awaited_may_be_a_stream(record: Record) -> None:
    async def opened() -> AsyncIterator[int]:
        return count_async(2)

    async def agent(run: Run) -> Any:
        stream: Any = await run.tool(lambda: opened())
        return run.result([number async for number in stream])

    assert_same(record, agent)
