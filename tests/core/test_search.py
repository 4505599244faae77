"""A text that is searched for, as it reads and as the part of JSON that it may be."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.search import needle, spellings

MEMBER = '{"id": 8841, "item": "la \\"mp\\"", "tags": ["a", "b"], "at": {"x": 1.5}}'
"""As Postgres writes a JSON value."""


def found(text: str, stored: str) -> bool:
    return any(each in stored for each in spellings(text))


@pytest.mark.parametrize(
    "text",
    [
        '"id": 8841', '"id":8841', '"id" : 8841', "id: 8841", "id:8841", "id=8841", "id = 8841", '"id"=88',
        '{"id": 8841,', '{"id":8841,"item":"la', '"item": "la', "item=la", 'item: la "mp"', 'item="la \\"mp\\""',
        '"item": "la "mp', '"tags":["a","b"]', 'd": 8841', 'mp\\"", "tags": [', '"b"], "at"', 'b"], "at',
        "at={x=1.5}", '"x": 1.5}}', '"id":', "id=", '"a"', '"item"',
    ],
)  # fmt: skip
def test_a_part_of_a_json_text_is_found_however_it_is_spaced_and_quoted(text: str) -> None:
    """Also in a JSON text that is itself kept as a string, with blanks and without."""
    assert found(text, MEMBER)
    compact = json.dumps(json.loads(MEMBER), separators=(",", ":"))
    for inner in (MEMBER, compact):
        assert found(text, json.dumps({"arguments": inner}))


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("tries=3", '{"$patch": [{"to": 3, "set": ["tries"]}]}'),
        ('"item": "lamp"', '{"$patch": [{"to": "lamp", "set": ["item"]}]}'),
        ("item: lamp", '{"$patch": [{"to": "lamp", "set": ["item"]}]}'),
        ('plan=["a","b"]', '{"$patch": [{"to": ["a", "b"], "set": ["plan"]}]}'),
    ],
)
def test_a_member_is_found_where_a_state_is_changed_to_have_it(text: str, stored: str) -> None:
    assert found(text, stored)


@pytest.mark.parametrize(
    "text", ["id=8842", "d=8841", '"i": 8841', "item=mp", '"item": a', '"tags": ["b"', "id 8841", '"8841"']
)
def test_what_is_no_part_of_it_is_not_found(text: str) -> None:
    """A key is whole, and a value is there from its beginning."""
    assert not found(text, MEMBER)


@pytest.mark.parametrize(
    "text", ["lamp", "Order 8841", "a, b", "1,2", "[bold]int[] [/x]", "what is 12: it", "100%", "", " ", ":"]
)
def test_a_text_in_which_nothing_would_be_quoted_is_sought_as_it_reads_alone(text: str) -> None:
    assert spellings(text) == (needle(text),)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def members(value: object) -> Iterator[tuple[str, object]]:
    """Every key with its value, at any depth."""
    if isinstance(value, dict):
        yield from value.items()
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from members(inner)


@given(VALUES, st.sampled_from([": ", ":", " : "]), st.booleans(), st.data())
def test_every_member_is_found_by_its_key_and_any_beginning_of_its_value(
    value: object, colon: str, compact: bool, data: st.DataObject
) -> None:
    stored = json.dumps(value, ensure_ascii=False)
    separators = (",", ":") if compact else (", ", ": ")
    for key, inner in members(value):
        spelled = json.dumps(inner, ensure_ascii=False, separators=separators)
        end = data.draw(st.integers(1, len(spelled)))
        assert found(json.dumps(key, ensure_ascii=False) + colon + spelled[:end], stored)


NUMBERS = st.integers(0, 20) | st.integers(0, 20).map(str)
NESTED = st.recursive(
    NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "aa", "1"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(NESTED, st.sampled_from(["a", "aa", "1"]), st.sampled_from(["=", ": ", ":"]), st.integers(0, 20))
def test_a_member_is_found_exactly_where_a_walk_through_the_value_finds_it(
    value: object, key: str, sign: str, number: int
) -> None:
    hit = any(
        name == key and str(inner).startswith(str(number))
        for name, inner in members(value)
        if isinstance(inner, int | str)
    )
    assert found(f"{key}{sign}{number}", json.dumps(value)) is hit
