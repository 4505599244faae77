"""What a run draws of chance is noted, and drawing is as it was for everybody else."""

import asyncio
import os
import pickle
import random
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Recorder, Run
from stepwell.core.chance import from_json
from stepwell.core.codec import parse
from stepwell.recorder import chance
from stepwell.recorder.context import current_frame
from stepwell.store.reading import find_run
from stepwell.store.recorded import read_recorded

Row = dict[str, Any]


def look(*_: object) -> None:
    return None


def hexadecimal(ids: list[uuid.UUID]) -> list[str]:
    return [found.hex for found in ids]


def _masked(data: bytes) -> str:
    """The id that is made of it."""
    return uuid.UUID(bytes=data, version=4).hex


def drawn(row: Row) -> list[str] | None:
    return (
        None if row["drawn"] is None else [_masked(bytes.fromhex(text.split()[-1])) for text in row["drawn"]]
    )


def test_a_step_takes_along_what_uuid_gave_before_it(recorder: Recorder, steps: Any, run_row: Any) -> None:
    with recorder.run() as run:
        ids = [uuid.uuid4(), uuid.uuid4()]
        run.tool(look)
        run.tool(look)
        ids.append(uuid.uuid4())
        run.state({"id": ids[-1]})
        ids.append(uuid.uuid4())
        with run.step("tool_call", "block"):
            ids.append(uuid.uuid4())
        ids.append(uuid.uuid4())
    assert [drawn(row) for row in steps(run.run_id)] == [
        hexadecimal(ids[:2]),
        None,
        hexadecimal(ids[2:3]),
        hexadecimal(ids[3:4]),
    ]
    assert rest(run_row(run.run_id)) == [("0", text) for text in hexadecimal(ids[4:])]


def rest(row: Row) -> list[tuple[str, str]]:
    """What no step took: the lanes, and what was drawn in them."""
    found = [text.partition(" ") for text in row["drawn"]]
    return [(lane, _masked(bytes.fromhex(text))) for lane, _, text in found]


def test_what_a_task_draws_goes_with_its_own_steps(recorder: Recorder, steps: Any, run_row: Any) -> None:
    ids: dict[str, uuid.UUID] = {}

    async def agent(run: Run, name: str) -> None:
        await draw(name)
        run.named(name).tool(look)

    async def draw(name: str) -> None:
        ids[name] = uuid.uuid4()
        await asyncio.sleep(0)

    async def main() -> Run:
        async with recorder.run() as run:
            await draw("own")
            await asyncio.gather(agent(run, "a"), agent(run, "b"))
            await asyncio.create_task(draw("late"))
        return run

    run = asyncio.run(main())
    assert {row["name"]: drawn(row) for row in steps(run.run_id)} == {n: [ids[n].hex] for n in "ab"}
    assert rest(run_row(run.run_id)) == [("0", ids["own"].hex), ("3", ids["late"].hex)]


def test_what_a_recorded_call_draws_inside_is_not_noted(recorder: Recorder, steps: Any, run_row: Any) -> None:
    def tool(run: Run) -> None:
        uuid.uuid4()
        with run.step("tool_call", "inner"):
            uuid.uuid4()
        run.state(str(uuid.uuid4()))

    def words() -> Any:
        yield str(uuid.uuid4())

    with recorder.run() as run:
        run.tool(tool, run)
        list(run.tool(words))
    assert [row["drawn"] for row in steps(run.run_id)] == [None] * 4
    assert run_row(run.run_id)["drawn"] is None


def test_only_code_of_the_run_is_noted(recorder: Recorder, run_row: Any) -> None:
    outside = copy_context()
    run = recorder.start()
    with run:
        outside.run(uuid.uuid4)
        with Recorder(recorder._target.conninfo) as second, second.run() as inner:
            mine = uuid.uuid4()
    assert run_row(run.run_id)["drawn"] is None
    assert rest(run_row(inner.run_id)) == [("0", mine.hex)]


def test_uuid_is_otherwise_as_it_was(recorder: Recorder) -> None:
    stand_in = vars(uuid)["os"]
    assert isinstance(stand_in, chance.Os)
    chance.watch()
    assert vars(uuid)["os"] is stand_in
    assert stand_in.getpid() == os.getpid()
    with pytest.raises(AttributeError):
        stand_in.nothing_of_the_kind  # noqa: B018 it is asked for what os has not
    with recorder.run():
        made = uuid.uuid4()
    assert made.version == 4
    assert pickle.loads(pickle.dumps(made)) == made
    assert pickle.loads(pickle.dumps(uuid.uuid4))().version == 4
    assert current_frame() is None


def test_without_a_recorder_uuid_is_untouched(schema_dsn: str) -> None:
    script = """if True:
        import os, stepwell, sys, uuid
        assert uuid.os is os
        with stepwell.Recorder(sys.argv[1], chance=False): assert uuid.os is os
        with stepwell.Recorder(sys.argv[1]): assert uuid.os is not os
        """
    subprocess.run([sys.executable, "-W", "error", "-c", script, schema_dsn], check=True)


