"""The short way for ordinary data: what `json.loads` makes, with nothing in it that jsonb would lose but key order.

A value is looked at a level of nesting at a time, by loops that run in C; its strings all at once, in the text that
comes out. Whatever is out of the ordinary is left to the encoder, whose texts these are to the last byte.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import copysign
from typing import Any, NamedTuple

from stepwell.core.codec.order import Keys, OrderBook
from stepwell.core.codec.text import clean, dump
from stepwell.core.codec.values import Encoded

_MAX_DEPTH = 100
_MAX_ITEMS = 1_000_000
"""What contains itself many times over would grow for ever."""
_LONG_INT = 10**4000
_SHORT_TEXT = 4000
"""No integer in so few characters is a long one."""
_ESCAPED_NUL = "\\u0000"

_PLAIN = frozenset((str, bool, type(None)))
_NUMBERS = frozenset((int, float))
_ORDINARY = _PLAIN | _NUMBERS | {dict, list}


def encode_ordinary(value: object) -> Encoded | None:
    """What the encoder makes of the value; None where it has to be asked."""
    text, shapes = _look(value, sort_keys=False)
    if text is None:
        return None
    orders = _orders(frozenset(shapes))
    return None if orders is None else Encoded(text, orders.exact, False)


def canonical_ordinary(value: object) -> str | None:
    """The canonical text of the value; None where the encoder has to be asked."""
    return _look(value, sort_keys=True)[0]


def both_ordinary(value: object) -> tuple[Encoded, str] | None:
    """What both of them say, with less work."""
    text, shapes = _look(value, sort_keys=False)
    orders = None if text is None else _orders(frozenset(shapes))
    if text is None or orders is None:
        return None
    if not orders.are_sorted:
        try:
            return Encoded(text, orders.exact, False), dump(value, sort_keys=True)
        except (RuntimeError, ValueError, TypeError):  # changed by another thread just now
            return None
    return Encoded(text, orders.exact, False), text


class _Orders(NamedTuple):
    """What the orders of a value's keys come to. `exact` says where jsonb has others; `are_sorted`: by their text."""

    exact: str | None
    are_sorted: bool


@lru_cache(maxsize=256)
def _orders(shapes: frozenset[Keys]) -> _Orders | None:
    """None where dicts with the same keys have them in different orders."""
    orders = OrderBook()
    if not all(orders.note(keys) is None for keys in shapes if keys):
        return None
    exact = dump({"v": 1, "o": orders.listed()}) if orders.rules else None
    return _Orders(exact, all(list(keys) == sorted(keys) for keys in shapes))


def _look(value: object, *, sort_keys: bool) -> tuple[str | None, set[Keys]]:
    """The text, None where something is unusual; and the distinct keys of dicts, each in their order."""
    shapes: set[Keys] = set()
    integers: list[Sequence[Any]] = []
    try:
        if not _walk(value, shapes, integers):
            return None, shapes
        text = dump(value, sort_keys=sort_keys)
    except (RuntimeError, ValueError, TypeError):  # changed by another thread just now; the encoder will see
        return None, shapes
    if len(text) > _SHORT_TEXT and not all(map(_are_short, integers)):
        return None, shapes
    return (None if _ESCAPED_NUL in text or not clean(text) else text), shapes


def _walk(value: object, shapes: set[Keys], integers: list[Sequence[Any]]) -> bool:
    """Whether the value is ordinary, but for the length of the whole numbers among the `integers`.

    Adds the keys of its dicts to `shapes`.
    """
    level: Sequence[Any] = (value,)
    total = 0
    for _ in range(_MAX_DEPTH):
        kinds = set(map(type, level))
        if kinds <= _PLAIN:
            return True
        total += len(level)
        if not kinds <= _ORDINARY or total > _MAX_ITEMS:
            return False
        if float in kinds:
            if not _are_usual(item for item in level if type(item) in _NUMBERS):
                return False
        elif int in kinds:
            integers.append(level)
        below: list[Any] = []
        if dict in kinds:
            dicts = level if len(kinds) == 1 else [item for item in level if type(item) is dict]
            if not set(map(type, chain.from_iterable(dicts))) <= {str}:
                return False
            shapes.update(map(tuple, dicts))
            below.extend(chain.from_iterable(map(dict.values, dicts)))
        if list in kinds:
            lists = level if len(kinds) == 1 else [item for item in level if type(item) is list]
            below.extend(chain.from_iterable(lists))
        if not below:
            return True
        level = below
    return False


def _are_short(level: Sequence[Any]) -> bool:
    return all(-_LONG_INT < item < _LONG_INT for item in level if type(item) is int)


def _are_usual(numbers: Iterable[int | float]) -> bool:
    """Whether jsonb keeps the numbers as they are."""
    for number in numbers:
        if type(number) is int:
            if not -_LONG_INT < number < _LONG_INT:
                return False
        elif not (
            -1e16 < number < 0.0 or 0.0 < number < 1e16 or (number == 0.0 and copysign(1.0, number) > 0)
        ):
            return False
    return True
