"""What is said of what an agent does otherwise, and of which step it is said."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from datetime import UTC, datetime

import pytest

from stepwell import Run
from stepwell.core.divergence import sentence
from stepwell.rerun import dialogue, ending
from stepwell.rerun.playing import play
from tests.rerun.agents import fetch, search
from tests.rerun.test_divergences import Record, diverge


def test_a_call_of_a_task_is_named_by_the_line_that_made_it(record: Record) -> None:
    async def agent(run: Run) -> None:
        await asyncio.gather(run.tool(fetch, name), run.tool(fetch, "b"))

    name = "a"
    recorded = record(agent)
    name = "c"
    found = diverge(recorded, agent)
    assert str(found.where).startswith(f"{__file__}:")
    assert str(found.where).endswith(
        " in test_a_call_of_a_task_is_named_by_the_line_that_made_it.<locals>.agent"
    )


def test_a_call_of_a_thread_by_itself_says_after_which_step_it_came(record: Record) -> None:
    def agent(run: Run) -> None:
        run.tool(search, "a")
        if more:
            thread = threading.Thread(target=run.tool, args=(search, "extra"))
            thread.start()
            thread.join()
        run.tool(search, "b")

    more = False
    recorded = record(agent)
    more = True
    said = sentence(diverge(recorded, agent))
    assert said.startswith('after step 1: not recorded: search(query="extra"); ')
    assert "copy_context" in said


def test_a_task_more_and_a_task_less_are_told_by_the_calls_that_they_make(record: Record) -> None:
    async def agent(run: Run) -> None:
        calls = (run.tool(fetch, str(number)) for number in range(count))
        answers = await asyncio.gather(*calls, aside(run))
        run.state({"answers": len(answers)})

    async def aside(run: Run) -> None:
        run.tool(search, "aside")

    count = 3
    recorded = record(agent)
    count = 4
    found = diverge(recorded, agent)
    assert (found.step, found.after) == (None, 3)
    assert sentence(found) == (
        'after step 3: not recorded: fetch(name="3"); fetch was recorded 3 times, this is call 4'
    )
    count = 2
    assert sentence(diverge(recorded, agent)) == (
        'step 5: input changed at $.answers: recorded 4, now 3; never asked until then: step 3 fetch(name="2")'
    )


def test_what_postgres_says_of_where_a_statement_is_wrong_is_no_part_of_an_error_in_a_line() -> None:
    said = 'column "nosuch" does not exist\nLINE 1: select nosuch from stock\n               ^'
    assert ending.words(ValueError(said)) == 'ValueError: column "nosuch" does not exist'
    more = f"(psycopg.errors.UndefinedColumn) {said}\n[SQL: select nosuch from stock]"
    assert ending.words(ValueError(more)).endswith("does not exist [SQL: select nosuch from stock]")


def test_a_call_that_was_made_in_another_block_is_named(record: Record) -> None:
    def agent(run: Run) -> None:
        with run.step("tool_call", "block") as step:
            step.output = contextvars.copy_context().run(inside, run) if with_context else None
            thread = threading.Thread(target=inside, args=(run,))
            if not with_context:
                thread.start()
                thread.join()

    def inside(run: Run) -> None:
        run.tool(search, "inside")

    with_context = True
    recorded = record(agent)
    with_context = False
    said = sentence(diverge(recorded, agent))
    assert "; that call is step 2, inside of step 1; contextvars.copy_context().run starts" in said


def test_a_time_of_now_in_an_input_says_what_to_do(record: Record) -> None:
    def agent(run: Run) -> None:
        run.tool(search, f"Today is {next(days):%A, %B %d, %Y}.")

    days = iter(datetime(2026, 11, day, tzinfo=UTC) for day in (29, 30))
    said = sentence(diverge(record(agent), agent))
    assert said.endswith('; if that is the time of now, it has to be a step: run.value("now", …)')


def test_a_replay_up_to_a_step_says_what_nobody_has_asked_for_by_then(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogue, "QUIET", 0.01)

    async def first(run: Run) -> None:
        await run.tool(fetch, "first")

    async def second(run: Run) -> None:
        await run.tool(fetch, "second")
        await run.tool(fetch, "third")

    async def agent(run: Run) -> None:
        await asyncio.gather(*(part(run) for part in parts))

    parts = [first, second]
    recorded = record(agent)
    parts = [second]
    report = play(recorded, agent, to=2)
    assert report.divergence is None
    assert report.notes == ("not asked for by then: 1",)


def test_what_comes_after_the_step_that_is_wanted_is_not_judged(record: Record) -> None:
    def agent(run: Run) -> None:
        for query in queries:
            run.tool(search, query)
        if queries == ["a", "b"]:
            raise KeyError("later")

    queries = ["a", "b", "c"]
    recorded = record(agent)
    for now in ("abx", "abcd", "ab", "abab"):
        queries = [*now]
        report = play(recorded, agent, to=2)
        assert (report.divergence, report.stopped) == (None, "step 2")
    queries = ["a", "x", "c"]
    report = play(recorded, agent, to=2)
    assert report.divergence is not None
    assert report.divergence.step == 2
