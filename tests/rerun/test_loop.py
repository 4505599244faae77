"""A loop that lives by the clock of a replay knows what other threads are about to give it."""

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.rerun import loop
from stepwell.rerun.clock import Clock
from stepwell.rerun.playing import play
from tests.rerun.agents import search


@pytest.mark.parametrize("limit", [None, 60.0])
def test_what_a_thread_has_given_before_it_ended_is_there(
    limit: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it did so between two looks."""
    stuck: list[str] = []
    with loop.installed(Clock(0, lambda: False), lambda: stuck.append("stuck")):

        async def wait() -> str:
            future = asyncio.get_running_loop().create_future()

            def looked(_: object) -> bool:
                if not future.done():
                    give = asyncio.run_coroutine_threadsafe
                    thread = threading.Thread(target=give, args=(resolve(), running))
                    thread.start()
                    thread.join()
                return False

            async def resolve() -> None:
                if not future.done():
                    future.set_result("given")

            running = asyncio.get_running_loop()
            monkeypatch.setattr(loop._Selector, "_waits_for_others", looked)
            return await asyncio.wait_for(future, limit)

        assert asyncio.run(wait()) == "given"
    assert stuck == []


def test_work_that_a_pool_of_the_agents_own_has_is_waited_for(
    record: Callable[[Any], RecordedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it was handed to it."""
    monkeypatch.setattr(loop, "SLICE", 0.0001)

    def add() -> int:
        return sum(range(1_000_000))

    async def agent(run: Run) -> object:
        with ThreadPoolExecutor(1) as pool:
            sums = [await asyncio.wrap_future(pool.submit(add)) for _ in range(3)]
            future = asyncio.wrap_future(pool.submit(add))
            sums.append(await asyncio.wait_for(future, 5))
        return run.result(run.tool(search, str(sums)))

    report = play(record(agent), agent)
    assert (report.divergence, report.refused) == (None, None)


@pytest.mark.parametrize("factory", [asyncio.SelectorEventLoop, asyncio.new_event_loop, None])
def test_a_runner_that_is_told_to_make_a_loop_of_another_kind_lives_by_the_clock(
    record: Callable[[Any], RecordedRun], factory: Any
) -> None:
    def agent(run: Run) -> None:
        async def main() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(run.tool(asyncio.sleep, 60), 0.01)
            if not recording:
                await asyncio.sleep(3600)
            run.tool(search, "late")

        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(main())

    before, recording = vars(asyncio.Runner).copy(), True
    recorded = record(agent)
    recording = False
    assert play(recorded, agent).same
    assert vars(asyncio.Runner) == before


UVLOOP = """
import asyncio
class Loop(asyncio.AbstractEventLoop): ...
def run(main):
    async def checked():
        assert isinstance(asyncio.get_running_loop(), Loop)
        return await main
    with asyncio.Runner(loop_factory=lambda: Loop()) as runner:
        return runner.run(checked())
"""
"""What of `uvloop` counts here: its loop is none of Python's own, and it insists on it."""


def test_uvloop_runs_what_it_is_given_in_a_loop_of_the_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    uvloop = ModuleType("uvloop")
    exec(UVLOOP, vars(uvloop))
    monkeypatch.setitem(sys.modules, "uvloop", uvloop)
    its_own, clock = vars(uvloop)["Loop"], Clock(0, lambda: False)

    async def main() -> int:
        await asyncio.sleep(3600)
        return clock.now

    with loop.installed(clock, lambda: None):
        assert vars(uvloop)["run"](main()) >= 3600 * 1_000_000
    assert vars(uvloop)["Loop"] is its_own


def test_a_loop_that_was_made_before_the_replay_lives_by_its_clock() -> None:
    before, clock = asyncio.get_event_loop_policy(), Clock(0, lambda: False)

    async def main() -> int:
        await asyncio.sleep(0.001)
        return clock.now

    async def for_long() -> int:
        await asyncio.sleep(3600)
        return await main()

    loop.await_replays()
    try:
        with closing(asyncio.new_event_loop()) as early:
            assert early.run_until_complete(main()) == 0
            with loop.installed(clock, lambda: None):
                assert early.run_until_complete(for_long()) >= 3600 * 1_000_000
    finally:
        asyncio.set_event_loop_policy(before)


def test_a_time_out_comes_out_in_a_loop_that_knows_no_clock_of_a_replay(
    record: Callable[[Any], RecordedRun],
) -> None:
    async def main(run: Run) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.tool(asyncio.sleep, 60), 0.01)
        run.tool(search, "late")

    def agent(run: Run) -> None:
        with closing(asyncio.SelectorEventLoop()) as other:
            other.run_until_complete(main(run))

    assert play(record(agent), agent).same


def test_a_thread_of_a_pool_that_has_ended_is_not_waited_for_though_another_has_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    other = threading.Thread(target=over.wait, daemon=True)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
    (ended,) = pool._threads
    other.start()
    monkeypatch.setattr(ended, "_ident", other.ident)
    with loop.installed(Clock(0, lambda: False), lambda: None):
        asyncio.run(asyncio.sleep(3600))
    over.set()
    other.join()
