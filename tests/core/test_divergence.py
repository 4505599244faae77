"""Where two values part, in words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.divergence import Asked, Divergence, Kind, distance, first_difference, sentence
from stepwell.core.world import MISSING

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("recorded", "actual", "found"),
    [
        ({"limit": 50, "query": "a"}, {"limit": 20, "query": "b"}, ("$.limit", 50, 20)),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ("$.a[0].b", 1, 2)),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, ("$.a[2]", MISSING, 3)),
        ({"a": [1, 2]}, {"a": [1]}, ("$.a[1]", 2, MISSING)),
        ({"a": 1}, {"a": 1, "b c": 2}, ('$["b c"]', MISSING, 2)),
        ({"a": None}, {}, ("$.a", None, MISSING)),
        ({"a": 1}, {"a": True}, ("$.a", 1, True)),
        ({"a": 1}, {"a": 1.0}, ("$.a", 1, 1.0)),
        ({"a": {}}, {"a": []}, ("$.a", {}, [])),
        ("text", ["text"], ("$", "text", ["text"])),
        ([1], [1], ("$", [1], [1])),
    ],
)
def test_the_first_difference_has_a_path_and_both_sides(recorded: Any, actual: Any, found: Any) -> None:
    path, old, new = first_difference(recorded, actual)
    assert (path, old, new) == found
    assert (type(old), type(new)) == (type(found[1]), type(found[2]))


@given(values, values)
def test_values_are_at_no_distance_if_they_do_not_differ(one: Any, other: Any) -> None:
    assert distance(one, one) == 0
    assert (distance(one, other) == 0) == (first_difference(one, other) == ("$", one, other) and one == other)
    assert distance(one, other) == distance(other, one)


def test_a_sentence_says_where_and_both_sides() -> None:
    found = Divergence(Kind.INPUT, 7, "$.limit", 50, 20)
    assert sentence(found) == "step 7: input changed at $.limit: recorded 50, now 20"


def test_a_sentence_says_that_there_is_nothing_and_how_many_more_and_what_may_be_the_cause() -> None:
    found = Divergence(Kind.NEVER_ASKED, 3, "$", "tool_call a", MISSING, others=(4, 5), hint="look there")
    assert sentence(found) == "step 3: never asked: tool_call a (and 2 more); look there"
    places = {None: "after the last step", 0: "before the first step", 4: "after step 4"}
    for after, place in places.items():
        found = Divergence(Kind.NOT_RECORDED, None, "$", MISSING, "tool_call a", after=after)
        assert sentence(found) == f"{place}: not recorded: tool_call a"


def test_a_sentence_has_calls_with_what_they_were_given_and_a_message_at_its_end() -> None:
    call = Asked("tool_call", "look_up", "b", {"order": 5, "by": ["id"]})
    found = Divergence(Kind.NOT_RECORDED, None, "$", MISSING, call.title(), asked=call, after=4)
    assert sentence(found) == 'after step 4: not recorded: look_up(order=5, by=["id"]) of b'
    found = Divergence(Kind.OTHER, 4, "$", "llm_call a", "llm_call b", Asked("llm_call"), Asked("llm_call"))
    assert sentence(found) == "step 4: another call: recorded llm_call a, now llm_call b"
    found = Divergence(Kind.RAISED, 2, "$", "llm_call a", "ValueError: say something else; or nothing")
    assert sentence(found) == (
        "step 2: the agent raised where llm_call a was recorded: ValueError: say something else; or nothing"
    )


def test_of_two_long_texts_a_sentence_says_what_follows_on_what_is_alike() -> None:
    cut, whole = "x" * 2048, "x" * 2048 + 'y", "status": "ok"'
    assert sentence(Divergence(Kind.INPUT, 6, "$.content", cut, whole)) == (
        'step 6: input changed at $.content: alike for 2,048 characters, then recorded ends, now "y\\", '
        '\\"status\\": \\"ok\\""'
    )


def test_a_sentence_stays_one_line_of_any_value() -> None:
    text = sentence(Divergence(Kind.INPUT, 1, '$["a\n"]', "line\n\x1b" * 1000, {"a": [float("nan")] * 1000}))
    assert text.isprintable()
    assert len(text) < 250
    assert sentence(Divergence(Kind.RAISED, 1, "$", "f", "E: \x1b[2J")).isprintable()


def test_a_step_is_named_by_what_it_is() -> None:
    assert Asked("tool_call", "search", "b").title() == "tool_call search of b"
    assert Asked("state_update").title() == "state_update"
