"""A long prompt's encoded text taken apart: its keys, and the items of its lists, without a look at the objects.

Two parts of prompts are the same if their encoded forms are: the text, in which 1, 1.0 and true differ and keys have
their order, and what the codec says of their types.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stepwell.core.codec import dump, parse
from stepwell.errors import EncodingError

_scan = json.JSONDecoder().raw_decode
Types = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PromptText:
    """The encoded dict of one prompt.

    `texts` has the JSON of each key's value, of a list without its closing bracket, so that the text of a list that
    has grown begins with it. `ends` has for each list where its items end in that text. `types` has what the codec
    says of a value's types, of a list's items in `item_types`, by index; what is plain JSON is not in them.
    """

    texts: dict[str, str]
    ends: dict[str, list[int]]
    types: dict[str, str] = field(default_factory=dict)
    item_types: dict[str, dict[int, str]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many characters it holds on to."""
        return sum(map(len, self.texts.values()))

    def same(self, other: "PromptText", key: str) -> bool:
        """Whether `key` has the same value in both."""
        return (
            self.texts[key] == other.texts.get(key)
            and self.types.get(key) == other.types.get(key)
            and self.item_types.get(key) == other.item_types.get(key)
        )

    def conversation(self, base: "PromptText") -> str | None:
        """The key of the list in which this differs from `base` most likely: the longest that is not the same."""
        lists = [key for key in self.ends if key in base.ends]
        differing = [key for key in lists if not self.same(base, key)]
        return max(differing or lists, key=lambda key: len(self.texts[key]), default=None)

    def starts_with(self, other: "PromptText", key: str) -> bool:
        """Whether the list under `key` is that of `other`, or has grown from it."""
        count = len(other.ends[key])
        if self.ends[key][:count] != other.ends[key] or not self.texts[key].startswith(other.texts[key]):
            return False
        old, new = other.item_types.get(key), self.item_types.get(key)
        return old == new or (old or {}) == {i: text for i, text in (new or {}).items() if i < count}

    def items(self, key: str) -> list[tuple[str, str | None]]:
        """The encoded form of each item of a list."""
        text, types = self.texts[key], self.item_types.get(key, {})
        starts = [1, *(end + 1 for end in self.ends[key])]
        return [
            (text[start:end], types.get(index))
            for index, (start, end) in enumerate(zip(starts, self.ends[key], strict=False))
        ]

    def tail(self, key: str, first: int) -> str:
        """The JSON of a list without its first items."""
        text, ends = self.texts[key], self.ends[key]
        return f"[{text[1:] if first == 0 else text[ends[first - 1] + 1 :]}]"


def take_apart(plain: str, exact: str | None, known: Iterable[PromptText] = ()) -> PromptText | None:
    """The parts of an encoded dict; None for anything unusual.

    Lists that have grown from one in `known` are read from there on only.
    """
    try:
        texts, ends = _spans(plain, list(known))
        types, item_types = ({}, {}) if exact is None or '"t":' not in exact else _types(exact, ends)
    except (ValueError, LookupError, TypeError, RecursionError, EncodingError):
        return None
    return PromptText(texts, ends, types, item_types)


def _spans(plain: str, known: list[PromptText]) -> tuple[dict[str, str], dict[str, list[int]]]:
    texts: dict[str, str] = {}
    ends: dict[str, list[int]] = {}
    if plain[:2] != '{"':
        raise ValueError("no dict, or an empty one")
    position = 0
    while plain[position] != "}":
        key, position = _scan(plain, position + 1)
        start = position + 1
        if plain[start] == "[":
            ends[key], position = _items(plain, start, [p for p in known if key in p.ends], key)
            texts[key] = plain[start:position]
            position += 1
        else:
            _, position = _scan(plain, start)
            texts[key] = plain[start:position]
    if position + 1 != len(plain):
        raise ValueError("text after the end")
    return texts, ends


def _items(plain: str, start: int, known: list[PromptText], key: str) -> tuple[list[int], int]:
    """Where the items of the list that begins at `start` end, counted from there; and where its bracket closes."""
    grown = [p for p in known if p.ends[key] and plain.startswith(p.texts[key], start)]
    grown = [p for p in grown if plain[start + len(p.texts[key])] in ",]"]
    base = max(grown, key=lambda p: len(p.texts[key]), default=None)
    ends = [] if base is None else base.ends[key].copy()
    position = start + (ends[-1] if ends else 0)
    if not ends and plain[start + 1] == "]":
        return ends, start + 1
    while plain[position] != "]":
        _, position = _scan(plain, position + 1)
        ends.append(position - start)
    return ends, position


def _types(exact: str, ends: Mapping[str, object]) -> tuple[dict[str, str], dict[str, dict[int, str]]]:
    """What is said of types in an exact text, apart from the order of keys, which the plain text has already."""
    document: Any = parse(exact)
    heads = document.get("h", [])
    root = _without_order(document.get("t"))
    if not isinstance(root, dict | None):
        raise ValueError("no plain dict")
    types: dict[str, str] = {}
    item_types: dict[str, dict[int, str]] = {}
    for key, node in (root or {}).items():
        node = _without_order(node)
        if key in ends and isinstance(node, dict):
            item_types[key] = {}
            for place, item in node.items():
                first, _, last = place.partition("-")
                text = _type_text(item, heads)
                item_types[key].update(dict.fromkeys(range(int(first), int(last or first) + 1), text))
        else:
            types[key] = _type_text(node, heads)
    return types, item_types


def _type_text(node: Any, heads: list[Any]) -> str:
    return dump(_named(node, heads))


def _named(node: Any, heads: list[Any]) -> Any:
    """The node without orders, its heads spelled out: equal for equal types in whichever prompt."""
    node = _without_order(node)
    if isinstance(node, dict):
        named = {key: _named(item, heads) for key, item in node.items()}
        return {key: item for key, item in named.items() if item is not None} or None
    if node is None:
        return None
    name, inner, arg = (*node, None, None)[:3]
    return [heads[name] if isinstance(name, int) else [name], _named(inner, heads), arg]


def _without_order(node: Any) -> Any:
    return node[1] if isinstance(node, list) and node and node[0] == "order" else node