def test_nothing_is_noted_where_chance_is_off(schema_dsn: str, steps: Any, run_row: Any) -> None:
    with Recorder(schema_dsn), Recorder(schema_dsn, chance=False) as recorder, recorder.run() as run:
        uuid.uuid4()
        run.tool(random.random)
        uuid.uuid4()
    (row,) = steps(run.run_id)
    assert (row["drawn"], row["random_after"]) == (None, None)
    assert (run_row(run.run_id)["drawn"], run_row(run.run_id)["random"]) == (None, None)


def test_a_run_that_draws_without_end_is_noted_up_to_a_bound(
    recorder: Recorder, steps: Any, run_row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chance, "MOST", 3)
    with recorder.run() as run:
        first = [uuid.uuid4() for _ in range(5)]
        run.tool(look)
        uuid.uuid4()
    (row,) = steps(run.run_id)
    assert drawn(row) == hexadecimal(first[:3])
    assert run_row(run.run_id)["drawn"] is None


def test_a_run_that_ids_are_drawn_in_by_a_collected_object_is_not_held_up(recorder: Recorder) -> None:
    class Collected:
        def __del__(self) -> None:
            uuid.uuid4()

    with recorder.run():
        for _ in range(100):
            uuid.uuid4()
            Collected()


def test_the_run_says_where_random_began_and_a_call_that_draws_where_it_went(
    recorder: Recorder, steps: Any, run_row: Any
) -> None:
    def draw(what: Callable[[], object]) -> str:
        return type(what()).__name__

    random.seed(5)
    began = random.getstate()
    states: list[Any] = []
    with recorder.run() as run:
        for what in (object, random.random, lambda: random.gauss(0, 1), lambda: random.gauss(0, 1)):
            run.tool(draw, what)
            states.append(random.getstate())
        random.random()
        run.tool(draw, object)
        states.append(random.getstate())
        words = [random.getrandbits(32) for _ in range(625 - random.getstate()[1][-1])]
        run.tool(draw, lambda: random.getrandbits(32 * 624))
        states.append(random.getstate())
        run.tool(draw, lambda: random.seed(7))
        states.append(random.getstate())
    assert words
    rows = steps(run.run_id)
    assert from_json(run_row(run.run_id)["random"]) == began
    assert [from_json(row["random_after"]) for row in rows] == [None, *states[1:]]


def test_a_random_that_has_no_state_hinders_nothing(
    recorder: Recorder, steps: Any, run_row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "getstate", random.SystemRandom().getstate)
    with recorder.run() as run:
        run.tool(look)
    assert [row["random_after"] for row in steps(run.run_id)] == [None]
    assert run_row(run.run_id)["random"] is None


def test_a_stream_and_a_task_say_where_random_went(recorder: Recorder, steps: Any) -> None:
    def numbers() -> Any:
        yield random.random()
        yield random.random()

    async def number() -> float:
        return random.random()

    async def agent() -> None:
        await run.tool(number)

    with recorder.run() as run:
        list(run.tool(numbers))
        after = [random.getstate()]
        asyncio.run(agent())
        after.append(random.getstate())
    assert [from_json(row["random_after"]) for row in steps(run.run_id)] == after


def test_a_recording_gives_back_what_was_drawn(recorder: Recorder) -> None:
    with recorder.run(seed=3) as run:
        first = uuid.uuid4()
        run.tool(random.random)
        last = uuid.uuid4()
    with psycopg.connect(recorder._target.conninfo) as other:
        found = read_recorded(other, find_run(other, str(run.run_id)))
    (step,) = found.steps
    assert [_masked(bytes.fromhex(text)) for text in step.drawn] == hexadecimal([first])
    assert [_masked(bytes.fromhex(text.split()[1])) for text in found.drawn] == hexadecimal([last])
    assert found.seed == 3
    assert found.random is not None
    assert step.random_after is not None


@pytest.mark.usefixtures("quick")
def test_a_spooled_run_has_all_of_it_too(
    spooling_recorder: Recorder, outage: Any, steps: Any, run_row: Any
) -> None:
    outage(True)
    with spooling_recorder.run("away", seed=9) as run:
        first = uuid.uuid4()
        run.tool(random.random)
        list(run.tool(iter, [1]))
        last = uuid.uuid4()
        run.result((1, "done"))
        outage(False)
    spooling_recorder.close()
    one, two = steps(run.run_id)
    assert (drawn(one), one["lane"], two["form"]) == (
        hexadecimal([first]),
        0,
        "stream builtins:list_iterator",
    )
    assert from_json(one["random_after"]) is not None
    row = run_row(run.run_id)
    assert (row["seed"], row["result"], row["status"]) == (9, [1, "done"], "ok")
    assert row["result_exact"] is not None
    assert from_json(row["random"]) is not None
    assert rest(row) == [("0", last.hex)]


DRAWS: list[Callable[[], object]] = [
    random.random,
    lambda: random.getrandbits(8),
    lambda: random.getrandbits(32 * 624),
    lambda: random.gauss(0, 1),
    lambda: random.seed(7),
]


@given(st.lists(st.sampled_from(DRAWS), max_size=8))
def test_the_state_is_noted_when_it_has_changed_and_only_then(draws: list[Any]) -> None:
    dice = chance.Dice()
    assert from_json(parse(dice.note() or "null")) == random.getstate()
    for draw in draws:
        before = random.getstate()
        draw()
        noted = dice.note(dice.mark)
        assert (noted is None) == (random.getstate() == before)
        assert noted is None or from_json(parse(noted)) == random.getstate()
