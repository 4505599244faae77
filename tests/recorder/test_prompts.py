"""Long prompts through a real recorder and a real database, as decoded values and in plain SQL."""

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings

import stepwell
from stepwell import Recorder, UsageError
from stepwell.core.deltas import LONG
from stepwell.store.reading import read_payload
from tests.core import codec_values as made
from tests.core.prompt_sequences import PAD, Taken, decoded, sequences

SYSTEM: dict[str, object] = {"role": "system", "content": PAD}
few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
more = settings(few, max_examples=60)


def said(count: int) -> list[Any]:
    return [SYSTEM, *({"role": "user", "content": f"message {n}"} for n in range(count))]


def reply(**_: object) -> dict[str, object]:
    return {"role": "assistant", "content": "ok"}


def bases(dsn: str, run_id: UUID) -> list[int | None]:
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT input_base FROM agent_steps WHERE run_id = %s ORDER BY step_number", [run_id]
        )
        return [base for (base,) in found]


def read_back(dsn: str, run_id: UUID, count: int) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        return [decoded(read_payload(connection, run_id, number)) for number in range(1, count + 1)]


def full(dsn: str, run_id: UUID) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT input FROM agent_steps_full WHERE run_id = %s ORDER BY step_number", [run_id]
        )
        return [value for (value,) in found]


def record_all(dsn: str, recorder: Recorder, taken: list[Taken]) -> None:
    with recorder.run() as run:
        for agent, value in taken:
            view = run if agent is None else run.agent(agent)
            with view.step("llm_call", "m", value):
                pass
    for (_, value), found in zip(taken, read_back(dsn, run.run_id, len(taken)), strict=True):
        assert made.same(found, value)


def record_plain(dsn: str, recorder: Recorder, taken: list[Taken]) -> None:
    with recorder.run() as run:
        for agent, value in taken:
            view = run if agent is None else run.agent(agent)
            with view.step("llm_call", "m", value):
                pass
    with recorder.run() as whole, psycopg.connect(dsn) as connection:
        for _, value in taken:
            with whole.step("tool_call", "m", value):
                pass
        (differ,) = connection.execute(
            "SELECT array_agg(a.step_number) FROM agent_steps_full a JOIN agent_steps b USING (step_number)"
            " WHERE a.run_id = %s AND b.run_id = %s AND a.input IS DISTINCT FROM b.input",
            [run.run_id, whole.run_id],
        ).fetchone() or (None,)
    assert differ is None


@pytest.fixture
def each(schema_dsn: str, recorder: Recorder) -> Callable[[Any, list[Taken]], None]:
    return lambda record, taken: record(schema_dsn, recorder, taken)


@few
@given(sequences(made.values))
def test_recorded_prompts_come_back_the_same(each: Any, taken: list[Taken]) -> None:
    each(record_all, taken)


@few
@given(sequences(made.json_shaped))
def test_the_view_holds_what_storing_it_whole_would_have_held(each: Any, taken: list[Taken]) -> None:
    each(record_plain, taken)


@pytest.mark.long
@more
@given(sequences(made.values))
def test_many_recorded_prompts_come_back_the_same(each: Any, taken: list[Taken]) -> None:
    each(record_all, taken)
    each(record_plain, taken)


def test_a_growing_conversation_takes_the_space_of_its_messages(schema_dsn: str, recorder: Recorder) -> None:
    with recorder.run() as run:
        for count in range(6):
            run.llm(reply, model="m", messages=said(count))
    assert bases(schema_dsn, run.run_id) == [None, 1, 2, 3, 4, 5]
    wanted = [{"model": "m", "messages": said(count)} for count in range(6)]
    assert read_back(schema_dsn, run.run_id, 6) == wanted
    assert full(schema_dsn, run.run_id) == wanted


def test_tasks_store_differences_too(schema_dsn: str, recorder: Recorder) -> None:
    async def areply(**_: object) -> str:
        return "ok"

    async def converse() -> UUID:
        async with recorder.run() as run:
            for count in range(3):
                await run.llm(areply, model="m", messages=said(count))
        return run.run_id

    assert bases(schema_dsn, asyncio.run(converse())) == [None, 1, 2]


