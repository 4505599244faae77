"""The messages inside a model call's input, and what is new in them."""

import pytest

from stepwell.core.prompts import kept_messages, messages_of, new_messages, settings_of
from stepwell.core.steps import Stored

USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "hello"}


def prompt(*contents: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": content} for content in contents]}


@pytest.mark.parametrize(
    "value",
    [
        {"model": "m", "messages": [USER]},
        {"kwargs": {"model": "m", "messages": [USER]}},
        {"args": ["m", [USER]], "kwargs": {}},
        {"model": "m", "input": [USER]},
        {"model": "m", "input": "hi"},
        {"prompt": "hi"},
        [USER],
    ],
)
def test_messages_are_found_where_clients_put_them(value: object) -> None:
    assert messages_of(value) == [USER]


@pytest.mark.parametrize("value", [None, 3, "hi", [], [1, 2], {}, {"query": "hi"}, {"messages": 3}])
def test_an_input_without_messages_has_none(value: object) -> None:
    assert messages_of(value) is None


def test_a_system_text_of_its_own_comes_first() -> None:
    assert messages_of({"system": "be kind", "messages": [USER]}) == [
        {"role": "system", "content": "be kind"},
        USER,
    ]


def test_new_messages_begin_after_those_that_are_the_same() -> None:
    assert new_messages({"messages": [USER]}, {"messages": [USER, REPLY]}) == 1
    assert new_messages({"messages": [USER, REPLY]}, {"messages": [USER]}) == 1
    assert new_messages(None, {"messages": [USER]}) == 0


def test_messages_are_compared_as_they_are_stored() -> None:
    assert new_messages(prompt({"n": 1}), prompt({"n": True})) == 0
    assert new_messages(prompt({"n": 1}), prompt({"n": 1.0})) == 0


@pytest.mark.parametrize(
    "value",
    [
        {"model": "m", "messages": [USER], "system": "be kind", "n": 1},
        {"kwargs": {"model": "m", "messages": [USER], "n": 1}},
        {"model": "m", "n": 1, "input": "hi", "instructions": "be kind"},
    ],
)
def test_settings_are_all_but_the_messages(value: object) -> None:
    assert settings_of(value) == {"model": "m", "n": 1}


@pytest.mark.parametrize("value", [None, [USER], {"query": "hi"}, {"args": [[USER]], "kwargs": {}}])
def test_what_holds_no_messages_has_no_settings(value: object) -> None:
    assert settings_of(value) == {}


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        (Stored(2, '{"messages": [1]}', None, 1, 2, "messages"), 3),
        (Stored(2, '{"messages": [1]}', None, 7, 2, "messages"), None),
        (Stored(2, '{"messages": [1], "system": "x"}', None, 1, 2, "messages"), 0),
        (Stored(2, '{"messages": [1]}', None, 1, 2, "messages", '["instructions"]'), None),
        (Stored(2, '{"tools": []}', None, 1, 9, "tools"), 4),
        (Stored(2, '{"tools": [], "messages": [1]}', None, 1, 9, "tools"), None),
    ],
)
def test_a_row_that_is_a_difference_says_what_is_new(own: Stored, kept: int | None) -> None:
    current = {"system": "be kind", "tools": [], "messages": [USER, REPLY, USER]}
    assert kept_messages(current, own, 1) == kept
