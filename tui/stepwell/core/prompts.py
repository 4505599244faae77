"""The chat messages inside a model call's input, whatever client it was meant for."""

import json
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from stepwell.core.state import same

_KEYS = ("messages", "input", "contents", "prompt")
_DIFF_CELLS = 1_000_000
"""Changed lines before times changed lines after, up to which the diff is worked out line by line."""


def messages_of(value: object) -> list[object] | None:
    """The messages of a prompt, oldest first, a `system` text before them; None where it holds none.

    Takes the bound arguments of a call (`{"messages": […]}`, also below `kwargs` or as an element of `args`),
    a list of messages, or a plain text under `input` or `prompt`, which is a user's message.
    """
    if isinstance(value, list):
        return value if value and all(_is_message(item) for item in value) else None
    if not isinstance(value, dict):
        return None
    for key in _KEYS:
        found = _message_list(value.get(key))
        if found is not None:
            return [*_system(value), *found]
    kwargs, args = value.get("kwargs"), value.get("args")
    for inner in (kwargs, *(args if isinstance(args, list) else ())):
        found = messages_of(inner) if isinstance(inner, dict | list) else None
        if found is not None:
            return found
    return None


def _message_list(value: object) -> list[object] | None:
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return value if isinstance(value, list) else None


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and ("role" in value or "content" in value)


def _system(value: Mapping[str, object]) -> list[object]:
    for key in ("system", "instructions"):
        if value.get(key):
            return [{"role": "system", "content": value[key]}]
    return []


def new_messages(previous: object, current: object) -> int:
    """How many leading messages of the current prompt were the same in the previous one.

    Both are inputs; the same means equal as stored (1 is not True, nor 1.0).
    """
    before, after = messages_of(previous) or [], messages_of(current) or []
    return _common(before, after)


def _common(before: Sequence[object], after: Sequence[object]) -> int:
    return sum(1 for _ in takewhile(lambda pair: same(*pair), zip(before, after, strict=False)))


def prompt_diff(previous: object, current: object) -> list[tuple[str, list[str]]]:
    """What changed between two inputs: (`equal` | `delete` | `insert`, lines), in order, nothing left out.

    Messages are compared as text, a heading of their role each. Where very much has changed the lines are
    not matched one by one: all of it was deleted, all of it inserted.
    """
    before, after = _lines(previous), _lines(current)
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    limit = min(len(before), len(after)) - start
    ends = zip(reversed(before), reversed(after), strict=False)
    stop = min(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends)), limit)
    old, new = before[start : len(before) - stop], after[start : len(after) - stop]
    parts = [("equal", before[:start]), *_matched(old, new), ("equal", before[len(before) - stop :])]
    return [(tag, lines) for tag, lines in parts if lines]


def _matched(old: list[str], new: list[str]) -> list[tuple[str, list[str]]]:
    if len(old) * len(new) > _DIFF_CELLS:
        return [("delete", old), ("insert", new)]
    parts: list[tuple[str, list[str]]] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            parts.append(("equal", old[a:b]))
        else:
            parts += [("delete", old[a:b]), ("insert", new[c:d])]
    return parts


def _lines(value: object) -> list[str]:
    messages = messages_of(value)
    if messages is None:
        return _text(value).split("\n")
    return [line for message in messages for line in _message_lines(message)]


def _message_lines(message: object) -> list[str]:
    if not isinstance(message, dict):
        return _text(message).split("\n")
    role, rest = message.get("role"), {k: v for k, v in message.items() if k not in ("role", "content")}
    lines = [f"{role if isinstance(role, str) else 'message'}:"]
    if message.get("content") is not None:
        lines += _text(message["content"]).split("\n")
    return lines + (_text(rest).split("\n") if rest else [])


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=repr)
