"""One walk over a value, yielding its plain form and the tree of what the plain form loses.

The walk returns None for whatever jsonb keeps, so ordinary data costs one look at each string and no copy. A
container is copied only once something in it has to change.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import copysign
from types import NoneType
from typing import Any, NoReturn

from stepwell.core.codec import classes, containers, scalars
from stepwell.core.codec.decoder import Decoder, keep
from stepwell.core.codec.foreign import said
from stepwell.core.codec.order import OrderBook
from stepwell.core.codec.parts import Head, Parts, Take
from stepwell.core.codec.references import reference, type_name
from stepwell.core.codec.text import clean, dump, mask, parse
from stepwell.core.codec.values import Encoded, Opaque, Redacted, StandIn, Unavailable
from stepwell.errors import EncodingError

MAX_DEPTH = 500
"""Levels of nesting that are kept. A tuple, a set or an object counts as two."""

Node = Any
"""What is said about one value: `{key: node}` on an untouched container's items, or `[head, node, arg]`."""

Result = tuple[object, Node] | None

_ATOMS: frozenset[type] = frozenset((bool, NoneType))
_ONLY_STR = {str}
_LONG_INT = 10**4000  # within the limit on the digits of an int that Python sets by default
_TAKE: dict[type, Take] = {**scalars.TAKE, **containers.TAKE}
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_DATABASE = re.compile(
    r"psycopg\.\w*(Connection|Cursor|Transaction|Pipeline|Copy)|psycopg_pool\.\w+\.\w*Pool|sqlalchemy\.engine\.\w+\.Engine"
)
"""Classes of what leads to a database, whose repr says where that is and what it is at."""


class Encoder:
    """Encodes one value. `canonical` leaves out key order, an object's address, and what a connection is at."""

    def __init__(self, canonical: bool = False, stack: list[object] | None = None) -> None:
        self.canonical = canonical
        self.opaque = False
        self._orders = OrderBook()
        self._notes: dict[tuple[str, ...], int | list[int] | None] = {(): None}
        self._heads: dict[Head, int] = {}
        self._stack: list[object] = [] if stack is None else stack
        self._walks: dict[type, Callable[[Any], Result]] = {
            **dict.fromkeys(_ATOMS, lambda _: None),
            str: _walk_str,
            int: _walk_int,
            float: _walk_float,
            list: self._walk_list,
            dict: self._walk_dict,
        }

    def encode(self, value: object) -> Encoded:
        """Both texts of the value. Raises EncodingError."""
        with self._refusals():
            plain, node = self._walk(value)
            exact: dict[str, object] = {"v": 1}
            if node is not None:
                exact["t"] = node
            if self._orders.rules:
                exact["o"] = self._orders.listed()
            if self._orders.others:
                exact["x"] = self._orders.others
            if self._heads:
                exact["h"] = list(self._heads)
            return Encoded(dump(plain), dump(exact) if len(exact) > 1 else None, self.opaque)

    def canonical_text(self, value: object) -> str:
        """The text of a canonical encoder. Raises EncodingError."""
        with self._refusals():
            plain, node = self._walk(value)
            text = dump(plain, sort_keys=True)
            return text if node is None else f"{text} {dump(node, sort_keys=True)}"

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except RecursionError:
            self._refuse_depth()
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            message = f"the value changed while it was being recorded ({error}); record a copy"
            raise EncodingError(message) from error

    def nested(self, value: object) -> list[str | None]:
        inner = Encoder(self.canonical, self._stack)
        if self.canonical:
            return [inner.canonical_text(value)]
        encoded = inner.encode(value)
        self.opaque |= encoded.opaque
        return [encoded.plain, encoded.exact]

    def names(self, names: Iterable[str]) -> tuple[str | None, ...]:
        ordered = sorted(names)
        return tuple(ordered) if all(map(clean, ordered)) else (None, *self.nested(ordered))

    def _walk(self, value: object) -> tuple[object, Node]:
        return self._walks.get(type(value), self._walk_other)(value) or (value, None)

    def _walk_list(self, value: list[Any]) -> Result:
        self._enter(value)
        plain: list[object] | None = None
        nodes: list[tuple[int, Node]] = []
        for index, item in enumerate(value):
            kind = type(item)
            if (kind is str and item.isascii() and "\0" not in item) or kind in _ATOMS:
                continue
            result = self._walks.get(kind, self._walk_other)(item)
            if result is not None:
                if result[0] is not item:
                    plain = list(value) if plain is None else plain
                    plain[index] = result[0]
                if result[1] is not None:
                    nodes.append((index, result[1]))
        self._stack.pop()
        if plain is None and not nodes:
            return None
        return value if plain is None else plain, _in_ranges(nodes)

    def _walk_dict(self, value: dict[Any, Any]) -> Result:
        keys = tuple(value)
        if keys and set(map(type, keys)) != _ONLY_STR:
            return self._walk_other(value)
        if keys not in self._notes:
            if not clean("".join(keys)):
                return self._walk_other(value)
            self._notes[keys] = None if self.canonical else self._orders.note(keys)
        self._enter(value)
        plain: dict[str, object] | None = None
        nodes: dict[str, Node] = {}
        for key, item in value.items():
            kind = type(item)
            if (kind is str and item.isascii() and "\0" not in item) or kind in _ATOMS:
                continue
            result = self._walks.get(kind, self._walk_other)(item)
            if result is not None:
                if result[0] is not item:
                    plain = dict(value) if plain is None else plain
                    plain[key] = result[0]
                if result[1] is not None:
                    nodes[key] = result[1]
        self._stack.pop()
        note = self._notes[keys]
        if note is not None:
            return value if plain is None else plain, ["order", nodes or None, note]
        if plain is None and not nodes:
            return None
        return value if plain is None else plain, nodes or None

    def _walk_other(self, value: object) -> Result:
        self._enter(value)
        parts = self.parts(value)
        self.opaque |= parts.opaque
        plain, inner = self._walk(parts.base)
        self._stack.pop()
        node = [self._head(parts.head)]
        if inner is not None or parts.arg is not None:
            node.append(inner)
        if parts.arg is not None:
            node.append(parts.arg)
        return plain, node

    def parts(self, value: Any) -> Parts:
        """How a value that JSON does not know is taken apart. Raises EncodingError."""
        kind: Any = type(value)
        try:
            if kind is Opaque or kind is Unavailable or kind is Redacted:
                return self._stand_in_parts(value)
            if kind is dict:
                return containers.take_keys(value, self)
            take = _TAKE.get(kind) or classes.take_for(kind)
            return take(value, self) if take else self._opaque_parts(value)
        except (EncodingError, RecursionError):
            raise
        except Exception:  # the object's own code may raise anything; what cannot be taken apart is opaque
            return self._opaque_parts(value)

    def _opaque_parts(self, value: object) -> Parts:
        return self._stand_in_parts(Opaque(type_name(reference(type(value))[0]), said(value, repr)))

    def _stand_in_parts(self, value: StandIn) -> Parts:
        if isinstance(value, Opaque):
            text = _told_apart_by(value) if self.canonical else value.repr
            return Parts(text, ("opaque", *self.names([value.type])), None, True)
        if isinstance(value, Redacted):
            return Parts(value.text, ("redacted",), None)
        head, arg = json.loads(value.tag)
        if self.canonical:
            head = [self.names(_held(part[1:])) if _is_encoded(part) else part for part in head]
            arg = self.nested(_held(arg)) if head[0] in classes.WITH_STATE and arg is not None else arg
        fields: Any = value.fields
        if self.canonical and head[0] in containers.UNORDERED:
            fields = containers.ordered(fields, self)
        return Parts(fields, _hashable(head), arg, True)

    def _head(self, head: Head) -> object:
        if len(head) == 1:
            return head[0]
        return head if self.canonical else self._heads.setdefault(head, len(self._heads))

    def _enter(self, value: object) -> None:
        self._stack.append(value)
        if len(self._stack) > MAX_DEPTH:
            self._refuse_depth()

    def _refuse_depth(self) -> NoReturn:
        within = len({id(item) for item in self._stack}) < len(self._stack)
        cause = "contains itself" if within else f"is nested too deeply (over {MAX_DEPTH} levels)"
        raise EncodingError(
            f"a value that {cause} cannot be recorded; record its parts or its repr"
        ) from None


