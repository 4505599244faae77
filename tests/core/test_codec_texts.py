"""Values for people, values compared as texts, and numbers read from text."""

from decimal import Decimal

import pytest

from stepwell.core import codec
from tests.core import codec_values as made
from tests.core.codec_values import same, stored

# -- views --


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ((1, ("a\0",)), [1, ["a\0"]]),
        (b"ab\xff", "b'ab\\xff'"),
        (bytearray(b"x"), "bytearray(b'x')"),
        (Decimal("1.10"), "1.10"),
        ({1: "a", "1": "b", "\0": "c"}, {"1#2": "a", "1": "b", "\0": "c"}),
        (made.Colour.RED, "red"),
        (made.Point(1, 2), {"y": 1, "x": 2}),
        (float("-inf"), float("-inf")),
        (dict, "builtins:dict"),
    ],
)
def test_a_view_shows_plainly(value: object, shown: object) -> None:
    assert same(codec.view(*stored(codec.encode(value))), shown)


# -- canonical texts --


def test_key_order_does_not_change_the_canonical_text() -> None:
    one = {"a": 1, 2: made.Order({"y": 1, "x": 2}), "2": (made.Tool(name="n"), {3, 1})}
    other = {"2": (made.Tool(name="n"), {1, 3}), 2: made.Order({"x": 2, "y": 1}), "a": 1}
    assert codec.canonical(one) == codec.canonical(other)


@pytest.mark.parametrize(
    "different",
    [
        [1, 1.0, True, "1", Decimal(1), (1,), [1]],
        [0.0, -0.0, 0, False, None],
        [1e16, 10**16],
        ["\0", "\u2400", "\ud800", "\\u0000", b"\0"],
        [{"a": 1}, {"a": 1.0}, {"b": 1}, {1: 1}, {"1": 1}, made.Config({"a": 1})],
        [float("nan"), "NaN", Decimal("NaN")],
    ],
)
def test_values_of_other_types_have_other_canonical_texts(different: list[object]) -> None:
    assert len({codec.canonical(value) for value in different}) == len(different)


def test_the_address_of_an_object_is_no_part_of_its_canonical_text() -> None:
    assert codec.canonical([object()]) == codec.canonical([object()])


def test_a_digest_is_a_signed_bigint_that_does_not_depend_on_the_process() -> None:
    assert codec.digest("") == -1970711489451281740
    assert all(-(2**63) <= codec.digest(str(number)) < 2**63 for number in range(100))
    assert codec.digest("\ud800") != codec.digest("\ud801")


# -- numbers --


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1.0),
        ("0.1", 0.1),
        ("0." + "0" * 323 + "5", 5e-324),
        ("0.1000000000000000000001", Decimal("0.1000000000000000000001")),
        ("1" + "0" * 400 + ".5", Decimal("1" + "0" * 400 + ".5")),
        ("1e400", Decimal("1e400")),
        ("12345678901234567890", 12345678901234567890),
    ],
)
def test_numbers_are_read_exactly(text: str, value: object) -> None:
    read = codec.parse(f"[{text}]")
    assert isinstance(read, list)
    assert type(read[0]) is type(value)
    assert read[0] == value


def test_an_int_longer_than_int_may_read_is_read() -> None:
    assert codec.parse("[-1" + "0" * 5000 + ", 7]") == [-(10**5000), 7]


def test_text_that_is_not_json_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        codec.parse("{")
