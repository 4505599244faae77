"""What INPUT says of a long prompt that is stored as a difference, and of one that cannot be put together."""

from dataclasses import replace
from typing import Any

import pytest

from stepwell.app.geometry import Pane
from stepwell.app.panes.content import content
from stepwell.app.panes.sight import sight_of
from stepwell.app.present import plain_text
from stepwell.core.codec import encode
from stepwell.core.steps import Payload, Stored
from stepwell.core.timeline import build
from stepwell.core.whole import payload
from stepwell.core.world import World
from tests.app.test_panes import view as settled
from tests.core.heads import model, run, tool
from tests.core.prompt_sequences import PAD, payloads

SYSTEM = {"role": "system", "content": PAD}


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def prompt(*messages: object, **more: object) -> dict[str, object]:
    return {"model": "m", "messages": [SYSTEM, *messages], **more}


def shown(own: Payload, previous: Payload | None, **changes: Any) -> tuple[str, list[str]]:
    """Label and lines of INPUT at the second of two model calls."""
    view = settled(build(run("ok"), [model(1), model(2)]), 1)
    assert view.world is not None
    world = replace(view.world, payload=own, previous_prompt=previous)
    made = content(replace(view, **changes), world, Pane.INPUT, 60)
    return made.label, list(plain_text(made.document))


def test_what_is_new_is_shown_without_a_look_at_the_prompt_before() -> None:
    own = payloads([(None, prompt(user("a"))), (None, prompt(user("a"), user("b")))])[1]
    label, lines = shown(own, Payload(1, "not even JSON"))
    assert label.endswith("1 new of 3")
    assert lines == ["… 2 earlier messages", "user new", " b"]


def test_of_a_window_that_slides_the_last_messages_are_new() -> None:
    turns = [user(f"turn {n}") for n in range(9)]
    own = payloads([(None, prompt(*turns[:8])), (None, prompt(*turns[1:]))])[1]
    assert shown(own, Payload(1, "{}"))[0].endswith("1 new of 9")


def test_a_prompt_whose_base_is_another_is_compared_with_the_one_before() -> None:
    first, second, third = payloads(
        [(None, prompt(user("a"))), ("b", prompt(user("b"))), (None, prompt(user("a"), user("b")))]
    )
    assert third.chain[0].base == first.number
    assert shown(third, second)[0].endswith("1 new of 3") is False


def test_a_diff_tells_what_else_has_changed() -> None:
    before = prompt(user("a"), tools=["x", "y"], temperature=0, seed=1)
    after = prompt(user("a"), user("b"), tools=["x", "z"], temperature=0, stop="\x1b[31m") | {"model": "n"}
    first, second = payloads([(None, before), (None, after)])
    label, lines = shown(second, first, diff=True)
    assert label.endswith("against prompt 1")
    assert lines == [
        '- model: "m"',
        '+ model: "n"',
        '- tools: "y"',
        '+ tools: "z"',
        "- seed: 1",
        '+ stop: "\\u001b[31m"',
        "  2 messages the same",
        "+ user",
        "+  b",
    ]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({}, {"stop": []}, ["+ stop: []"]),
        ({"stop": ["a"]}, {"stop": "a"}, ['- stop: ["a"]', '+ stop: "a"']),
        ({"stop": ["a", "b"]}, {"stop": ["b", "a"]}, ["  stop: the same items in another order or number"]),
        ({"n": 1}, {"n": True}, ["- n: 1", "+ n: true"]),
        ({"\x1b[2J": 1}, {}, ["- \\x1b[2J: 1"]),
    ],
)
def test_whatever_has_changed_beside_the_messages_is_told(
    before: dict[str, Any], after: dict[str, Any], lines: list[str]
) -> None:
    turns = [Payload(n, encode(prompt(user("a"), **more)).plain) for n, more in enumerate((before, after), 1)]
    assert shown(turns[1], turns[0], diff=True)[1] == [*lines, "  2 messages the same"]


def test_raw_says_in_how_many_steps_it_is_stored() -> None:
    own = payloads([(None, prompt(user("a"))), (None, prompt(user("a"), user("b")))])[1]
    label, lines = shown(own, None, raw=frozenset({Pane.INPUT}))
    assert label.endswith("as stored in 2 steps")
    assert lines[0] == '{"model":"m","messages":[{"role":"system","content":"the'


BROKEN = payload([Stored(2, '{"messages": [{"role": "user", "content": "b"}]}', None, 1, 1, "messages")])


@pytest.mark.parametrize("changes", [{}, {"diff": True}, {"raw": frozenset({Pane.INPUT})}])
def test_a_prompt_whose_base_is_missing_says_so_above_what_is_there(changes: dict[str, Any]) -> None:
    label, lines = shown(BROKEN, None, **changes)
    assert label.endswith("not whole")
    words = " ".join(lines)
    assert "only what is new in it: step 2 is a difference to step 1, which is not there" in words
    assert '"content": "b"' in words


def test_nothing_is_compared_with_a_prompt_that_is_not_whole() -> None:
    own = replace(payloads([(None, prompt(user("b")))])[0], number=3)
    label, lines = shown(own, BROKEN, diff=True)
    assert label.endswith("against prompt 2")
    assert " ".join(lines).startswith("of prompt 2 there is only what is new in it: step 2")
    assert " new of " not in shown(own, BROKEN)[0]


def test_what_a_model_saw_is_not_guessed_from_a_prompt_that_is_not_whole() -> None:
    view = settled(build(run("ok"), [tool(1), model(2)]), 0)
    assert view.world is not None
    world: World = replace(view.world, payload=Payload(1, "{}", '"an answer"'), next_prompt=BROKEN)
    assert sight_of(world) is None
