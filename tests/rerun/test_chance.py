"""A replay draws what was drawn, whichever task draws first, and real chance where nothing was noted."""

import asyncio
import random
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.errors import EncodingError
from stepwell.rerun.executing import Instead
from stepwell.rerun.playing import Terms, play

Record = Callable[[Any], RecordedRun]


def look(given: object) -> str:
    return f"{given} {uuid.uuid4()} {random.random()}"


async def fetch(given: object) -> str:
    await asyncio.sleep(0.001)
    return look(given)


async def parents_and_children(run: Run) -> object:
    """The parent draws first and asks last."""

    async def child(name: str) -> str:
        own = uuid.uuid4()
        found = await run.agent(name).tool(fetch, own)
        return f"{found} {uuid.uuid4()}"

    own = uuid.uuid4()
    found = await asyncio.gather(*(child(name) for name in "abc"))
    await run.astate({"own": own, "found": found})
    return run.result([own, uuid.uuid4(), await asyncio.to_thread(uuid.uuid4), random.random()])


def beside(run: Run) -> object:
    """A thread that knows of no run draws whenever it likes."""
    own = uuid.uuid4()
    thread = threading.Thread(target=uuid.uuid4)
    thread.start()
    thread.join()
    return run.result([run.tool(look, own), uuid.uuid4()])


def block(run: Run) -> object:
    """A body that is run again, and a block within a tool, which is not."""

    def tool(given: object) -> str:
        with run.step("tool_call", "inside"):
            return look([given, uuid.uuid4()])

    with run.step("tool_call", "outside", uuid.uuid4()) as step:
        step.output = [str(uuid.uuid4()), random.random()]
    return run.result([run.tool(tool, uuid.uuid4()), uuid.uuid4(), random.random()])


@pytest.mark.parametrize("agent", [parents_and_children, beside, block])
def test_a_replay_draws_what_was_drawn(record: Record, agent: Any) -> None:
    recorded = record(agent)
    for _ in range(3):
        report = play(recorded, agent)
        assert report.divergence is None
        assert report.notes == ()


def test_who_draws_is_known_whatever_threads_ask_meanwhile(record: Record) -> None:
    """As requests do that are served side by side, each with an id of its own and its calls in threads."""
    in_turn = True

    async def agent(run: Run) -> object:
        async def one(name: str) -> None:
            for _ in range(2):
                await asyncio.to_thread(run.named(name).tool, look, uuid.uuid4())

        tasks = []
        for name in "abc":
            tasks.append(asyncio.create_task(one(name)))
            if in_turn:
                await tasks[-1]
        await asyncio.gather(*tasks)
        return run.result(uuid.uuid4())

    recorded = record(agent)
    in_turn = False
    report = play(recorded, agent)
    assert (report.divergence, report.notes) == (None, ())


def test_what_is_executed_on_purpose_takes_nothing_of_what_was_drawn(record: Record) -> None:
    def agent(run: Run) -> object:
        first = run.tool(look, uuid.uuid4())
        assert first
        return run.result([uuid.uuid4(), run.tool(len, "ab")])

    recorded = record(agent)
    assert play(recorded, agent, terms=Terms(Instead(stand_ins={"look": look}))).divergence is None


def test_drawing_more_than_was_recorded_is_said(record: Record) -> None:
    def agent(run: Run) -> object:
        return run.tool(look, "it")

    def other(run: Run) -> object:
        uuid.uuid4()
        return agent(run)

    assert play(record(agent), other).notes == (
        "uuid or tempfile was drawn from more often than was recorded",
    )


def test_a_draw_of_another_size_is_none_of_those_that_were_recorded(record: Record) -> None:
    def agent(run: Run) -> object:
        return run.tool(look, uuid.uuid4())

    def other(run: Run) -> object:
        assert len(vars(uuid)["os"].urandom(10)) == 10
        return agent(run)

    report = play(record(agent), other)
    assert report.divergence is None
    assert report.notes == ("uuid or tempfile was drawn from more often than was recorded",)


def test_what_a_hand_has_made_of_a_draw_is_told(record: Record) -> None:
    recorded = record(beside)
    step = replace(recorded.steps[0], drawn=("no such thing",))
    with pytest.raises(EncodingError, match="drawn of step 1 is 'no such thing': edited by hand"):
        play(replace(recorded, steps=(step,)), beside)


def test_the_run_says_what_it_was_begun_with(record: Record) -> None:
    seen: list[object] = []

    def agent(run: Run) -> object:
        seen.append((run.name, dict(run.tags), run.seed))
        return None

    play(record(agent), agent)
    assert seen == [("recorded", {}, 5)] * 2
