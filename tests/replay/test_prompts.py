"""Moves over prompts that are stored as differences: what was given, what was given before, and what is new."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from stepwell import Recorder
from stepwell.core.world import World
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.core.prompt_sequences import PAD, decoded
from tests.replay.rows import RUN, add_step, bare_table

SYSTEM = {"role": "system", "content": PAD}


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


Talk = tuple[UUID, list[Any]]


@pytest.fixture
def talk(schema_dsn: str) -> Talk:
    """A run of five prompts, each with one message more, and a tool call after each."""
    messages: list[Any] = [SYSTEM]
    sent = []
    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        for turn in range(5):
            messages.append(user(f"turn {turn}: " + "lamp" * (turn == 2)))
            sent.append(list(messages))
            run.llm(lambda **_: "search", model="m", messages=messages)
            messages.append(
                user(run.tool(lambda n: f"the answer {n} of a search, long enough to be seen", turn))
            )
    return run.run_id, sent


@pytest.fixture
def at(schema_dsn: str, talk: Talk) -> Iterator[Callable[[int], World]]:
    """What a look at one step sees."""
    replayer = Replayer(resolve(schema_dsn), talk[0])
    yield replayer.at
    replayer.close()


def damage(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(statement)


At = Callable[[int], World]


def test_a_move_has_the_whole_prompt_and_the_one_before(at: At, talk: Talk) -> None:
    for turn, messages in enumerate(talk[1]):
        world = at(2 * turn + 1)
        assert len(world.payload.chain) == (turn + 1 if turn else 0)
        assert decoded(world.payload) == {"model": "m", "messages": messages}
        if turn:
            assert world.previous_prompt is not None
            assert world.previous_prompt.number == 2 * turn - 1
            assert decoded(world.previous_prompt)["messages"] == talk[1][turn - 1]


def test_a_tool_call_has_the_whole_prompt_after_it(at: At, talk: Talk) -> None:
    prompt = at(4).next_prompt
    assert prompt is not None
    assert decoded(prompt)["messages"] == talk[1][2]


def test_a_prompt_of_another_base_comes_with_the_one_before_all_the_same(
    schema_dsn: str, at: At, talk: Talk
) -> None:
    """As where two conversations take turns."""
    damage(
        schema_dsn,
        "UPDATE agent_steps SET input_base = 1, input_keep = 2, input = '{\"messages\": [1]}' WHERE step_number = 7",
    )
    world = at(7)
    assert decoded(world.payload)["messages"] == [*talk[1][0], 1]
    assert world.previous_prompt is not None
    assert decoded(world.previous_prompt)["messages"] == talk[1][2]


def test_a_missing_base_is_said_at_the_steps_that_need_it(schema_dsn: str, at: At) -> None:
    damage(schema_dsn, "DELETE FROM agent_steps WHERE step_number = 5")
    assert at(3).payload.problem is None
    assert at(7).payload.problem == (
        "only what is new in it: step 7 is a difference to step 5, which is not there"
    )
    assert "step 7 is a difference to step 5" in (at(9).payload.problem or "")


def test_a_bare_table_without_these_columns_is_read_as_ever(dsn: str) -> None:
    role = bare_table(dsn)
    add_step(dsn, 1, "llm_call", input={"messages": ["a"]}, output="hi")
    add_step(dsn, 2, "tool_call", input={"q": 1}, output="lamp")
    add_step(dsn, 3, "llm_call", input={"messages": ["a", "lamp"]}, output="bye")
    replayer = Replayer(resolve(f"{dsn} user={role}"), RUN)
    worlds = [replayer.at(number) for number in (1, 2, 3)]
    assert [world.payload.input for world in worlds] == [
        '{"messages": ["a"]}',
        '{"q": 1}',
        '{"messages": ["a", "lamp"]}',
    ]
    prompt, previous = worlds[1].next_prompt, worlds[2].previous_prompt
    assert prompt is not None
    assert previous is not None
    assert (prompt.number, previous.number) == (3, 1)
    assert replayer.payload(2).output == '"lamp"'
    assert replayer.search("lamp") == [2]
    replayer.close()


def test_a_search_finds_where_a_text_is_new_and_not_where_it_is_kept(schema_dsn: str, talk: Talk) -> None:
    replayer = Replayer(resolve(schema_dsn), talk[0])
    assert replayer.search("lamp") == [5]
    assert replayer.search("answer 1") == [4]
    assert replayer.search("rules of the house") == [1]
    replayer.close()


def test_a_whole_prompt_after_differences_repeats_what_they_held(schema_dsn: str, talk: Talk) -> None:
    with Recorder(schema_dsn) as recorder:
        again = recorder.resume(talk[0])
        again.llm(lambda **_: "ok", model="m", messages=[*talk[1][-1], user("and now")])
        again.finish()
    replayer = Replayer(resolve(schema_dsn), again.run_id)
    assert replayer.at(11).payload.chain == ()
    assert replayer.search("lamp") == [5]
    assert replayer.search("and now") == [11]
    replayer.close()
