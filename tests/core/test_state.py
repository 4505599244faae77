"""Which step last changed each top-level key of a state, and what one step changed."""

import pytest

from stepwell.core.state import PATCH, StateStep, fold
from stepwell.core.world import MISSING, Change


def patch(number: int, *ops: dict[str, object]) -> StateStep:
    return StateStep(number, None, {PATCH: list(ops)}, None)


def by_hand(number: int, output: object) -> StateStep:
    return StateStep(number, None, None, output)


WHOLE: dict[str, object] = {"set": [], "to": {"plan": ["a", "b"], "tries": 0}}


def set_at(*steps: StateStep) -> dict[str, int]:
    return fold(steps, 0).set_at[None]


def test_the_first_whole_state_sets_every_key() -> None:
    assert set_at(patch(3, WHOLE)) == {"plan": 3, "tries": 3}


def test_a_difference_sets_the_keys_on_its_paths_alone() -> None:
    assert set_at(patch(1, WHOLE), patch(4, {"set": ["plan", 1], "to": "c"})) == {"plan": 4, "tries": 1}


def test_a_key_that_goes_is_forgotten_and_one_that_comes_is_new() -> None:
    steps = [patch(1, WHOLE), patch(2, {"unset": ["plan"]}), patch(3, {"set": ["cost"], "to": 1})]
    assert set_at(*steps) == {"tries": 1, "cost": 3}


def test_a_whole_state_in_place_of_another_sets_what_differs() -> None:
    again: dict[str, object] = {"set": [], "to": {"plan": ["a", "b"], "tries": 1}}
    assert set_at(patch(1, WHOLE), patch(2, again)) == {"plan": 1, "tries": 2}


@pytest.mark.parametrize("value", [0, None])
def test_setting_a_plain_value_to_what_it_was_changes_nothing(value: object) -> None:
    op: dict[str, object] = {"set": ["x"], "to": value}
    assert set_at(patch(1, WHOLE), patch(2, op), patch(3, op))["x"] == 2


def test_true_and_one_differ() -> None:
    ops: list[dict[str, object]] = [{"set": ["x"], "to": value} for value in (1, True)]
    assert set_at(patch(1, WHOLE), patch(2, ops[0]), patch(3, ops[1]))["x"] == 3


def test_a_difference_that_does_not_fit_is_odd_and_changes_nothing() -> None:
    folded = fold([patch(1, WHOLE), patch(2, {"set": ["plan", 9], "to": "z"})], 2)
    assert folded.states == {None: WHOLE["to"]}
    assert folded.set_at == {None: {"plan": 1, "tries": 1}}
    assert list(folded.odd) == [2]
    assert folded.changed == ()


def test_objects_written_by_hand_set_what_differs() -> None:
    steps = [by_hand(1, {"a": [1], "b": 1}), by_hand(2, {"a": [1], "b": 2}), by_hand(3, {"b": None})]
    assert set_at(*steps[:2]) == {"a": 1, "b": 2}
    assert set_at(*steps) == {"a": 1}


def test_what_one_step_changed_is_told_down_to_the_value() -> None:
    steps = [patch(1, WHOLE), patch(2, {"set": ["plan", 2], "to": "c"}, {"unset": ["tries"]})]
    assert fold(steps, 2).changed == (
        Change(None, ("plan", 2), MISSING, "c"),
        Change(None, ("tries",), 0, MISSING),
    )
