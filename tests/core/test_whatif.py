"""What would be otherwise had a step given something else, told from the recording alone."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.core.codec import encode
from stepwell.core.sources import How
from stepwell.core.steps import LLM_CALL, STATE_UPDATE
from stepwell.core.whatif import WhatIf, editable, what_if
from stepwell.core.world import MISSING, Moment
from stepwell.errors import NotFoundError
from tests.core.stories import ROWS, Story, asks, result, user


def stale(made: WhatIf) -> list[int]:
    return [each.number for each in made.stale]


def changed(value: Any, *path: str | int, to: object) -> Any:
    made = copy.deepcopy(value)
    inner = made
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return made


def talk(content: str, after: str = "ok") -> Story:
    """A model asks for rows, sees `content` of them, asks for a refund, and sees that it is done."""
    story = Story()
    messages: list[object] = [user("refund the lamp")]
    story.model(messages, {"choices": [{"message": asks("search", q="lamp")}]})
    messages.append(asks("search", q="lamp"))
    story.tool("search", {"q": "lamp", "limit": 5}, ROWS)
    messages.append(result(content))
    story.model(messages, {"choices": [{"message": asks("refund", "c2", order=8841)}]})
    messages.append(asks("refund", "c2", order=8841))
    story.tool("refund", {"order": 8841}, after)
    messages.append(result(after, "c2"))
    story.model(messages, {"choices": [{"message": {"role": "assistant", "content": "it is done"}}]})
    return story


WRITINGS = (
    json.dumps(ROWS),
    json.dumps(ROWS, indent=2),
    json.dumps(ROWS, separators=(",", ":"), sort_keys=True),
    str(ROWS),
    f"The tool gave: {json.dumps(json.dumps(ROWS))}",
)


@pytest.mark.parametrize("content", WRITINGS)
def test_the_next_prompt_is_stale_where_it_holds_what_changed(content: str) -> None:
    made = talk(content).what_if(2, changed(ROWS, 1, "status", to="lost"))
    assert stale(made) == [3, 4, 5]
    first = made.stale_from
    assert first is not None
    assert (first.number, first.path, first.source, first.part) == (
        3,
        "$.messages[2].content",
        2,
        "$[1].status",
    )
    assert first.words == "$.messages[2].content is from step 2 ($[1].status)"
    assert made.last == 2


@pytest.mark.parametrize("content", WRITINGS)
def test_nothing_is_stale_where_the_part_was_cut_before_the_model_saw_it(content: str) -> None:
    half = content[: len(content) // 2 + 10]
    assert stale(talk(half).what_if(2, changed(ROWS, 1, "status", to="lost"))) == []
    assert stale(talk(half).what_if(2, changed(ROWS, 0, "item", to="something else"))) == [3, 4, 5]


def test_the_end_that_a_cut_left_counts_as_seen() -> None:
    story = Story()
    text = " ".join(f"line {number} of the log" for number in range(100))
    story.tool("log", {}, text)
    story.model([user(f"{text[:200]} ... {text[-200:]}")], "well")
    assert stale(story.what_if(1, text.replace("line 50", "nothing"))) == []
    assert stale(story.what_if(1, text.replace("line 97", "nothing"))) == [2]
    assert stale(story.what_if(1, text.replace("line 3 ", "nothing"))) == [2]


def test_a_call_that_the_new_reply_does_not_ask_for_is_stale() -> None:
    reply = {"choices": [{"message": asks("search", q="chair")}]}
    first = talk(json.dumps(ROWS)).what_if(1, reply).stale_from
    assert first is not None
    assert (first.number, first.how, first.path) == (2, How.CALL, "$")
    assert first.words.startswith("$ is asked for by step 1")


def test_a_call_that_the_new_reply_asks_for_too_is_not() -> None:
    """Only the prompt after it is, which holds the reply."""
    message = {**asks("search", q="lamp"), "content": "I look for a lamp"}
    made = talk(json.dumps(ROWS)).what_if(1, {"choices": [{"message": message}]})
    assert stale(made) == []
    said = Story()
    said.model([user("hello")], {"role": "assistant", "content": "hi"})
    said.model([user("hello"), {"role": "assistant", "content": "hi"}, user("bye")], "bye")
    assert stale(said.what_if(1, {"role": "assistant", "content": "ho"})) == [2]


def test_a_short_common_value_elsewhere_is_luck() -> None:
    story = Story()
    story.tool("check", {}, {"status": "ok", "count": 7})
    story.tool("list", {"limit": 7, "status": "ok"}, [])
    story.model([user("is 7 ok?"), {"role": "assistant", "content": "ok"}], "ok")
    assert stale(story.what_if(1, {"status": "bad", "count": 9})) == []


def test_a_short_result_in_its_own_message_is_none() -> None:
    assert stale(talk(json.dumps(ROWS)).what_if(4, "refused")) == [5]


def test_a_telling_value_in_the_arguments_of_a_later_call_is_from_the_step_that_it_first_stood_in() -> None:
    story = Story()
    story.model([user("what of order 8842?")], "hm")
    story.tool("search", {}, ROWS)
    story.tool("refund", {"order": 8841}, "done")
    story.tool("refund", {"order": 8842}, "done")
    assert stale(story.what_if(2, changed(ROWS, 0, "id", to=1))) == [3]
    assert stale(story.what_if(2, changed(ROWS, 1, "id", to=1))) == []


def test_what_a_step_was_given_itself_is_not_from_it() -> None:
    """A reply that names its model is not where later calls have the name from."""
    story = Story()
    given = {"model": "some-model-9", "messages": [user("hello")]}
    story.add(LLM_CALL, given, {"model": "some-model-9", "content": "hm"}, "m", agent="a")
    story.add(LLM_CALL, {**given, "messages": [user("bye")]}, "hm", "m", agent="b")
    assert stale(story.what_if(1, {"model": "another-model", "content": "hm"})) == []


def test_values_flow_through_the_state() -> None:
    story = Story()
    story.tool("search", {}, ROWS)
    story.state({"set": [], "to": {"order": 8841, "tries": 1}})
    story.model([user("nothing of all that")], "hm")
    story.tool("refund", {"order": 8841}, "the refund is under way")
    story.model([user("it said: the refund is under way")], "hm")
    made = story.what_if(1, changed(ROWS, 0, "id", to=9000))
    assert [(each.number, each.source) for each in made.stale] == [(2, 1), (4, 2), (5, 4)]
    assert stale(story.what_if(2, {"order": 9000, "tries": 1})) == [4, 5]
    assert stale(story.what_if(2, {"order": 8841, "tries": 2})) == []


def test_a_state_that_was_done_away_with_makes_nothing_stale() -> None:
    story = Story()
    story.state({"set": [], "to": {"order": 8841}})
    story.state({"set": ["order"], "to": 8842})
    story.tool("refund", {"order": 8841}, "done")
    assert stale(story.what_if(1, {"order": 5555})) == []


def test_a_prompt_that_holds_the_whole_state_is_stale() -> None:
    story = Story()
    story.state({"set": [], "to": {"plan": ["look for the order"], "tries": 1}})
    story.state({"set": ["tries"], "to": 2})
    story.model([user(json.dumps({"plan": ["look for the order"], "tries": 2}))], "hm")
    assert stale(story.what_if(1, {"plan": ["give up"], "tries": 1})) == [3]


def test_later_states_are_folded_on_the_one_that_is_other() -> None:
    story = Story()
    story.state({"set": [], "to": {"plan": ["a"], "tries": 1}})
    story.state({"set": ["plan", 1], "to": "b"})
    story.state({"set": ["tries"], "to": 3})
    made = story.what_if(1, {"plan": ["z"], "tries": 7})
    assert made.states(2) == {None: {"plan": ["z", "b"], "tries": 7}}
    assert made.states(2, Moment.ASKED) == {None: {"plan": ["z"], "tries": 7}}
    assert made.states(3) == {None: {"plan": ["z", "b"], "tries": 3}}
    assert [(change.path, change.old, change.new) for change in made.changed_states(3)] == [
        (("plan", 0), "a", "z")
    ]
    assert editable(story.run, 2) == {"plan": ["a", "b"], "tries": 1}


def test_a_difference_that_does_not_fit_any_more_is_told_and_not_guessed() -> None:
    story = Story()
    story.state({"set": [], "to": {"plan": ["a"]}})
    story.state({"set": ["plan", 1], "to": "b"})
    made = story.what_if(1, {"plan": "none"})
    assert made.states(2) == {None: {"plan": "none"}}
    assert "does not fit the state before it" in made.odd(2)[2]


def test_what_somebody_put_out_by_hand_is_merged() -> None:
    story = Story()
    story.add(STATE_UPDATE, None, {"a": 1, "b": 2})
    story.add(STATE_UPDATE, None, {"b": 3})
    made = story.what_if(1, {"c": 4})
    assert made.states(2) == {None: {"c": 4, "b": 3}}


def test_a_step_of_another_agent_that_never_saw_it_is_not_stale() -> None:
    story = Story()
    story.tool("search", {}, ROWS, agent="a")
    story.model([user("hello")], "hello to you too, whoever you are", agent="b")
    story.model([user(str(ROWS))], "the answer of the first one is long", agent="a")
    story.model([user("hello again")], "hello", agent="b")
    story.model([user("a says: the answer of the first one is long")], "hm", agent="b")
    assert stale(story.what_if(1, [])) == [3, 5]


def test_a_step_that_had_begun_before_is_not_stale() -> None:
    story = Story()
    story.tool("search", {}, ROWS)
    story.model([user(str(ROWS))], "hm")
    story.steps[0] = replace(story.steps[0], finished_order=2)
    story.steps[1] = replace(story.steps[1], finished_order=1, finished_before=0)
    assert stale(story.what_if(1, [])) == []


def test_the_same_result_again_is_from_the_step_that_gave_it_then() -> None:
    story = Story()
    messages: list[object] = []
    for lap in range(3):
        story.tool("search", {}, str(ROWS))
        messages.append(result(str(ROWS), f"c{lap}"))
        story.model(messages, f"try again, for the {lap + 1}. time")
    assert stale(story.what_if(3, "nothing at all")) == [4, 6]
    assert stale(story.what_if(5, "nothing at all")) == [6]


def test_ids_that_are_numbered_anew_each_time_lead_nowhere_else() -> None:
    story = Story()
    for agent, found in (("a", "what the one has found"), ("b", "something for the other one")):
        story.model([user("go")], asks("search", "call_0", q=agent), agent=agent)
        story.tool("search", {"q": agent}, found, agent=agent)
        story.model(
            [user("go"), asks("search", "call_0", q=agent), result(found, "call_0")], "x", agent=agent
        )
    assert stale(story.what_if(2, "nothing")) == [3]


def test_a_result_in_other_words_is_found_by_the_id_of_its_call() -> None:
    story = talk("two rows, the first of which is paid")
    assert stale(story.what_if(2, []))[:1] == [3]
    only = talk("a lamp for the desk")
    assert stale(only.what_if(2, changed(ROWS, 1, "item", to="nothing"))) == []


def test_an_enclosing_step_whose_output_has_it_hands_it_on() -> None:
    story = Story()
    outer = story.tool("research", {}, "the report says: a lamp for the desk")
    story.tool("search", {}, ROWS, parent=outer)
    story.model([user("the report says: a lamp for the desk")], "hm")
    story.steps[0] = replace(story.steps[0], finished_order=2)
    story.steps[1] = replace(story.steps[1], finished_order=1, finished_before=0)
    made = story.what_if(2, changed(ROWS, 0, "item", to="nothing"))
    assert (made.unsettled, stale(made)) == ((1,), [3])
    other = story.what_if(2, changed(ROWS, 1, "item", to="nothing"))
    assert (other.unsettled, stale(other)) == ((), [])


def test_the_end_of_a_run_may_depend_on_it_too() -> None:
    story = Story()
    story.tool("search", {}, ROWS)
    said = encode({"found": "a lamp for the desk"})
    run = replace(story.run, result=said.plain)
    assert not what_if(run, 1, changed(ROWS, 0, "item", to="x")).comes_to_its_end
    assert what_if(run, 1, changed(ROWS, 1, "item", to="x")).comes_to_its_end


@pytest.mark.parametrize(
    ("gave", "result", "same_end"),
    [
        ("ok", "ok", False),
        ({"total": 40}, {"sum": 40}, False),
        ({"total": 40}, "there are 40", False),
        (True, {"done": True}, False),
        ({"number": 7}, "all 7", True),
        ("ok", None, True),
    ],
)
def test_a_short_value_in_the_result_of_a_run_is_no_luck(
    gave: object, result: object, same_end: bool
) -> None:
    """But for one that was known before."""
    story = Story()
    story.model([user("take 7")], "hm")
    number = story.tool("check", {}, gave)
    run = replace(story.run, result=encode(result).plain)
    assert what_if(run, number, "other").comes_to_its_end is same_end


def test_what_an_agent_was_told_of_an_error_depends_on_it() -> None:
    story = Story()
    story.tool("search", {}, None)
    error = json.dumps({"type": "Boom", "message": "there is no such order here"})
    story.steps[0] = replace(
        story.steps[0], payload=replace(story.steps[0].payload, output=None, error=error)
    )
    story.model([user("it failed: there is no such order here")], "hm")
    made = story.what_if(1, ROWS)
    assert (made.old, stale(made)) == (MISSING, [2])
    assert made.step.payload.error is None


def test_the_same_again_makes_nothing_stale() -> None:
    made = talk(json.dumps(ROWS)).what_if(2, ROWS)
    assert made.unchanged
    assert stale(made) == []


def test_a_step_that_is_not_there_is_told() -> None:
    with pytest.raises(NotFoundError, match="has no step 9"):
        talk("").what_if(9, 1)


words = st.lists(
    st.sampled_from(["lamp", "chair", "oak", "desk", "paid", "8841", "order", "the", "of"]),
    min_size=6,
    max_size=30,
)
texts = words.map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(texts, st.booleans()), min_size=1, max_size=6), st.data())
def test_stale_are_the_prompts_that_hold_the_text_and_no_others(
    told: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """Each result is told to its own agent or kept; each text is one of a kind, by its number."""
    story = Story()
    tools, prompts = [], []
    for number, (text, is_told) in enumerate(told):
        agent = f"agent {number}"
        tools.append(story.tool("search", {"page": number}, f"result {number * 1111}: {text}", agent=agent))
        content = f"it says: result {number * 1111}: {text}" if is_told else f"nothing for agent {number}"
        prompts.append(story.model([user(content)], "hm", agent=agent))
    chosen = data.draw(st.integers(0, len(told) - 1))
    made = story.what_if(tools[chosen], "another text altogether")
    assert stale(made) == ([prompts[chosen]] if told[chosen][1] else [])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from(WRITINGS))
def test_a_what_if_sees_nothing_of_what_comes_after(number: int, to: int, content: str) -> None:
    """As if the run had ended there."""
    story = talk(content)
    story.state({"set": [], "to": {"order": 8841}})
    value = {"something": "else"}
    short = replace(story.run, steps=tuple(story.steps[: max(number, to)]))
    cut, whole = what_if(short, number, value), story.what_if(number, value)
    assert cut.stale == tuple(each for each in whole.stale if each.number <= max(number, to))
    for step in range(number, max(number, to) + 1):
        assert cut.states(step) == whole.states(step)
