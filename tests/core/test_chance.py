"""The state of `random` as JSON: what comes back draws the same."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.chance import from_json, to_json

DRAWS = st.lists(st.sampled_from(["random", "gauss", "bits", "word"]), max_size=50)


def draw(source: random.Random, what: str) -> object:
    if what == "gauss":
        return source.gauss(0, 1)
    if what == "random":
        return source.random()
    return source.getrandbits(20_000 if what == "bits" else 8)


@given(st.integers(), DRAWS, DRAWS)
def test_after_any_draws_what_comes_next_is_the_same(seed: int, before: list[str], after: list[str]) -> None:
    source, other = random.Random(seed), random.Random()
    for what in before:
        draw(source, what)
    state = from_json(json.loads(json.dumps(to_json(source.getstate()))))
    assert state == source.getstate()
    other.setstate(state)
    assert [draw(other, what) for what in after] == [draw(source, what) for what in after]


def test_a_state_of_another_kind_is_not_kept() -> None:
    _, words, _ = random.Random(1).getstate()
    assert to_json((2, words, None)) is None
    assert to_json((3, words[1:], None)) is None
    assert to_json((3, words, "0.5")) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("numbers", value) for value in ("AAAA", "é", 1)]
    + [("index", value) for value in (625, -1, True, None)]
    + [("gauss", value) for value in ("x", 1.5, "0x1p99999")],
)
def test_what_a_hand_has_changed_is_no_state(name: str, value: object) -> None:
    made = to_json(random.Random(1).getstate())
    assert made is not None
    assert from_json(made | {name: value}) is None
    assert from_json([made]) is None
