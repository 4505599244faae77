"""Where a recording has no answer an agent goes on for real, in a branch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.core.rerun import Leave, Report
from stepwell.replay.recorded import load
from stepwell.rerun.leaving import Live
from stepwell.rerun.playing import Terms, play
from stepwell.store.connect import resolve
from tests.rerun.agents import fetch, model, search

Record = Callable[[Any], RecordedRun]
GoOn = Callable[[RecordedRun, Any], Report]


@pytest.fixture
def leaves() -> list[Leave]:
    return []


@pytest.fixture
def go_on(schema_dsn: str, leaves: list[Leave]) -> GoOn:
    def allow(leave: Leave) -> bool:
        leaves.append(leave)
        return True

    return lambda recorded, agent: play(recorded, agent, terms=Terms(live=Live(resolve(schema_dsn), allow)))


def agent_of(query: str, more: int = 2) -> Callable[[Run], list[str]]:
    def agent(run: Run) -> list[str]:
        found = list(run.tool(search, "first"))
        found += run.tool(search, query)
        for turn in range(more):
            found.append(run.llm(model, found)["text"])
            run.state({"turn": turn, "found": found})
        return run.result(found)

    return agent


def test_what_was_answered_and_what_came_of_it_are_one_run(
    record: Record, go_on: GoOn, leaves: list[Leave], schema_dsn: str
) -> None:
    recorded = record(agent_of("second"))
    report = go_on(recorded, agent_of("other"))
    assert report.divergence is None
    assert report.branch is not None
    (leave,) = leaves
    assert leave == Leave(2, (("model", 2), ("search", 1)))
    assert play(recorded, agent_of("other")).leave == leave
    branch = load(resolve(schema_dsn), report.branch)
    assert [step.number for step in branch.steps] == [1, 2, 3, 4, 5, 6]
    assert branch.steps[0].payload.output == recorded.steps[0].payload.output
    assert branch.steps[1].payload.output != recorded.steps[1].payload.output
    assert (branch.head.status, branch.head.parent, branch.head.forked_at) == ("ok", recorded.head.run_id, 2)
    again = play(branch, agent_of("other"))
    assert (again.divergence, again.served) == (None, 6)
    assert play(branch, agent_of("second")).divergence is not None


def test_an_agent_that_has_more_to_do_goes_on_at_the_end(
    record: Record, go_on: GoOn, schema_dsn: str
) -> None:
    recorded = record(agent_of("second", more=1))
    report = go_on(recorded, agent_of("second", more=3))
    branch = load(resolve(schema_dsn), str(report.branch))
    assert len(branch.steps) == 8
    assert play(branch, agent_of("second", more=3)).divergence is None


def test_nothing_is_called_without_leave(record: Record, schema_dsn: str) -> None:
    called: list[str] = []

    def agent(run: Run) -> None:
        run.tool(called.append, query)

    query = "a"
    recorded = record(agent)
    query, called[:] = "b", []
    report = play(recorded, agent, terms=Terms(live=Live(resolve(schema_dsn), lambda _: False)))
    assert (report.branch, called) == (None, [])
    assert report.divergence is not None


def test_time_goes_by_for_real_from_there_on(record: Record, go_on: GoOn) -> None:
    times: list[float] = []

    def agent(run: Run) -> None:
        run.tool(search, "first")
        times.append(time.time())
        run.tool(search, query)
        times.append(time.time())

    query = "a"
    recorded = record(agent)
    query, times[:] = "b", []
    began = time.time()
    go_on(recorded, agent)
    assert times[0] < began <= times[1] <= time.time()


def test_what_raises_there_ends_the_branch_as_failed(record: Record, go_on: GoOn, schema_dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(search, query)
        if query == "b":
            raise ValueError("of the new code")

    query = "a"
    recorded = record(agent)
    query = "b"
    report = go_on(recorded, agent)
    assert report.stopped == "ValueError: of the new code"
    head = load(resolve(schema_dsn), str(report.branch)).head
    assert (head.status, head.error) == ("failed", "ValueError: of the new code")


def test_tasks_go_on_too(record: Record, go_on: GoOn, schema_dsn: str) -> None:
    async def agent(run: Run) -> list[str]:
        names = await asyncio.gather(*(run.tool(fetch, name) for name in names_of))
        names.append(await run.tool(fetch, last))
        await run.astate({"names": names})
        return run.result(names)

    names_of, last = "abc", "d"
    recorded = record(agent)
    last = "e"
    report = go_on(recorded, agent)
    branch = load(resolve(schema_dsn), str(report.branch))
    assert [step.number for step in branch.steps] == [1, 2, 3, 4, 5]
    assert branch.head.forked_at == 4
    assert play(branch, agent).divergence is None


def test_a_block_that_is_open_ends_in_the_branch(record: Record, go_on: GoOn, schema_dsn: str) -> None:
    def agent(run: Run) -> None:
        with run.step("tool_call", "outer", "given") as step:
            found = run.tool(search, query)
            if not step.replayed or query == "b":
                step.output = found

    query = "a"
    recorded = record(agent)
    query = "b"
    report = go_on(recorded, agent)
    branch = load(resolve(schema_dsn), str(report.branch))
    outer, inner = branch.steps
    assert (inner.parent, inner.in_doubt, outer.in_doubt) == (1, False, False)
    assert outer.payload.output == inner.payload.output != recorded.steps[0].payload.output