def _told_apart_by(value: Opaque) -> str:
    """What counts of a repr."""
    return "" if _DATABASE.fullmatch(value.type) else _ADDRESS.sub("0x", value.repr)


def _is_encoded(names: Any) -> bool:
    """Whether these are names that are kept as a value is, for what some of them hold."""
    return isinstance(names, list) and len(names) == 3 and names[0] is None


def _held(texts: list[str | None]) -> Any:
    """What `nested` was given, its objects as stand-ins."""
    plain, exact = texts
    return Decoder(None if exact is None else parse(exact), keep).decode(parse(plain or "null"))


def _walk_str(value: str) -> Result:
    if clean(value):
        return None
    masked, way_back = mask(value)
    return masked, ["mask"] if way_back is None else ["mask", None, way_back]


def _walk_int(value: int) -> Result:
    return None if -_LONG_INT < value < _LONG_INT else (hex(value), ["hex"])


def _walk_float(value: float) -> Result:
    if -1e16 < value < 0.0 or 0.0 < value < 1e16:
        return None
    if value == 0.0:
        return None if copysign(1.0, value) > 0 else (0.0, ["-0"])
    if value - value == 0.0:  # finite; jsonb prints it without a fraction
        return value, ["f"]
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity", ["f"]


def _in_ranges(nodes: list[tuple[int, Node]]) -> dict[str, Node] | None:
    """The nodes of a list's items by index, runs of equal ones as `first-last`."""
    runs: list[tuple[int, int, Node]] = []
    for index, node in nodes:
        if runs and runs[-1][1] == index - 1 and runs[-1][2] == node:
            runs[-1] = (runs[-1][0], index, node)
        else:
            runs.append((index, index, node))
    return {str(first) if first == last else f"{first}-{last}": node for first, last, node in runs} or None


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
