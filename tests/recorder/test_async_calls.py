"""Coroutines, cancellation and interruption: recorded as what they are, and never in the way of the loop."""

import asyncio
import functools
import signal
import threading
from typing import Any
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell import Recorder, Run


@pytest.fixture
def run(recorder: Recorder) -> Run:
    return recorder.start()


def test_coroutine_functions_are_awaited_and_recorded_as_such(recorder: Recorder, steps: Any) -> None:
    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        run = stepwell.current_run()
        assert run is not None
        await run.tool(nested)
        return url

    async def nested() -> None:
        raise KeyError("x")

    async def main() -> UUID:
        async with recorder.run() as run:
            with pytest.raises(KeyError):
                await run.tool(fetch, "u")
            async with run.step("tool_call", "block") as step:
                step.output = 1
            await run.astate({"a": 1})
        return run.run_id

    rows = steps(asyncio.run(main()))
    assert [(r["name"], r["parent_step"], r["finished_order"]) for r in rows] == [
        ("fetch", None, 2),
        ("nested", 1, 1),
        ("block", None, 3),
        (None, None, 4),
    ]


def test_a_plain_function_that_returns_a_coroutine_is_finished_by_awaiting_it(
    recorder: Recorder, steps: Any
) -> None:
    async def fetch() -> int:
        return 5

    @functools.wraps(fetch)
    def as_clients_do() -> Any:
        return fetch()

    async def main() -> UUID:
        async with recorder.run() as run:
            assert await run.tool(as_clients_do) == 5
            assert await run.tool(lambda: fetch()) == 5
        return run.run_id

    assert [row["got"] for row in steps(asyncio.run(main()))] == [5, 5]


def test_a_plain_wrapper_that_runs_a_coroutine_by_itself_stays_plain(recorder: Recorder) -> None:
    async def fetch() -> int:
        return 5

    @functools.wraps(fetch)
    def blocking() -> Any:
        return asyncio.run(fetch())

    with recorder.run() as run:
        assert run.tool(blocking) == 5


def test_cancelling_a_task_is_recorded(recorder: Recorder, steps: Any) -> None:
    async def forever() -> None:
        await asyncio.sleep(3600)

    async def main() -> UUID:
        async with recorder.run() as run:
            task = asyncio.create_task(run.tool(forever))
            while not steps(run.run_id):
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return run.run_id

    (row,) = steps(asyncio.run(main()))
    assert row["error"]["type"] == "asyncio.exceptions.CancelledError"


def test_a_task_cancelled_while_its_intent_is_committed_never_makes_its_call(
    recorder: Recorder, steps: Any
) -> None:
    made: list[int] = []

    async def call() -> None:
        made.append(1)

    async def main() -> UUID:
        async with recorder.run() as run:
            task = asyncio.create_task(run.tool(call))
            await asyncio.sleep(0)  # it has submitted the intent and waits
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return run.run_id

    (row,) = steps(asyncio.run(main()))
    assert made == []
    assert row["error"]["type"].endswith("CancelledError")


def test_the_loop_goes_on_while_a_step_waits_for_its_commit(
    recorder: Recorder, connection: psycopg.Connection[Any]
) -> None:
    async def call() -> str:
        return "done"

    async def main() -> None:
        async with recorder.run() as run:
            # Somebody holds the run's row, so that no step of it can be committed.
            with connection.transaction():
                connection.execute("SELECT FROM agent_runs WHERE run_id = %s FOR UPDATE", (run.run_id,))
                task = asyncio.create_task(run.tool(call))
                for _ in range(20):
                    await asyncio.sleep(0.001)
                assert not task.done()
            assert await task == "done"

    asyncio.run(main())


def test_an_interruption_while_the_intent_is_committed_means_that_the_call_is_not_made(
    run: Run, steps: Any, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("BEGIN")
    connection.execute("SELECT FROM agent_runs WHERE run_id = %s FOR UPDATE", (run.run_id,))
    threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
    threading.Timer(0.4, connection.execute, ("COMMIT",)).start()
    made: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run.tool(made.append, 1)
    assert made == []
    (row,) = steps(run.run_id)
    assert row["error"]["type"] == "KeyboardInterrupt"
