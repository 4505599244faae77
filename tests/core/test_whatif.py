"""What would be otherwise had a step given something else, told from the recording alone."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.core.codec import encode
from stepwell.core.steps import STATE_UPDATE
from stepwell.core.whatif import editable, what_if
from stepwell.core.world import MISSING, Moment
from stepwell.errors import NotFoundError
from tests.core.stories import ROWS, WRITINGS, Story, changed, stale, talk, user


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
