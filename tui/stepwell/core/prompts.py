"""The chat messages inside a model call's input, whatever client it was meant for."""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from stepwell.core.codec import parse
from stepwell.core.state import same
from stepwell.core.steps import Stored

_KEYS = ("messages", "input", "contents", "prompt")
_SYSTEM_KEYS = ("system", "instructions")


def messages_of(value: object) -> list[object] | None:
    """The messages of a prompt, oldest first, a `system` text before them; None where it holds none.

    Takes the bound arguments of a call (`{"messages": […]}`, also below `kwargs` or as an element of `args`),
    a list of messages, or a plain text under `input` or `prompt`, which is a user's message.
    """
    if isinstance(value, list):
        return value if value and all(_is_message(item) for item in value) else None
    if not isinstance(value, dict):
        return None
    key = _key_of_messages(value)
    if key is not None:
        return [*_system(value), *(_message_list(value[key]) or ())]
    return next((found for inner in _inner(value) if (found := messages_of(inner)) is not None), None)


def settings_of(value: object) -> dict[str, object]:
    """What a prompt says besides its messages: the model, the tools, the temperature; empty where it holds none."""
    if not isinstance(value, dict):
        return {}
    key = _key_of_messages(value)
    if key is None:
        return next((settings_of(inner) for inner in _inner(value) if messages_of(inner) is not None), {})
    shown = {key, *(name for name in _SYSTEM_KEYS if value.get(name))}
    return {str(name): item for name, item in value.items() if name not in shown}


def _key_of_messages(value: Mapping[str, object]) -> str | None:
    return next((key for key in _KEYS if _message_list(value.get(key)) is not None), None)


def _inner(value: Mapping[str, object]) -> list[object]:
    """Where arguments stand that fit no signature."""
    args = value.get("args")
    return [value.get("kwargs"), *(args if isinstance(args, list) else ())]


def _message_list(value: object) -> list[object] | None:
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return value if isinstance(value, list) else None


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and ("role" in value or "content" in value)


def _system(value: Mapping[str, object]) -> list[object]:
    for key in _SYSTEM_KEYS:
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


def kept_messages(current: object, own: Stored, previous: int) -> int | None:
    """The same of a prompt whose row says it: a difference to that of step `previous`; None where it does not."""
    if own.base != previous or not isinstance(current, dict):
        return None
    key = _key_of_messages(current)
    part, removed = parse(own.plain or "{}"), parse(own.removed or "[]")
    if key is None or not isinstance(current[key], list) or not isinstance(part, dict):
        return None
    if isinstance(removed, list) and any(name in removed for name in _SYSTEM_KEYS):
        return None
    if any(name in part for name in _SYSTEM_KEYS):
        return 0
    if key != own.list:
        return None if key in part else len(current[key]) + len(_system(current))
    return None if own.keep is None else own.keep + len(_system(current))
