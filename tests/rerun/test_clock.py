"""Time and chance in a replay: the recorded ones."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import os
import random
import secrets
import select
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import random as imported_random
from time import monotonic as imported_monotonic
from time import sleep as imported_sleep
from time import time as imported_time
from typing import Any
from uuid import uuid4 as imported_uuid4

import pytest

from stepwell import Run
from stepwell.core.divergence import Kind
from stepwell.core.hints import DEADLINE
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.clock import PATIENCE, Clock
from stepwell.rerun.playing import play
from tests.rerun.agents import fetch, search

Record = Callable[[Any], RecordedRun]
NOON = 1_700_000_000_000_000
REAL = time.perf_counter


def assert_same(recorded: RecordedRun, agent: Any) -> Any:
    report = play(recorded, agent)
    assert (report.divergence, report.refused, report.stopped, report.notes) == (None, None, None, ())
    return report.result


def test_every_clock_shows_the_recorded_time_and_is_put_back_afterwards() -> None:
    clock = Clock(NOON)
    before = time.time, time.sleep, time.monotonic, imported_sleep
    with clock.installed():
        began = time.monotonic()
        clock.move_to(NOON + 5_000_000)
        clock.move_to(NOON)  # it never goes back
        assert time.time() == imported_time() == NOON / 1e6 + 5
        assert time.time_ns() == NOON * 1000 + 5_000_000_000
        assert datetime.now(UTC) == datetime(2023, 11, 14, 22, 13, 25, tzinfo=UTC)
        assert time.monotonic() - began == pytest.approx(5)
        assert imported_monotonic() - began == pytest.approx(5)
        time.sleep(3600)
        imported_sleep(60)
        assert time.perf_counter() - began == pytest.approx(3665)
        with pytest.raises(ValueError, match="non-negative"):
            time.sleep(-1)
    assert (time.time, time.sleep, time.monotonic, imported_sleep) == before
    assert time.time() > NOON / 1e6 + 5000


def test_what_is_imported_meanwhile_has_the_real_clock_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "latecomer.py").write_text(
        "from time import monotonic, sleep\ndef read(clock=monotonic): return clock()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with Clock(NOON).installed():
        late = importlib.import_module("latecomer")
        assert late.sleep is time.sleep
    assert (late.sleep, late.monotonic) == (time.sleep, time.monotonic)
    assert time.monotonic() <= late.read() <= time.monotonic()


@pytest.mark.parametrize(
    "read", [time.time, imported_time, lambda: time.monotonic(), lambda: datetime.now().timestamp()]
)
def test_who_waits_for_the_clock_waits_not_for_ever(read: Callable[[], float]) -> None:
    with Clock(NOON).installed():
        deadline = read() + 30
        seen = [read() for _ in range(PATIENCE // 2)]
        assert seen[0] == seen[-1]
        while read() < deadline:
            pass


def test_an_agent_that_polls_until_a_deadline_does_as_it_did(record: Record) -> None:
    def agent(run: Run) -> int:
        deadline = time.time() + 0.25  # far from where a pause ends: time between steps is not recorded
        count = 0
        while time.time() < deadline:
            count += 1
            run.tool(pause, count)
        return run.result(count)

    def pause(count: int) -> int:
        real_sleep(0.1)
        return count

    real_sleep = time.sleep
    recorded = record(agent)
    assert assert_same(recorded, agent) == len(recorded.steps)


def test_a_deadline_that_is_counted_from_after_long_work_says_what_it_takes(record: Record) -> None:
    def agent(run: Run) -> None:
        run.tool(search, "first")
        select.select([], [], [], 0.2)
        deadline, count = time.monotonic() + 0.15, 0
        while time.monotonic() < deadline:
            count = run.tool(pause, count)

    def pause(count: int) -> int:
        select.select([], [], [], 0.1)
        return count + 1

    found = play(record(agent), agent).divergence
    assert found is not None
    assert (found.kind, found.step, found.hint) == (Kind.NEVER_ASKED, 3, DEADLINE)


def test_who_waits_for_an_event_until_a_deadline_gets_there() -> None:
    never, rounds = threading.Event(), 0
    with Clock(NOON).installed():
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline:
            never.wait(0.01)
            rounds += 1
    assert rounds < PATIENCE / 2


def test_a_thread_that_sleeps_beside_the_agent_does_not_move_its_clock(record: Record) -> None:
    def agent(run: Run) -> bool:
        done, began = threading.Event(), time.time()

        def beat() -> None:
            while not done.is_set():
                time.sleep(3600)

        if is_replay:
            threading.Thread(target=beat, daemon=True).start()
        for name in "abc":
            run.tool(search, name)
            select.select([], [], [], 0.02)  # others get their turn
        done.set()
        return run.result(time.time() - began < 3600)

    is_replay = False
    recorded = record(agent)
    is_replay = True
    assert play(recorded, agent).same


def test_a_loop_in_a_thread_in_the_background_lives_by_the_clock_too(record: Record) -> None:
    def agent(run: Run) -> object:
        async def wait() -> str:
            await asyncio.sleep(seconds)
            return "waited"

        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        said = asyncio.run_coroutine_threadsafe(wait(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        return run.result(run.tool(len, said))

    seconds = 0.0
    recorded = record(agent)
    seconds = 3600.0
    assert play(recorded, agent).same


def test_steps_take_as_long_as_they_took(record: Record) -> None:
    def agent(run: Run) -> None:
        began = time.time()
        run.tool(time.sleep, 0.05)
        seen.append(time.time() - began)

    seen: list[float] = []
    recorded = record(agent)
    seen.clear()
    assert_same(recorded, agent)
    (step,) = recorded.steps
    assert step.started is not None
    assert step.finished is not None
    assert timedelta(seconds=seen[0]) >= step.finished - step.started >= timedelta(seconds=0.05)


def test_sleeps_and_time_outs_of_tasks_pass_at_once_and_in_order(record: Record) -> None:
    async def agent(run: Run) -> list[str]:
        seen: list[str] = []

        async def after(seconds: float) -> None:
            await asyncio.sleep(seconds * scale)
            seen.append(await run.tool(fetch, f"{seconds}", 0.0))

        await asyncio.gather(*(after(n) for n in (3, 1, 2)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5 * scale):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.tool(fetch, "late", 1e4), 0.02)
        return run.result([text.partition(" ")[0] for text in seen])

    scale = 0.01
    recorded = record(agent)
    scale = 1000
    began = REAL()
    assert assert_same(recorded, agent) == ["1", "2", "3"]
    assert REAL() - began < 1000


def test_a_task_that_polls_its_loop_until_a_deadline_gets_there(record: Record) -> None:
    async def agent(run: Run) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while loop.time() < deadline:
            await asyncio.sleep(0)
        await run.tool(fetch, "a")

    seconds = 0.0
    recorded = record(agent)
    seconds = 5.0
    assert play(recorded, agent).same


def test_work_before_a_step_is_no_part_of_the_time_that_the_step_may_take(record: Record) -> None:
    async def agent(run: Run) -> list[str]:
        pages: list[str] = []
        await run.tool(fetch, "first")
        for name, seconds in (("a", 0.0), ("late", 1e4)):
            select.select([], [], [], work)
            try:
                async with asyncio.timeout(work):
                    pages += await asyncio.gather(run.tool(fetch, name, seconds), run.tool(fetch, "beside"))
            except TimeoutError:
                pages.append("too late")
        return run.result([page.partition(" ")[0] for page in pages])

    work = 0.2
    recorded = record(agent)
    work = 0.1
    assert assert_same(recorded, agent) == ["a", "beside", "too"]


def test_answers_of_parallel_calls_come_in_the_order_in_which_they_came(record: Record) -> None:
    async def agent(run: Run) -> list[str]:
        calls = [
            run.tool(fetch, name, seconds)
            for name, seconds in [("slow", 0.06), ("quick", 0.0), ("so-so", 0.03)]
        ]
        return run.result([(await call).partition(" ")[0] for call in asyncio.as_completed(calls)])

    recorded = record(agent)
    for _ in range(10):
        assert assert_same(recorded, agent) == ["quick", "so-so", "slow"]


def test_chance_is_as_it_was_however_it_was_imported(record: Record) -> None:
    def agent(run: Run) -> Any:
        drawn: list[Any] = [random.random(), imported_random(), str(uuid.uuid4()), str(imported_uuid4())]
        run.tool(search, "draws too")
        drawn += [random.choice(range(1000)), random.gauss(), str(uuid.uuid4()), random.getstate()[2]]
        run.tool(search, str(drawn))
        return run.result([*drawn, random.random(), str(uuid.uuid4())])

    recorded = record(agent)
    state = random.getstate()
    first = assert_same(recorded, agent)
    assert assert_same(recorded, agent) == first
    assert random.getstate() == state
    assert str(uuid.uuid4()) not in first


def test_a_seed_of_the_run_and_of_a_call_are_what_they_were(record: Record) -> None:
    def model(messages: list[str], seed: int) -> str:
        return f"{messages} {seed}"

    def agent(run: Run) -> None:
        run.llm(model, ["hello"], seed=random.randrange(2**31))
        seen.append(run.options.run_seed)

    seen: list[Any] = []
    recorded = record(agent)
    assert_same(recorded, agent)
    assert seen == [5, 5]


@pytest.mark.parametrize(
    "draw", [lambda: os.urandom(8).hex(), secrets.token_hex, lambda: random.SystemRandom().random()]
)
def test_other_sources_of_chance_are_not_recorded_and_what_they_change_is_found(
    draw: Callable[[], Any], record: Record
) -> None:
    def agent(run: Run) -> None:
        run.tool(search, str(draw()))

    found = play(record(agent), agent).divergence
    assert found is not None
    assert (found.kind, found.step, found.path) == (Kind.INPUT, 1, "$.query")


def test_any_other_value_comes_back_through_run_value(record: Record) -> None:
    def agent(run: Run) -> None:
        run.tool(search, run.value("token", secrets.token_hex))
        run.tool(search, str(run.value("now", time.time_ns)))

    assert_same(record(agent), agent)


@pytest.mark.parametrize("with_context", [True, False])
def test_threads_that_are_given_the_context_draw_the_same_uuids(with_context: bool, record: Record) -> None:
    def agent(run: Run) -> None:
        drawn = threading.Semaphore(0)

        def work(number: int) -> None:
            own = uuid.uuid4()
            drawn.release()
            run.tool(search, f"{number} {own}")
            run.tool(search, f"{number} {uuid.uuid4()}")

        with ThreadPoolExecutor(3) as pool:
            futures = []
            for number in range(3):
                futures.append(pool.submit(copied(), work, number))
                drawn.acquire()  # which of them draws first is nowhere recorded
            for future in futures:
                future.result()

    def copied() -> Callable[..., Any]:
        return contextvars.copy_context().run if with_context else lambda fn, *given: fn(*given)

    recorded = record(agent)
    for _ in range(5):
        found = play(recorded, agent).divergence
        assert found is None if with_context else (found is not None and found.path == "$.query")
