"""What INPUT, OUTPUT and STATE say of a step, and what they leave unsaid."""

import json
from dataclasses import replace
from typing import Any

import pytest

from stepwell.app.geometry import Pane
from stepwell.app.panes.content import Content, content
from stepwell.app.panes.sight import asked_by, sight_lines, sight_of
from stepwell.app.present import plain_text
from stepwell.app.view import View
from stepwell.core.codec import encode
from stepwell.core.sight import seen
from stepwell.core.state import diff, paths
from stepwell.core.steps import Payload
from stepwell.core.timeline import build
from stepwell.core.world import MISSING, Change, Moment, World
from tests.app.test_panes import view as settled
from tests.core.heads import BEGIN, model, run, state, tool, unfinished

ASKS = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]}


def shown(view: View, pane: Pane, **changes: Any) -> tuple[str, str]:
    """Label and text of a pane, with this changed in the world."""
    assert view.world is not None
    made: Content = content(view, replace(view.world, **changes), pane, 60)
    return made.label, "\n".join(plain_text(made.document))


def world_of_tool(reply: object) -> World:
    view = settled(build(run("ok"), [model(1), replace(tool(2), name="search")]), 1)
    assert view.world is not None
    return replace(view.world, previous_reply=Payload(1, output=json.dumps(reply)))


@pytest.mark.parametrize(
    ("reply", "asked"),
    [
        ({"choices": [{"message": ASKS}]}, 1),
        ({"choices": [{"message": {"role": "assistant", "content": "hi"}}]}, None),
        ({"role": "assistant", "content": [{"type": "tool_use", "name": "other", "input": {}}]}, None),
        ({"chunks": []}, None),
        ("a text", None),
    ],
)
def test_a_call_is_said_to_be_asked_for_only_by_a_reply_that_did(reply: object, asked: int | None) -> None:
    assert asked_by(world_of_tool(reply)) == asked


def test_what_a_call_without_messages_saw_is_not_guessed() -> None:
    world = replace(
        world_of_tool("x"), payload=Payload(2, "{}", '"a long answer, long enough to be looked for"')
    )
    assert sight_of(replace(world, next_prompt=Payload(3, input='{"n": 3}'))) is None


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        ({"choices": [{"message": ASKS}]}, ["not found in prompt 3, as it was or in other forms of JSON"]),
        ({"content": "Action: search[lamp]"}, ["not found in prompt 3, as it was or in other forms of JSON"]),
        ({"content": "hi"}, []),
        (None, []),
    ],
)
def test_only_an_output_that_a_reply_may_have_asked_for_is_missed(reply: object, lines: list[str]) -> None:
    world = replace(
        world_of_tool(reply),
        payload=Payload(2, "{}", '"a long answer, long enough to be looked for"'),
        next_prompt=Payload(3, input='{"messages": [{"role": "user", "content": "hi"}]}'),
    )
    unasked = world if reply is not None else replace(world, previous_reply=None)
    assert sight_lines(sight_of(unasked)) == lines


def test_the_line_that_quotes_what_was_lost_fits_a_pane_of_80_columns() -> None:
    rows = [{"id": number, "at": "09:08:00Z"} for number in range(8100, 8200)]
    sight = seen(rows, 12, {"messages": [{"role": "tool", "content": json.dumps(rows, indent=2)[:2048]}]})
    lines = sight_lines(sight)
    assert lines == [
        "x prompt 12 holds 2,048 characters of this output",
        'x 2.7 KB never seen, from: at": "09:08:00Z" }…',
    ]
    assert max(map(len, lines)) <= 49


def test_before_a_step_has_finished_its_output_is_not_there() -> None:
    view = settled(build(run("ok"), [tool(1)]), 0)
    label, text = shown(view, Pane.OUTPUT, moment=Moment.ASKED, payload=Payload(1, "{}", '"secret"'))
    assert label == "not there yet"
    assert "secret" not in text


def test_a_list_of_the_same_calls_is_broken_between_its_numbers() -> None:
    seen = settled(build(run(), [tool(number) for number in range(100, 900, 70)]), 5)
    assert seen.world is not None
    world = replace(seen.world, payload=Payload(450, "{}"))
    for width in range(12, 60):
        words = " ".join(plain_text(content(seen, world, Pane.INPUT, width).document)).split()
        told = " ".join(words[words.index("same") :])
        assert told == "same arguments and result as 240, 310, 380, 520, 590, 660 and 5 more"


def test_a_recorded_difference_of_the_state_is_told_in_words() -> None:
    ops = diff({"n": 1}, {"n": 2, "plan": ["a"]})
    view = settled(build(run("ok"), [state(1)]), 0)
    changes = {
        "payload": Payload(1, json.dumps({"$patch": ops}), json.dumps(paths(ops))),
        "changed": (Change(None, ("n",), 1, 2), Change(None, ("plan",), MISSING, ["a"])),
        "states": {None: {"n": 2, "plan": ["a"]}},
    }
    assert shown(view, Pane.INPUT, **changes) == (
        "state_update, what changed",
        'n  1 -> 2\nplan  (not set) -> ["a"]',
    )
    assert shown(view, Pane.OUTPUT, **changes) == ("the state that it left", '{"n": 2, "plan": ["a"]}')
    raw = replace(view, raw=frozenset({Pane.INPUT}))
    assert "$patch" in shown(raw, Pane.INPUT, **changes)[1]


def test_a_state_written_by_hand_is_shown_as_it_was_written() -> None:
    view = settled(build(run("ok"), [state(1)]), 0)
    payload = Payload(1, '{"why": "retry"}', '{"n": 2}')
    assert shown(view, Pane.INPUT, payload=payload)[1] == '{"why": "retry"}'
    assert shown(view, Pane.OUTPUT, payload=payload)[1] == '{"n": 2}'


@pytest.mark.parametrize(
    ("status", "source", "recorded", "label"),
    [
        ("died", None, True, "in doubt"),
        ("running", None, True, "still running"),
        ("unknown", "chat-completions", False, "none"),
        ("unknown", None, False, "none"),
    ],
)
def test_a_missing_output_is_called_what_it_is(
    status: str, source: str | None, recorded: bool, label: str
) -> None:
    step = replace(unfinished(1), started=BEGIN if recorded else None)
    view = settled(build(replace(run(status), source=source), [step]), 0)
    assert shown(view, Pane.OUTPUT)[0] == label


def test_what_was_kept_as_its_repr_is_marked() -> None:
    kept = encode({"handle": object(), "n": 1})
    view = settled(build(run("ok"), [tool(1)]), 0)
    label, _ = shown(view, Pane.INPUT, payload=Payload(1, kept.plain, "1", kept.exact))
    assert label.endswith("; kept as repr: object")


def test_an_error_without_a_message_has_no_dangling_colon() -> None:
    view = settled(build(run("failed"), [tool(1)]), 0)
    error = json.dumps({"type": "CancelledError", "message": ""})
    assert shown(view, Pane.OUTPUT, payload=Payload(1, "{}", error=error)) == ("raised", "CancelledError")
