"""What an agent does otherwise is found at the step and the path at which it does; what makes no difference is not."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.divergence import Divergence, Kind
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play
from tests.rerun.agents import Workers, fetch, model, search

Record = Callable[[Any], RecordedRun]


class Agent:
    """Three model calls with a tool call each; what is `changed` is done otherwise."""

    def __init__(self, changed: str = "") -> None:
        self.changed = changed

    def __call__(self, run: Run) -> str:
        changed, messages = self.changed, ["hello" if self.changed != "prompt" else "hallo"]
        if changed == "early return":
            run.llm(model, messages, seed=0)
            return run.result("early")
        if changed == "extra first":
            run.tool(search, "extra")
        for turn in range(3):
            if changed == "swallows" and turn == 1:
                try:
                    run.llm(model, [*messages, "more"])
                except Exception:
                    messages.append("swallowed")
            reply = run.llm(model, list(messages), seed=turn)
            messages.append(reply["text"])
            if changed == "dropped" and turn == 1:
                continue
            query = f"piece {turn} {random.random()}"
            if changed == "other tool" and turn == 1:
                run.tool(look_up, query)
                continue
            limit = 4 if changed == "limit" and turn == 2 else 3
            messages += run.tool(search, query, limit=limit)
            if changed == "extra" and turn == 2:
                run.tool(search, "extra")
            state = {"turn": turn, "seen": {"last": messages[-1] if changed != "state" else "nothing"}}
            run.state(state)
        if changed == "raises":
            raise ValueError("at the end")
        return run.result("done" if changed != "result" else "over")


def look_up(query: str) -> list[str]:
    return [query]


def diverge(recorded: RecordedRun, agent: Any) -> Divergence:
    report = play(recorded, agent)
    assert report.divergence is not None
    return report.divergence


@pytest.mark.parametrize(
    ("changed", "kind", "step", "path"),
    [
        ("prompt", Kind.INPUT, 1, "$.messages[0]"),
        ("extra first", Kind.OTHER, 1, "$"),
        ("limit", Kind.INPUT, 8, "$.limit"),
        ("dropped", Kind.OTHER, 5, "$"),
        ("other tool", Kind.OTHER, 5, "$"),
        ("extra", Kind.OTHER, 9, "$"),
        ("early return", Kind.NEVER_ASKED, 2, "$"),
        ("swallows", Kind.INPUT, 4, "$.messages[5]"),
        ("state", Kind.INPUT, 3, "$.seen.last"),
        ("raises", Kind.RESULT, None, "$"),
        ("result", Kind.RESULT, None, "$"),
    ],
)
def test_a_change_is_found_where_it_is(
    changed: str, kind: Kind, step: int | None, path: str, record: Record
) -> None:
    recorded = record(Agent())
    found = diverge(recorded, Agent(changed))
    assert (found.kind, found.step, found.path) == (kind, step, path)
    assert play(recorded, Agent()).divergence is None


CHANGES = [
    ("prompt", Kind.INPUT, 4, "$.messages[0]"),
    ("swapped", Kind.ORDER, 5, "$"),
    ("dropped", Kind.ORDER, 5, "$"),
    ("extra", Kind.OTHER, 6, "$"),
    ("other tool", Kind.OTHER, 6, "$"),
    ("state", Kind.INPUT, 7, "$.seen"),
    ("early return", Kind.NEVER_ASKED, 5, "$"),
    ("swallow Exception", Kind.INPUT, 4, "$.messages[4]"),
    ("swallow BaseException", Kind.INPUT, 4, "$.messages[4]"),
]


def of_worker(recorded: RecordedRun, name: str) -> list[int]:
    """The steps of one worker: their inputs hold what it began with, or answers to that."""
    texts = [f'"hello {name}"', f'"of": "{name}"']
    lanes = {
        step.lane for step in recorded.steps if any(text in (step.payload.input or "") for text in texts)
    }
    assert len(lanes) == 1
    return [step.number for step in recorded.steps if step.lane in lanes]


@pytest.mark.parametrize("way", [way for way in Workers.WAYS if way != "bare threads"])
def test_each_change_is_found_in_agents_of_each_kind(way: str, record: Record) -> None:
    recorded = record(Workers(way))
    steps = of_worker(recorded, "b")
    assert len(steps) == 12
    for change, kind, place, path in CHANGES:
        found = diverge(recorded, Workers(way, change, seed=place))
        assert (found.kind, found.step, found.path) == (kind, steps[place], path), (change, found)


@pytest.mark.parametrize("kind", [Exception, BaseException])
@pytest.mark.parametrize("other", ["hallo", float("nan"), 10**5000, "\0"], ids=["text", "nan", "long", "nul"])
def test_what_an_agent_swallows_ends_it_all_the_same(
    other: Any, kind: type[BaseException], record: Record
) -> None:
    def agent(run: Run) -> str:
        with contextlib.suppress(kind):
            run.llm(model, [prompt])
        for _ in range(3):
            try:
                run.tool(search, "a")
            except kind:
                continue
        return run.result("all is well")

    prompt: Any = "hello"
    recorded = record(agent)
    prompt = other
    found = diverge(recorded, agent)
    assert (found.kind, found.step, found.path) == (Kind.INPUT, 1, "$.messages[0]")


@pytest.mark.long
@pytest.mark.parametrize("change", [change for change, *_ in CHANGES])
def test_each_change_is_found_in_threads_that_share_their_work(change: str, record: Record) -> None:
    recorded = record(Workers("bare threads"))
    for seed in range(5):
        diverge(recorded, Workers("bare threads", change, seed))


@pytest.mark.parametrize("way", Workers.WAYS)
def test_in_which_order_parallel_work_begins_makes_no_difference(way: str, record: Record) -> None:
    assert_harmless(way, record, 10)


@pytest.mark.long
@pytest.mark.parametrize("way", Workers.WAYS)
def test_in_which_order_parallel_work_begins_makes_no_difference_a_hundred_times(
    way: str, record: Record
) -> None:
    assert_harmless(way, record, 100)


def assert_harmless(way: str, record: Record, times: int) -> None:
    recorded = record(Workers(way))
    for seed in range(times):
        report = play(recorded, Workers(way, seed=seed))
        assert (report.divergence, report.stopped, report.notes) == (None, None, ())
        assert report.served == len(recorded.steps)


def test_parallel_calls_may_come_in_any_order(record: Record) -> None:
    async def agent(run: Run) -> list[str]:
        names = list("abcdef")
        random.Random(time.perf_counter_ns() if shuffled else 1).shuffle(names)
        tasks = {name: asyncio.ensure_future(run.tool(fetch, name)) for name in names}
        return run.result([await tasks[name] for name in sorted(names)])

    shuffled = False
    recorded = record(agent)
    shuffled = True
    for _ in range(20):
        assert play(recorded, agent).divergence is None


def test_a_task_that_does_one_thing_after_the_other_has_to_do_it_in_that_order(record: Record) -> None:
    async def agent(run: Run) -> None:
        first, second = ("a", "b") if not swapped else ("b", "a")
        await run.tool(fetch, first)
        await run.tool(fetch, second)

    swapped = False
    recorded = record(agent)
    swapped = True
    found = diverge(recorded, agent)
    assert (found.kind, found.step) == (Kind.ORDER, 1)
    assert (found.expected, found.actual) == ('tool_call fetch {"name":"a"}', 'tool_call fetch {"name":"b"}')


@pytest.mark.parametrize("status", ["died", "unknown"])
def test_an_agent_that_ends_before_a_recording_that_was_cut_off_is_told(status: str, record: Record) -> None:
    def agent(run: Run) -> None:
        run.tool(search, "a")
        if early:
            raise ValueError("no more")
        run.tool(search, "b")

    early = False
    recorded = record(agent)
    cut_off = replace(recorded, head=replace(recorded.head, status=status))
    assert play(cut_off, agent).same
    early = True
    report = play(cut_off, agent)
    assert report.divergence is not None
    assert (report.divergence.kind, report.divergence.step) == (Kind.RAISED, 2)
    assert report.divergence.actual == "ValueError: no more"
    assert str(report.divergence.where).endswith(" in agent")


def test_an_agent_that_goes_on_after_the_recording_has_ended_is_told(record: Record) -> None:
    recorded = record(lambda run: run.tool(search, "a"))
    found = diverge(recorded, lambda run: [run.tool(search, "a"), run.tool(search, "a")])
    assert (found.kind, found.step, found.actual) == (Kind.NOT_RECORDED, None, "tool_call search")


@pytest.mark.parametrize("way", Workers.WAYS)
def test_what_ends_side_by_side_work_is_said_once_in_the_report(
    way: str, record: Record, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    diverge(record(Workers(way)), Workers(way, "prompt"))
    assert (caplog.records, *capfd.readouterr()) == ([], "", "")


def test_an_agent_that_waits_for_what_never_comes_is_not_the_same(record: Record) -> None:
    async def agent(run: Run) -> None:
        if waits:
            await asyncio.Event().wait()
        await asyncio.gather(run.tool(fetch, "a"), run.tool(fetch, "b"))

    waits = False
    recorded = record(agent)
    waits = True
    report = play(recorded, agent)
    line = inspect.getsourcelines(agent)[1] + 2
    assert not report.same
    assert report.refused is not None
    assert report.refused.startswith("the agent waits for what never comes at ")
    assert f"test_divergences.py:{line} in " in report.refused
