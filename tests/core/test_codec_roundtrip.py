"""What goes into jsonb comes out equal: type, key order, sign of zero, everything."""

import json
from collections import Counter, OrderedDict

import pytest
from hypothesis import HealthCheck, assume, example, given, settings

from stepwell.core import codec
from tests.core import codec_values as made

# As many examples as a developer waits for; `-m long` runs the same properties at length.
brief = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
long = settings(brief, max_examples=10_000)


@brief
@given(made.json_shaped)
@example({"role": "user", "content": "hi", "a": {"content": 1, "role": 2}})
@example([{"b": 1, "a": 2}, {"a": 1, "b": 2}, {"b": 1, "a": 2}])
@example({f"key {number}": number for number in range(100, 0, -1)})
@example({"\\u0000": 1, "\0": 2, "\u2400": 3})
@example({"\ud800": {"\udfff\0": "\ud83d\ude00"}})
@example([0.0, -0.0, 1.0, 1, True, 1e16, 10**16, 5e-324, 1.7976931348623157e308, float("nan")])
def test_every_json_shaped_value_comes_back_the_same(value: object) -> None:
    assert made.same(made.through_jsonb(value), value)


@brief
@given(made.values)
@example(
    {1: "a", "1": "b", True.real + 1: "c", None: "d", "null": "e", 1.5: "f", (1, "x"): "g", '[1,"x"]': "h"}
)
@example({"a": 1, 2: {"b": 1, 2: {"c": 1, 2: 3}}})
def test_every_supported_value_comes_back_the_same(value: object) -> None:
    encoded = codec.encode(value)
    assert made.same(codec.decode(*made.stored(encoded)), value)
    assert not encoded.opaque


@brief
@given(made.values)
def test_texts_that_have_not_been_through_jsonb_decode_as_well(value: object) -> None:
    encoded = codec.encode(value)
    exact = codec.parse(encoded.exact) if encoded.exact else None
    assert made.same(codec.decode(codec.parse(encoded.plain), exact), value)


@brief
@given(made.values)
def test_a_view_is_json_shaped(value: object) -> None:
    json.dumps(codec.view(*made.stored(codec.encode(value))), skipkeys=False)


@brief
@given(made.json_shaped)
def test_the_view_of_a_json_shaped_value_is_the_value(value: object) -> None:
    assume("hex" not in (codec.encode(value).exact or ""))  # ints that no text can show in full
    assert made.same(codec.view(*made.stored(codec.encode(value))), value)


@brief
@given(made.values)
def test_a_value_and_its_decoded_copy_have_one_canonical_text(value: object) -> None:
    assert codec.canonical(made.through_jsonb(value)) == codec.canonical(value)


@brief
@given(made.values)
@example({"a": {1: 1e22}, "b": [(-0.0,)], "c": {1: object}})
@example({made.Point(None, False), made.Point(False, None)})
@example(
    [
        made.Tool.model_validate({"\0": None}),
        made.Tool(),
        made.RefusedError(1, hint="b"),
        FileNotFoundError(2, "not", "here"),
    ]
)
def test_what_is_held_has_the_canonical_text_of_the_value(value: object) -> None:
    """Without importing what it was made of, and the objects that cannot be kept included."""
    kept = [value, object()]
    assert codec.canonical(codec.hold(*made.stored(codec.encode(kept)))) == codec.canonical(kept)


@pytest.mark.long
@long
@given(made.json_shaped)
def test_ten_thousand_json_shaped_values(value: object) -> None:
    assert made.same(made.through_jsonb(value), value)


@pytest.mark.long
@long
@given(made.values)
def test_ten_thousand_supported_values(value: object) -> None:
    copy = made.through_jsonb(value)
    assert made.same(copy, value)
    assert codec.canonical(copy) == codec.canonical(value)


def test_a_text_that_uses_every_spare_character_still_comes_back() -> None:
    everything = "".join(map(chr, range(0x110000)))
    encoded = codec.encode(everything)
    assert encoded.plain.isascii()
    assert codec.decode(codec.parse(encoded.plain), codec.parse(encoded.exact or "")) == everything


def test_an_ordered_dict_keeps_the_order_that_it_was_moved_into() -> None:
    value = OrderedDict.fromkeys(["one", "two", "three"])
    value.move_to_end("one")
    assert list(made.through_jsonb(value)) == ["two", "three", "one"]


def test_subclasses_keep_their_attributes() -> None:
    label, names = made.Label("a"), made.Names([1])
    label.note, names.owner = "slot", ("me",)  # type: ignore[attr-defined]  # attributes set ad hoc, as users do
    copy = made.through_jsonb([label, names, Counter("aab")])
    assert (copy[0].note, copy[1].owner, copy[2]) == ("slot", ("me",), Counter(a=2, b=1))
    assert [type(item) for item in copy] == [made.Label, made.Names, Counter]
