"""The short way through the codec says what the encoder says, or nothing."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepwell.core.codec.encoder import Encoder
from stepwell.core.codec.ordinary import both_ordinary, canonical_ordinary, encode_ordinary
from stepwell.errors import EncodingError
from tests.core import codec_values as made

brief = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))

# Few keys, so that several dicts share them, in one order or in two.
_rows = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(-1e15, 1e15)
    | st.sampled_from(["", "a", "é", "\\u0000"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "note", "né"]), inner),
    max_leaves=25,
)


@brief
@given(_rows | made.json_shaped | made.values)
def test_where_it_answers_the_texts_are_the_encoders(value: Any) -> None:
    short, sorted_short = encode_ordinary(value), canonical_ordinary(value)
    assert short is None or short == Encoder().encode(value)
    assert sorted_short is None or sorted_short == Encoder(canonical=True).canonical_text(value)
    assert both_ordinary(value) == (None if short is None or sorted_short is None else (short, sorted_short))


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text, é and 😀",
        {},
        [],
        {"model": "m", "messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]},
        [{"note": 1, "id": -2.5, "none": None}, [0.0, 10**300, True, [[]]]],
    ],
)
def test_it_answers_for_what_agents_pass_around(value: Any) -> None:
    assert encode_ordinary(value) == Encoder().encode(value)
    assert canonical_ordinary(value) == Encoder(canonical=True).canonical_text(value)


@pytest.mark.parametrize(
    "value",
    [
        (1,),
        {"a": {1, 2}},
        [{1: "a"}],
        [{"a": 1}, {made.Label("a"): 1}],
        made.Label("a"),
        [True, made.Count(1)],
        made.Config(a=1),
        made.Names(),
        10**4000,
        ["a", 10**4000, {"b": -(10**4200)}],
        [1.0, -0.0],
        1e16,
        float("nan"),
        {"a": [float("inf")]},
        "a\0",
        "\ud800",
        {"\udfff": 1},
    ],
)
def test_it_leaves_to_the_encoder_what_jsonb_would_not_keep(value: Any) -> None:
    assert encode_ordinary(value) is None
    assert canonical_ordinary(value) is None


def test_two_orders_of_the_same_keys_are_for_the_encoder_but_alike_in_canonical_form() -> None:
    value = [{"b": 1, "a": 2}, {"a": 2, "b": 1}]
    assert encode_ordinary(value) is None
    assert canonical_ordinary(value) == '[{"a":2,"b":1},{"a":2,"b":1}]'


def test_what_contains_itself_is_for_the_encoder_which_refuses_it() -> None:
    value: list[object] = []
    value += [value, value, {"a": value}]
    assert encode_ordinary(value) is None
    with pytest.raises(EncodingError, match="contains itself"):
        Encoder().encode(value)
