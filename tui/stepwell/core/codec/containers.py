"""Tuples, sets, deques, and dicts whose keys are not all plain strings."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from stepwell.core.codec.parts import Make, Nesting, Parts, Rebuilding, Take
from stepwell.core.codec.text import clean, parse

UNORDERED = ("set", "frozenset")
"""Codes of heads of containers that have no order."""


def _sortable(texts: list[str | None]) -> list[str]:
    return [text or "" for text in texts]


def _take_set(value: set[object] | frozenset[object], context: Nesting) -> Parts:
    return Parts(ordered(value, context), ("set" if type(value) is set else "frozenset",))


def ordered(items: Iterable[object], context: Nesting) -> list[object]:
    """The items of a set, whose order differs from process to process: sorted, equal sets have equal texts."""
    return sorted(items, key=lambda item: _sortable(context.nested(item)))


def _make_frozenset(base: Any, *_: object) -> frozenset[object]:
    made = frozenset(base)
    if len(made) != len(base):
        raise ValueError("two of its items have become equal")
    return made


def take_keys(value: dict[Any, object], context: Nesting) -> Parts:
    """A dict with keys that a JSON object cannot have: each of them gets a name, and is listed in `arg`."""
    odd = [
        (index, context.nested(key))
        for index, key in enumerate(value)
        if type(key) is not str or not clean(key)
    ]
    names = list(value)
    unnamed = {index for index, _ in odd}
    taken = {name for index, name in enumerate(names) if index not in unnamed}
    # Names are given in an order that depends on the keys alone, never on their order in the dict.
    for index, texts in sorted(odd, key=lambda pair: _sortable(pair[1])):
        names[index] = _free_name(_name(texts[0] or "", context), taken)
        taken.add(names[index])
    keys = sorted([names[index], *texts] for index, texts in odd)
    return Parts(dict(zip(names, value.values(), strict=True)), ("keys",), keys)


def _name(text: str, context: Nesting) -> str:
    name = text if context.canonical else parse(text)
    return name if isinstance(name, str) else text


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}#{number}"
    return name


def _make_keys(base: Any, _: list[Any], arg: Any, context: Rebuilding) -> dict[Any, object]:
    keys = {name: context.nested(texts) for name, *texts in arg}
    made = {keys.get(name, name): item for name, item in base.items()}
    if len(made) != len(base):
        raise ValueError("two of its keys have become equal")
    return made


TAKE: dict[type, Take] = {
    tuple: lambda value, _: Parts(list(value), ("t",)),
    set: _take_set,
    frozenset: _take_set,
    deque: lambda value, _: Parts(list(value), ("deque",), value.maxlen),
}

MAKE: dict[str, Make] = {
    "t": lambda base, *_: tuple(base),
    "set": lambda base, *_: set(_make_frozenset(base)),
    "frozenset": _make_frozenset,
    "deque": lambda base, _, arg, __: deque(base, arg),
    "keys": _make_keys,
}
