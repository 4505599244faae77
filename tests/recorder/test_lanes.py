"""Which thread or task took a step, recorded as a number."""

import asyncio
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

from stepwell import Recorder, Run
from stepwell.recorder.lanes import Lanes


def look(number: int) -> int:
    return number


async def alook(number: int) -> int:
    await asyncio.sleep(0)
    return number


def lanes(rows: Any) -> dict[int, int]:
    """By what the step was given."""
    return {row["given"]["number"]: row["lane"] for row in rows}


def test_steps_of_one_thread_share_a_lane_and_each_other_thread_has_its_own(
    recorder: Recorder, steps: Any
) -> None:
    with recorder.run() as run:
        run.tool(look, 1)
        threads = [threading.Thread(target=run.tool, args=(look, n)) for n in (2, 3)]
        for thread in threads:
            thread.start()
            thread.join()
        run.tool(look, 4)
    assert lanes(steps(run.run_id)) == {1: 0, 2: 1, 3: 2, 4: 0}


def test_each_piece_of_work_of_a_pool_is_a_lane_whichever_thread_has_it(
    recorder: Recorder, steps: Any
) -> None:
    def work(number: int) -> None:
        run.tool(look, number)
        run.tool(look, number + 10)

    with recorder.run() as run, ThreadPoolExecutor(1) as pool:
        list(pool.map(work, range(3)))
    found = lanes(steps(run.run_id))
    assert [found[n] for n in range(3)] == [found[n + 10] for n in range(3)] == [0, 1, 2]


def test_each_task_is_a_lane_for_steps_of_every_kind(recorder: Recorder, steps: Any) -> None:
    async def agent(run: Run, first: int) -> None:
        await run.tool(alook, first)
        run.tool(look, first + 1)
        await asyncio.to_thread(run.tool, look, first + 2)
        await run.astate({"number": first})
        async with run.step("tool_call", "block", {"number": first + 3}):
            pass

    async def main() -> Run:
        async with recorder.run() as run:
            await run.tool(alook, 1)
            await asyncio.gather(agent(run, 10), agent(run, 20))
        return run

    rows = steps(asyncio.run(main()).run_id)
    found = lanes(row for row in rows if row["step_type"] == "tool_call")
    assert found[1] == 0
    assert {found[10], found[11], found[13]} == {1}
    assert {found[20], found[21], found[23]} == {2}
    assert len({found[12], found[22], 0, 1, 2}) == 5
    assert sorted(row["lane"] for row in rows if row["step_type"] == "state_update") == [1, 2]


def test_a_forked_process_has_no_lane_of_its_parent(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        run.tool(look, 1)
        child = get_context("fork").Process(target=run.tool, args=(look, 2))
        child.start()
        child.join()
        run.tool(look, 3)
    found = lanes(steps(run.run_id))
    assert found[1] == found[3] == 0
    assert found[2] > 0
    assert child.pid is not None
    assert Lanes(child.pid).number() == found[2]


def test_a_lane_that_has_ended_gives_its_number_to_nobody() -> None:
    lanes, numbers = Lanes(), Counter[int]()
    for _ in range(50):
        thread = threading.Thread(target=lambda: numbers.update([lanes.number()]))
        thread.start()
        thread.join()
        del thread
    assert numbers == Counter(range(50))
    assert Lanes(2**22).number() < 2**31 > Lanes(os.getpid()).number()
