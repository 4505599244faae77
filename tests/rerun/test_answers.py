"""What a replay hands out: what was returned, and what was raised, as the objects that they were."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from stepwell import Recorder, Run
from stepwell.core.divergence import Kind, sentence
from stepwell.core.explaining import explained
from stepwell.core.recorded import RecordedRun
from stepwell.replay.recorded import load
from stepwell.rerun.answers import RecordedError
from stepwell.rerun.executing import Instead
from stepwell.rerun.playing import Terms, play
from stepwell.store.connect import resolve
from tests.rerun import faults
from tests.rerun.faults import MAKERS, STAND_INS, CodedError, DemandingError, HoldingError

Record = Callable[[Any], RecordedRun]


def caught(run: Run, kind: str) -> BaseException:
    try:
        run.tool(faults.fail, kind)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def replayed(record: Record, kind: str) -> tuple[BaseException, BaseException]:
    """The exception that an agent caught when it was recorded, and the one that it catches now."""
    errors: list[BaseException] = []

    def agent(run: Run) -> None:
        errors.append(caught(run, kind))

    recorded = record(agent)
    report = play(recorded, agent)
    assert (report.divergence, report.refused) == (None, None)
    then, now = errors
    return then, now


@pytest.mark.parametrize("kind", MAKERS)
def test_an_exception_is_raised_again_with_its_type_and_all_that_it_held(kind: str, record: Record) -> None:
    then, now = replayed(record, kind)
    assert type(now) is type(then)
    assert str(now) == str(then)
    assert repr(now.args) == repr(then.args)
    kept = {name: value for name, value in vars(then).items() if name != "lock"}
    assert {name: vars(now)[name] for name in kept} == kept
    for name in ("errno", "filename", "code", "where", "hint", "reason", "object", "__notes__"):
        assert getattr(now, name, None) == getattr(then, name, None)
    assert now.__traceback__ is not None


def test_a_group_has_its_exceptions(record: Record) -> None:
    _, now = replayed(record, "group")
    assert isinstance(now, ExceptionGroup)
    one, two = now.exceptions
    assert isinstance(one, ValueError)
    assert isinstance(two, CodedError)
    assert two.hint == "two"


def test_what_an_exception_was_raised_from_is_not_recorded(record: Record) -> None:
    then, now = replayed(record, "caused")
    assert (type(then.__cause__), now.__cause__) == (ValueError, None)


@pytest.mark.parametrize("kind", STAND_INS)
def test_a_class_that_cannot_be_had_has_a_stand_in_that_says_so(kind: str, record: Record) -> None:
    then, now = replayed(record, kind)
    assert isinstance(now, RecordedError)
    assert type(now).__name__ == type(then).__name__
    assert type(now).__module__ == "stepwell.recorded"
    assert str(now) == str(then)
    assert "stand-in" in now.__notes__[0]


def test_a_stand_in_is_caught_by_the_class_where_that_can_be_had(record: Record) -> None:
    _, now = replayed(record, "demanding")
    assert isinstance(now, DemandingError)
    assert isinstance(now, ValueError)


@pytest.mark.parametrize("swallows", [False, True])
def test_what_an_exception_held_and_was_not_recorded_ends_the_replay_where_it_is_asked_for(
    swallows: bool, record: Record
) -> None:
    def agent(run: Run) -> None:
        error = caught(run, "holding")
        assert isinstance(error, HoldingError)
        assert error.status == 503
        try:
            error.lock.acquire()
        except BaseException:
            if not swallows:
                raise

    report = play(record(agent), agent)
    assert report.refused is not None
    assert ":1: .acquire of its error is asked for" in report.refused
    assert "of which only the repr was recorded" in report.refused


@pytest.mark.parametrize("kind", ["interrupt", "exit", "plain", "group"])
def test_what_ended_a_run_ends_it_again(kind: str, record: Record) -> None:
    def agent(run: Run) -> None:
        run.tool(faults.fail, kind)

    def recording(run: Run) -> None:
        try:
            agent(run)
        except BaseException as error:
            run.finish(error)

    recorded = record(recording)
    assert recorded.head.status == "failed"
    report = play(recorded, agent)
    assert (report.divergence, report.served) == (None, 1)


def test_a_task_that_was_cancelled_is_so_again(record: Record) -> None:
    async def slow() -> None:
        await asyncio.sleep(3600)

    async def agent(run: Run) -> str:
        task = asyncio.ensure_future(run.tool(slow))
        await asyncio.sleep(0.01)
        task.cancel("enough")
        try:
            await task
        except asyncio.CancelledError:
            return run.result("cancelled")
        return run.result("went on")

    recorded = record(agent)
    report = play(recorded, agent)
    assert (report.divergence, report.result) == (None, "cancelled")


@dataclasses.dataclass
class Found:
    amount: Decimal
    when: datetime
    tags: set[str]


def find() -> dict[str, object]:
    return {
        "found": Found(Decimal("1.50"), datetime(2026, 1, 1, tzinfo=UTC), {"a"}),
        "pair": (1, -0.0),
        "b": b"\0",
    }


def test_an_answer_is_the_object_that_it_was(record: Record) -> None:
    got: list[Any] = []
    recorded = record(lambda run: got.append(run.tool(find)))
    report = play(recorded, lambda run: got.append(run.tool(find)))
    assert report.divergence is None
    assert got[0] == got[1]
    assert repr(got[0]) == repr(got[1])
    assert got[0] is not got[1]


def test_an_answer_of_which_only_the_repr_was_recorded_is_refused_by_its_address(record: Record) -> None:
    def tool() -> dict[str, object]:
        return {"rows": [1, {"lock": threading.Lock()}]}

    recorded = record(lambda run: run.tool(tool))
    report = play(recorded, lambda run: run.tool(tool))
    start = f"{str(recorded.head.run_id)[:8]}:1:$.rows[1].lock is a _thread.lock, of which only the repr"
    assert report.refused is not None
    assert report.refused.startswith(start)
    assert report.refused.endswith("; let tool return plain data, or execute it again as a pure tool")


def test_a_redacted_answer_is_handed_out_as_it_was_recorded_and_named(schema_dsn: str) -> None:
    def login(key: str) -> dict[str, str]:
        return {"token": f"secret {key}", "user": "u"}

    def agent(run: Run) -> None:
        seen.append(run.tool(login, key="k"))
        run.tool(login, key="another")

    seen: list[dict[str, str]] = []
    with closing(Recorder(schema_dsn, redact=["token", "key"])) as recorder, recorder.run() as run:
        agent(run)
    report = play(load(resolve(schema_dsn), str(run.run_id)), agent)
    assert report.divergence is None
    assert report.notes == (
        "step 1 gave what was redacted: $.token",
        "step 2 gave what was redacted: $.token",
    )
    assert seen[0]["token"] == "secret k"
    assert "secret" not in seen[1]["token"]


def test_what_was_left_out_of_a_recording_is_compared_nowhere_and_not_shown(schema_dsn: str) -> None:
    def login(key: str) -> dict[str, str]:
        return {"token": f"secret {key}", "user": "u"}

    def agent(run: Run) -> None:
        run.tool(login, key="secret")
        run.state({"token": "secret", "seen": 1})
        run.state({"token": "secret", "seen": [{"key": "secret"}]})
        with run.step("tool_call", "block", {"key": "secret", "n": numbers[0]}) as step:
            step.output = {"token": "secret", "n": numbers[1]}
        run.result({"token": "secret", "n": numbers[2]})

    numbers = [1, 1, 1]
    with closing(Recorder(schema_dsn, redact=["token", "key"])) as recorder, recorder.run() as run:
        agent(run)
    recorded = load(resolve(schema_dsn), str(run.run_id))
    terms = Terms(Instead(["login"]))
    assert play(recorded, agent, terms=terms).divergence is None
    places = []
    for other in ([2, 1, 1], [1, 2, 1], [1, 1, 2]):
        numbers[:] = other
        found = play(recorded, agent, terms=terms).divergence
        assert found is not None
        assert "secret" not in sentence(found) + explained(found)
        places.append((found.kind, found.step, found.path))
    assert places == [(Kind.INPUT, 4, "$.n"), (Kind.OUTCOME, 4, "$.n"), (Kind.RESULT, None, "$.n")]


def test_of_an_error_that_held_what_was_left_out_the_type_counts(schema_dsn: str) -> None:
    def fail(text: str) -> None:
        raise ValueError(text)

    def agent(run: Run) -> None:
        with contextlib.suppress(ValueError):
            run.tool(fail, "secret")
        with contextlib.suppress(KeyError), run.step("tool_call", "block"):
            raise inside("secret")
        raise RuntimeError("a secret end")

    inside: type[Exception] = KeyError
    recorder = Recorder(schema_dsn, redact=lambda _, text: text.replace("secret", "***"))
    with closing(recorder), pytest.raises(RuntimeError), recorder.run() as run:
        agent(run)
    recorded = load(resolve(schema_dsn), str(run.run_id))
    terms = Terms(Instead(["fail"]))
    assert play(recorded, agent, terms=terms).divergence is None
    inside = IndexError
    found = play(recorded, agent, terms=terms).divergence
    assert found is not None
    assert (found.kind, found.step) == (Kind.OUTCOME, 2)
    assert f"test_answers.py:{inspect.getsourcelines(agent)[1] + 3} in " in (found.where or "")
