"""Long prompts stored as differences come back as they were; what is odd in a table is said and never guessed."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepwell.core import codec
from stepwell.core.deltas import LONG, LONGEST_CHAIN
from stepwell.core.steps import Payload, Stored
from stepwell.core.whole import payload
from stepwell.recorder.prompts import Prompts
from tests.core import codec_values as made
from tests.core.prompt_sequences import PAD, Taken, decoded, payloads, sequences, viewed

brief = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
long = settings(brief, max_examples=600)
SYSTEM = {"role": "system", "content": PAD}
anything = made.json_shaped | made.values
some_objects = st.builds(made.Tool, name=st.just("t"), arguments=made.text) | st.builds(
    made.Basket, st.lists(made.text)
)


def check(taken: list[Taken]) -> list[Payload]:
    read = payloads(taken)
    for (_, value), found in zip(taken, read, strict=True):
        assert made.same(decoded(found), value)
        assert made.same(viewed(found), codec.view(*made.stored(codec.encode(value))))
    return read


def said(*contents: object) -> dict[str, Any]:
    return {"model": "m", "messages": [SYSTEM, *({"role": "user", "content": text} for text in contents)]}


@brief
@given(sequences(made.json_shaped))
def test_prompts_of_plain_data_come_back_the_same(taken: list[Taken]) -> None:
    check(taken)


@brief
@given(sequences(some_objects))
def test_prompts_that_hold_objects_come_back_the_same(taken: list[Taken]) -> None:
    check(taken)


@pytest.mark.long
@long
@given(sequences(anything, least=6))
def test_long_sequences_of_any_values_come_back_the_same(taken: list[Taken]) -> None:
    check(taken)


def test_a_prompt_that_grows_stores_its_new_messages_only() -> None:
    first, second = check([(None, said("a")), (None, said("a", "b"))])
    assert first.chain == ()
    own = second.chain[0]
    assert (own.base, own.keep, own.list, own.removed) == (1, 2, "messages", None)
    assert codec.parse(own.plain or "") == {"messages": [{"role": "user", "content": "b"}]}


def test_what_was_put_together_is_the_encoding_of_the_whole() -> None:
    value = said("a", made.Tool(name="x", arguments=(1, {"b": 1, "a": 2.0})), "\0")
    read = check([(None, said("a")), (None, value)])[1]
    whole = codec.encode(value)
    assert (read.input, read.input_exact) == (whole.plain, whole.exact)


def test_messages_that_python_takes_for_equal_are_told_apart() -> None:
    turns = [
        said(1),
        said(True),
        said(1.0),
        said({"a": 1, "b": 2}),
        said({"b": 2, "a": 1}),
        said((1,)),
        said([1]),
    ]
    read = check([(None, turn) for turn in turns])
    assert [found.chain[0].keep for found in read[1:]] == [1] * 6


def test_a_window_that_slides_names_the_messages_that_fell_out() -> None:
    read = check([(None, said(*range(n, n + 20))) for n in range(0, 40, 2)])
    assert all(found.chain and found.chain[0].removed == "[1, 2]" for found in read[1:])


def test_keys_that_changed_came_and_went_are_told() -> None:
    before = said("a") | {"temperature": 0, "stop": ["x"]}
    after = {"model": "n", "messages": said("a", "b")["messages"], "temperature": 0, "seed": 7}
    own = check([(None, before), (None, after)])[1].chain[0]
    assert own.removed == '["stop"]'
    assert codec.parse(own.plain or "") == {
        "model": "n",
        "messages": [{"role": "user", "content": "b"}],
        "seed": 7,
    }


def test_a_chain_ends_in_a_whole_prompt_before_it_is_long() -> None:
    read = check([(None, said(*range(n))) for n in range(3 * LONGEST_CHAIN)])
    assert [n for n, found in enumerate(read) if not found.chain] == [0, LONGEST_CHAIN, 2 * LONGEST_CHAIN]


def test_two_conversations_of_one_agent_keep_a_base_each() -> None:
    def summary(n: int) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": f"sum up {PAD}"}, *range(n)]}

    read = check([(None, said(*range(n)) if n % 2 else summary(n)) for n in range(10)])
    assert [found.chain[0].base if found.chain else None for found in read] == [None, None, *range(1, 9)]


def test_agents_have_bases_of_their_own() -> None:
    read = check([("a", said("x")), ("b", said("x", "y")), ("a", said("x", "y"))])
    assert [found.chain[0].base if found.chain else None for found in read] == [None, None, 1]


@pytest.mark.parametrize(
    "value",
    [
        {"messages": ["short"]},
        [SYSTEM, SYSTEM],
        {"text": PAD},
        {1: PAD, "messages": [SYSTEM]},
        {"messages": (SYSTEM, SYSTEM)},
        made.Config(messages=[SYSTEM]),
    ],
)
def test_what_is_short_or_no_dict_with_a_list_is_stored_whole(value: object) -> None:
    assert [found.chain for found in check([(None, value), (None, copy.deepcopy(value))])] == [(), ()]


def test_other_steps_and_full_prompts_are_stored_whole() -> None:
    for prompts, kind in ((Prompts(deltas=False), "llm_call"), (Prompts(), "tool_call")):
        for number, value in enumerate((said("a"), said("a", "b")), 1):
            given = prompts.given(kind, None, value, codec.encode(value))
            assert given.base is None
            assert len(given.plain) > LONG
            prompts.begun(given, number)


def test_of_many_conversations_of_one_agent_the_oldest_is_forgotten() -> None:
    def talk(n: int, *more: object) -> dict[str, Any]:
        return {"messages": [{"role": "system", "content": f"talk {n}: {PAD}"}, *more]}

    first = [(None, talk(n)) for n in range(17)]
    read = check([*first, (None, talk(16, "go on")), (None, talk(1, "go on")), (None, talk(0, "go on"))])
    assert [found.chain[0].base if found.chain else None for found in read[17:]] == [17, 2, None]


def test_prompts_of_many_megabytes_are_not_held_on_to_for_ever() -> None:
    prompts = Prompts()
    huge = {"messages": ["x" * 9_000_000]}
    for number, agent in enumerate(("a", "b"), 1):
        prompts.begun(prompts.given("llm_call", agent, huge, codec.encode(huge)), number)
    assert prompts.given("llm_call", "b", huge, codec.encode(huge)).base == 2
    assert prompts.given("llm_call", "a", huge, codec.encode(huge)).base is None


def test_a_step_that_has_not_begun_is_no_base() -> None:
    prompts = Prompts()
    prompts.begun(prompts.given("llm_call", None, said("a"), codec.encode(said("a"))), None)
    assert prompts.given("llm_call", None, said("a", "b"), codec.encode(said("a", "b"))).base is None


def test_a_prompt_that_changes_while_it_is_taken_is_stored_whole() -> None:
    prompts = Prompts()
    prompts.begun(prompts.given("llm_call", None, said("a"), codec.encode(said("a"))), 1)
    value = said("a", "b")
    encoded = codec.encode(value)
    value["messages"][-1] = {"role": "user", "content": "c"}
    assert prompts.given("llm_call", None, value, encoded).base is None


BASE = Stored(1, '{"model": "m", "messages": [1, 2]}', None)
DELTA = Stored(2, '{"messages": [3]}', None, 1, 2, "messages", None)


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ([DELTA], "step 2 is a difference to step 1, which is not there"),
        ([DELTA._replace(base=2)], "step 2 is a difference to step 2, which is not before it"),
        ([DELTA, BASE._replace(plain="[]")], "step 2 and step 1 do not fit each other"),
        ([DELTA, BASE._replace(plain='{"messages": 3}')], "step 2 and step 1 do not fit each other"),
        ([DELTA, BASE._replace(plain=None)], "step 1 has no input"),
        ([DELTA._replace(keep=3), BASE], "of step 1 it keeps 3 items, and there are 2"),
        ([DELTA._replace(keep=None), BASE], "step 2 and step 1 do not fit each other"),
        ([DELTA._replace(keep=-1), BASE], "of step 1 it keeps -1 items, and there are 2"),
        ([DELTA._replace(list=None), BASE], "step 2 and step 1 do not fit each other"),
        ([DELTA._replace(removed="3"), BASE], "step 2 and step 1 do not fit each other"),
        ([DELTA._replace(exact='{"v": 9}'), BASE], "newer version"),
        ([DELTA._replace(exact='{"v": 1, "t": {"messages": 3}}'), BASE], "step 2: the exact part of $"),
    ],
)
def test_a_difference_that_does_not_fit_is_said_and_shown_as_it_is_stored(
    chain: list[Stored], words: str
) -> None:
    read = payload(chain)
    assert words in (read.problem or "")
    assert read.input == '{"messages": [3]}'
