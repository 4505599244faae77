"""The messages inside a model call's input, and what is new in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.prompts import messages_of, new_messages, prompt_diff

USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "hello"}

texts = st.lists(st.sampled_from(["a", "b", "c", "a\nb", ""]), max_size=8)


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


@given(texts, texts)
def test_a_diff_holds_both_prompts_to_the_last_line(before: list[str], after: list[str]) -> None:
    parts = prompt_diff(prompt(*before), prompt(*after))
    old = [line for tag, lines in parts if tag != "insert" for line in lines]
    new = [line for tag, lines in parts if tag != "delete" for line in lines]
    assert old == [line for text in before for line in ("user:", *text.split("\n"))]
    assert new == [line for text in after for line in ("user:", *text.split("\n"))]


def test_a_message_added_is_one_insertion() -> None:
    assert prompt_diff({"messages": [USER]}, {"messages": [USER, REPLY]}) == [
        ("equal", ["user:", "hi"]),
        ("insert", ["assistant:", "hello"]),
    ]


def test_what_a_message_holds_besides_text_is_compared_too() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"name": "search"}]}
    assert (
        "insert",
        ["assistant:", "{", ' "tool_calls": [', "  {", '   "name": "search"', "  }", " ]", "}"],
    ) in (prompt_diff({"messages": [USER]}, {"messages": [USER, call]}))


def test_inputs_that_are_no_prompts_are_compared_as_they_are() -> None:
    assert prompt_diff("a\nb", "a\nc") == [("equal", ["a"]), ("delete", ["b"]), ("insert", ["c"])]


def test_very_large_changes_are_shown_whole_and_not_matched() -> None:
    before, after = "\n".join(f"old {n}" for n in range(3000)), "\n".join(f"new {n}" for n in range(3000))
    parts = prompt_diff(prompt("same\n" + before), prompt("same\n" + after))
    assert [(tag, len(lines)) for tag, lines in parts] == [("equal", 2), ("delete", 3000), ("insert", 3000)]
