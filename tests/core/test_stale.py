"""A step is stale if a text of what another one gave stands in its input, and would not now: found, and not by luck."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.core.steps import LLM_CALL, STATE_UPDATE
from tests.core.stories import ROWS, WRITINGS, Story, asks, changed, result, stale, talk, user


def test_of_a_state_the_path_is_that_in_the_state() -> None:
    """Whether it was recorded as what changed in it, or put out by hand."""
    for by_hand in (False, True):
        story = Story()
        story.tool("look_up", {"id": 1}, {"said": "a lamp for the desk"})
        if by_hand:
            story.add(STATE_UPDATE, None, {"plan": {"found": ["a lamp for the desk"]}})
        else:
            story.state(
                {"set": ["tries"], "to": 1}, {"set": ["plan"], "to": {"found": ["a lamp for the desk"]}}
            )
        story.model([user("a lamp for the desk")], "well")
        made = story.what_if(1, {"said": "nothing"})
        assert (made.stale[0].number, made.stale[0].path, made.stale[0].source) == (2, "$.plan.found[0]", 1)
        assert made.stale[1].words == "$.messages[0].content is from step 2 ($.plan.found[0])"


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


def test_a_short_common_value_elsewhere_is_luck() -> None:
    story = Story()
    story.tool("check", {}, {"status": "ok", "count": 7})
    story.tool("list", {"limit": 7, "status": "ok"}, [])
    story.model([user("is 7 ok?"), {"role": "assistant", "content": "ok"}], "ok")
    assert stale(story.what_if(1, {"status": "bad", "count": 9})) == []


@pytest.mark.parametrize(
    ("gave", "text"),
    [
        ({"id": 8841}, "what of order 8841.5?"),
        ({"id": 8841}, "what of order 88412?"),
        ({"status": "completed"}, "say so when the task is completed"),
        ({"year": 2024}, "it is the year 2024"),
        ({"total": 1000}, "at most 1000 words"),
        (["alpha.txt", "beta.txt"], "look at beta.txt"),
    ],
)
def test_a_number_a_word_or_an_item_that_is_the_same_elsewhere_is_luck(gave: Any, text: str) -> None:
    story = Story()
    story.tool("check", {}, gave)
    story.model([user(text)], "hm")
    other = [*gave, "gamma.txt"] if isinstance(gave, list) else dict.fromkeys(gave, "other")
    assert stale(story.what_if(1, other)) == []


@pytest.mark.parametrize(
    ("gave", "other", "text"),
    [
        ({"id": 8841}, {"id": 1}, "what of order 8841, then?"),
        ({"eur": 12345.0}, {"eur": 1}, "it costs 12345 euros"),
        (json.dumps({"rows": [{"id": "ord-8841"}]}), json.dumps({"rows": []}), "of ord-8841"),
        ("found: ord-8841 (lamp)", "found: ord-9 (lamp)", "of ord-8841"),
        ("id,item\n8841,lamp", "id,item\n9,lamp", "of 8841"),
        ({"said": 'a "no" to\nthat'}, {"said": ""}, json.dumps(json.dumps({"said": 'a "no" to\nthat'}))),
        (["alpha.txt", "beta.txt"], ["alpha.txt", "beta.txt", "c"], "alpha.txt, beta.txt"),
    ],
)
def test_a_telling_part_is_found_wherever_it_is_from_and_stands(gave: Any, other: Any, text: str) -> None:
    story = Story()
    story.tool("check", {}, gave)
    story.model([user(text)], "hm")
    assert stale(story.what_if(1, other)) == [2]


@pytest.mark.parametrize(
    ("gave", "other", "content", "is_stale"),
    [
        ({"id": 8841, "status": "paid"}, {"id": 8841, "status": "lost"}, "order 8841: paid", True),
        ({"id": 8841, "note": "new"}, {"id": 8841, "note": "old"}, "order 8841: paid", False),
        (["lamp", "oak"], ["lamp", "oak", "ash"], "- lamp\n- oak", True),
        (["lamp", "oak"], ["lamp"], "- lamp\n- oak", True),
        (["lamp", "desk"], ["lamp", "desk", "ash"], "- lamp\n...", False),
        (["lamp", "oak"], ["lamp", "ash"], "there are two", True),
    ],
)
def test_the_message_of_a_result_has_it_in_any_words(
    gave: Any, other: Any, content: str, is_stale: bool
) -> None:
    story = Story()
    story.model([user("go")], asks("find"))
    story.tool("find", {}, gave)
    story.model([user("go"), asks("find"), result(content)], "hm")
    assert stale(story.what_if(2, other)) == [3] * is_stale


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


def test_a_result_in_other_words_is_found_by_the_id_of_its_call() -> None:
    story = talk("two rows, the first of which is paid")
    assert stale(story.what_if(2, []))[:1] == [3]
    only = talk("a lamp for the desk")
    assert stale(only.what_if(2, changed(ROWS, 1, "item", to="nothing"))) == []


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
