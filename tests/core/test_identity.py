"""What makes two steps the same question."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from stepwell.core.codec import encode
from stepwell.core.identity import Identities, Key, Question
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.state import PATCH, diff
from stepwell.core.steps import STATE_UPDATE, Payload, RunHead
from stepwell.core.world import MISSING
from tests.core.codec_values import Order, Tool


def step(number: int, value: object, **more: Any) -> RecordedStep:
    encoded = encode(value)
    given: dict[str, Any] = {
        "type": "tool_call",
        "name": "a",
        "agent": None,
        "parent": None,
        "lane": 0,
        **more,
    }
    return RecordedStep(number, payload=Payload(number, encoded.plain, "null", encoded.exact), **given)


def identities(*steps: RecordedStep) -> Identities:
    return Identities(RecordedRun(RunHead(UUID(int=1), status="ok"), steps))


@pytest.mark.parametrize(
    "value",
    [{"b": 1, "a": [1.0, -0.0]}, Order(1, "x"), Tool(name="t"), (1, 2), {1, 2}, b"\0", float("nan"), object],
    ids=repr,
)
def test_a_step_is_asked_by_what_it_was_given_whatever_that_is(value: object) -> None:
    one = step(1, {"given": value})
    own = identities(one)
    assert own.is_asked_by(Question(Key("tool_call", "a", None, None), {"given": value}), one)
    assert not own.is_asked_by(Question(Key("tool_call", "a", None, None), {"given": [value]}), one)


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [(1, True), (1, 1.0), ([1], (1,)), ("1", 1), ("a", "A"), ({"a": None}, {})],
    ids=repr,
)
def test_values_that_python_takes_for_one_another_are_other_questions(
    recorded: object, asked: object
) -> None:
    one = step(1, recorded)
    assert not identities(one).is_asked_by(Question(Key("tool_call", "a", None, None), asked), one)


def test_the_order_of_keys_makes_no_difference() -> None:
    one = step(1, {"a": 1, "b": 2})
    assert identities(one).is_asked_by(Question(Key("tool_call", "a", None, None), {"b": 2, "a": 1}), one)


def test_steps_are_alike_if_all_of_it_is_and_so_are_their_blocks() -> None:
    blocks = [step(1, "block"), step(2, "block"), step(3, "other")]
    inner = [step(n + 3, "inner", parent=n) for n in (1, 2, 3)]
    more = [step(7, "inner"), step(8, "inner", agent="b", parent=1), step(9, "inner", name="z", parent=1)]
    own = identities(*blocks, *inner, *more)
    one, two, *others = (own.likeness(each) for each in (*inner, *more))
    assert one == two
    assert len({one, *others}) == 5
    question = Question(Key("tool_call", "a", None, 2), "inner")
    assert own.likeness_of(question) == one


def test_a_state_is_compared_as_a_whole() -> None:
    states = [{"a": 1}, {"a": 1, "b": [1, 2]}, {"b": [1]}]
    steps: list[RecordedStep] = []
    before: object = MISSING
    for number, state in enumerate(states, 1):
        steps.append(step(number, {PATCH: diff(before, state)}, type=STATE_UPDATE, name=None))
        before = state
    own = identities(*steps)
    for number, state in reversed(list(enumerate(states))):
        assert own.value(steps[number]) == state
        assert own.is_asked_by(Question(Key(STATE_UPDATE, None, None, None), state), steps[number])
