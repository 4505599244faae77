"""`Recorder(keep=…)`: at the end of a run it is said whether it is worth keeping; what was not ended says nothing."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

import stepwell
from stepwell import Recorder, Summary, UsageError
from stepwell.recorder.keeping import Keep

Look = Callable[[UUID], dict[str, Any]]


def search(query: str) -> list[str]:
    return [] if query else ["all"]


def refuse() -> None:
    raise ValueError("no order")


def well(run: stepwell.Run) -> None:
    run.tool(search, "lamp")


def raising(run: stepwell.Run) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="no order"):
            run.tool(refuse)


def failing(run: stepwell.Run) -> None:
    run.tool(refuse)


def looping(run: stepwell.Run) -> None:
    for _ in range(4):
        run.tool(search, "lamp")


def in_doubt(run: stepwell.Run) -> None:
    iterator = run.llm(iter, [1, 2])
    next(iterator)
    run.finish()


def record(dsn: str, keep: Keep | None, work: Callable[[stepwell.Run], None]) -> UUID:
    with Recorder(dsn, keep=keep) as recorder:
        try:
            with recorder.run("r", tags={"tenant": "a"}) as run:
                work(run)
        except ValueError:
            pass
    return run.run_id


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (well, ""),
        (raising, "2 steps raised"),
        (failing, "failed"),
        (looping, "loop: search, 4 laps"),
        (in_doubt, "1 in doubt"),
    ],
)
def test_what_went_wrong_is_worth_keeping(
    schema_dsn: str, run_row: Look, work: Callable[[stepwell.Run], None], why: str
) -> None:
    assert run_row(record(schema_dsn, stepwell.keep(), work))["keep"] == why
    assert run_row(record(schema_dsn, stepwell.keep(errors=False, loops=False), work))["keep"] == ""
    assert run_row(record(schema_dsn, None, work))["keep"] is None


def test_a_share_of_the_others_is_kept_by_their_ids() -> None:
    keep = stepwell.keep(rate=0.1)
    ids = [UUID(int=number << 96) for number in range(2000)]
    kept = [run_id for run_id in ids if keep(summary(run_id))]
    assert 140 < len(kept) < 260
    assert kept == [run_id for run_id in ids if keep(summary(run_id))]
    assert {keep(summary(run_id)) for run_id in kept} == {"one of 10 %"}
    assert all(stepwell.keep(rate=1)(summary(run_id)) for run_id in ids)
    assert not any(stepwell.keep(rate=0)(summary(run_id)) for run_id in ids)


def summary(run_id: UUID) -> Summary:
    return Summary(run_id, "r", {}, "ok", 1, 0, 0, None, (), timedelta(seconds=1))


def test_a_function_gets_the_facts_of_all_who_recorded(schema_dsn: str) -> None:
    seen: list[Summary] = []

    def look(run: Summary) -> None:
        seen.append(run)

    with (
        Recorder(schema_dsn) as other,
        Recorder(schema_dsn, keep=look) as recorder,
        recorder.run("r", tags={"tenant": "a"}) as run,
    ):
        raising(other.resume(run.run_id).agent("b"))
        looping(run.agent("c"))
    (found,) = seen
    assert (found.run_id, found.name, found.tags, found.status) == (run.run_id, "r", {"tenant": "a"}, "ok")
    assert (found.steps, found.raised, found.in_doubt, found.agents) == (6, 2, 0, ("b", "c"))
    assert found.loop is not None
    assert (found.loop.name, found.loop.laps) == ("search", 4)
    assert found.took.total_seconds() > 0


@pytest.mark.parametrize(
    ("said", "mark"), [("slow\0", "slow\ufffd"), (True, "kept"), (False, ""), ("", ""), (None, None)]
)
def test_what_a_function_says_is_what_is_marked(
    schema_dsn: str, run_row: Look, said: str | bool | None, mark: str | None
) -> None:
    assert run_row(record(schema_dsn, lambda _: said, well))["keep"] == mark


def test_a_function_that_raises_has_the_run_kept_and_not_failed(
    schema_dsn: str, run_row: Look, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Summary) -> str:
        raise KeyError("oops")

    with caplog.at_level(logging.ERROR, "stepwell"):
        row = run_row(record(schema_dsn, broken, well))
    assert (row["status"], row["keep"]) == ("ok", None)
    assert "is kept: keep raised" in caplog.text


def test_what_the_agent_asks_to_keep_is_kept_whoever_ends_the_run(schema_dsn: str, run_row: Look) -> None:
    with Recorder(schema_dsn) as other, Recorder(schema_dsn, keep=stepwell.keep()) as recorder:
        with recorder.run("r") as run:
            other.resume(run.run_id).keep("the customer asked")
        with recorder.run("r") as second:
            second.keep()
    assert run_row(run.run_id)["keep"] == "the customer asked"
    assert run_row(second.run_id)["keep"] == "kept"


def test_a_run_that_goes_on_is_judged_anew(schema_dsn: str, run_row: Look) -> None:
    run_id = record(schema_dsn, stepwell.keep(), well)
    with Recorder(schema_dsn, keep=stepwell.keep()) as recorder, recorder.resume(run_id) as run:
        raising(run)
    assert run_row(run_id)["keep"] == "2 steps raised"


def test_tasks_end_their_runs_alike(schema_dsn: str, run_row: Look) -> None:
    async def work(recorder: Recorder) -> UUID:
        async with recorder.run("r") as run:
            with pytest.raises(ValueError, match="no order"):
                run.tool(refuse)
        return run.run_id

    with Recorder(schema_dsn, keep=stepwell.keep()) as recorder:
        run_id = asyncio.run(work(recorder))
    assert (run_row(run_id)["status"], run_row(run_id)["keep"]) == ("ok", "1 step raised")


def test_a_task_that_is_cancelled_while_it_ends_its_run_ends_it_all_the_same(
    schema_dsn: str, run_row: Look
) -> None:
    async def work(recorder: Recorder) -> UUID:
        run = recorder.start("r")
        ending = asyncio.ensure_future(run.afinish())
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        return run.run_id

    with Recorder(schema_dsn, keep=stepwell.keep()) as recorder:
        run_id = asyncio.run(work(recorder))
    assert run_row(run_id)["status"] == "ok"


@pytest.mark.parametrize("rate", [-0.1, 1.5, True, "half", None])
def test_a_rate_is_a_share(rate: Any) -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        stepwell.keep(rate=rate)


@pytest.mark.parametrize("wrong", [True, 0.5, stepwell.keep, lambda: True, pow])
def test_keep_is_a_function_of_a_summary(schema_dsn: str, wrong: Any) -> None:
    with pytest.raises(UsageError, match="keep is a function"):
        Recorder(schema_dsn, keep=wrong)