def test_the_messages_of_an_agent_that_keeps_adding_to_one_list(schema_dsn: str, recorder: Recorder) -> None:
    messages: list[object] = [SYSTEM]
    with recorder.run() as run:
        for _ in range(4):
            messages.append(run.llm(reply, model="m", messages=messages))
    assert bases(schema_dsn, run.run_id) == [None, 1, 2, 3]
    assert [len(value["messages"]) for value in read_back(schema_dsn, run.run_id, 4)] == [1, 2, 3, 4]


def test_full_prompts_are_chosen_by_the_recorder(schema_dsn: str) -> None:
    with Recorder(schema_dsn, prompts="full") as recorder, recorder.run() as run:
        for count in range(3):
            run.llm(reply, model="m", messages=said(count))
    assert bases(schema_dsn, run.run_id) == [None, None, None]
    with pytest.raises(UsageError, match="prompts is 'delta' or 'full', not 'some'"):
        Recorder(schema_dsn, prompts="some")  # type: ignore[arg-type]  # what is refused


def test_a_recorder_that_resumes_a_run_begins_with_a_whole_prompt(
    schema_dsn: str, recorder: Recorder
) -> None:
    with recorder.run() as run:
        run.llm(reply, model="m", messages=said(1))
        with Recorder(schema_dsn) as other:
            again = other.resume(run.run_id)
            again.llm(reply, model="m", messages=said(2))
            again.llm(reply, model="m", messages=said(3))
        run.llm(reply, model="m", messages=said(4))
    assert bases(schema_dsn, run.run_id) == [None, None, 2, 1]
    assert [len(value["messages"]) for value in read_back(schema_dsn, run.run_id, 4)] == [2, 3, 4, 5]


def _in_child(run: stepwell.Run) -> None:
    for count in (2, 3):
        run.llm(reply, model="m", messages=said(count))


def test_a_forked_child_begins_with_a_whole_prompt(schema_dsn: str, recorder: Recorder) -> None:
    with recorder.run() as run:
        run.llm(reply, model="m", messages=said(1))
        child = multiprocessing.get_context("fork").Process(target=_in_child, args=[run])
        child.start()
        child.join()
        run.llm(reply, model="m", messages=said(4))
    assert child.exitcode == 0
    assert bases(schema_dsn, run.run_id) == [None, None, 2, 1]
    assert read_back(schema_dsn, run.run_id, 4)[2]["messages"] == said(3)


def test_threads_share_what_is_known_of_a_run(schema_dsn: str, recorder: Recorder) -> None:
    def converse(talk: int) -> None:
        for count in range(5):
            run.llm(reply, model="m", messages=[{"role": "user", "content": f"talk {talk}"}, *said(count)])

    with recorder.run() as run, ThreadPoolExecutor(4) as pool:
        list(pool.map(converse, range(4)))
    assert bases(schema_dsn, run.run_id).count(None) == 4
    got = sorted(
        (value["messages"][0]["content"], len(value["messages"])) for value in full(schema_dsn, run.run_id)
    )
    assert got == sorted((f"talk {talk}", count + 2) for talk in range(4) for count in range(5))


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM agent_steps WHERE step_number = 1",
        "UPDATE agent_steps SET input = '[]' WHERE step_number = 1",
        "UPDATE agent_steps SET input = '{\"messages\": 3}' WHERE step_number = 1",
        "UPDATE agent_steps SET input_base = 2 WHERE step_number = 2",
        "UPDATE agent_steps SET input_keep = 99 WHERE step_number = 2",
        "UPDATE agent_steps SET input_keep = -1 WHERE step_number = 2",
        "UPDATE agent_steps SET input_list = NULL WHERE step_number = 2",
        "UPDATE agent_steps SET input_removed = '7' WHERE step_number = 2",
        "UPDATE agent_steps SET input = NULL WHERE step_number = 2",
    ],
)
def test_a_damaged_base_is_no_crash_and_no_guess(schema_dsn: str, recorder: Recorder, damage: str) -> None:
    with recorder.run() as run:
        for count in range(2):
            run.llm(reply, model="m", messages=said(count))
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(damage)
        found = read_payload(connection, run.run_id, 2)
        assert (found.problem or "").startswith("only what is new in it: ")
        assert len(found.input or "") < LONG
    assert full(schema_dsn, run.run_id)[-1] is None
