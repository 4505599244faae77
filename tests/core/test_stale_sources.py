"""From which of several steps a text is: by replies, agents, states, steps within steps, and what had ended by then."""

import json
from dataclasses import replace

import pytest

from stepwell.core.sources import How
from tests.core.stories import ROWS, Story, asks, changed, result, stale, talk, user


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


@pytest.mark.parametrize(
    ("said", "instead", "is_stale"),
    [
        ("Action: search\nAction Input: lamp of oak", "Action: none", True),
        ('{"tool": "search", "q": "lamp of oak"}', '{"tool": "search", "q": "chair"}', True),
        ('{"tool": "search", "q": "lamp of oak"}', '{"q": "lamp of oak", "tool": "search"}', False),
        ("I look for a lamp", "I give up", False),
    ],
)
def test_a_reply_may_ask_for_a_call_in_its_own_words(said: str, instead: str, is_stale: bool) -> None:
    """By the name of the tool and an argument."""
    story = Story()
    story.model([user("go")], said)
    story.tool("search", {"q": "lamp of oak", "limit": 5}, "nothing")
    assert stale(story.what_if(1, instead)) == [2] * is_stale


def test_of_two_steps_that_gave_the_same_it_is_the_newest_and_the_agents_own() -> None:
    story = Story()
    for agent in ("a", "a", "b"):
        story.tool("find", {}, {"id": "ord-8841"}, agent=agent)
    story.tool("refund", {"id": "ord-8841"}, "done", agent="a")
    story.tool("refund", {"id": "ord-8841"}, "done", agent="b")
    assert [stale(story.what_if(number, {"id": "ord-1"})) for number in (1, 2, 3)] == [[], [4], [5]]


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
