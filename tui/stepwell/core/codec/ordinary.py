"""The short way for ordinary data: what `json.loads` makes, with nothing in it that jsonb would lose but key order.

A value is looked at a level of nesting at a time, by loops that run in C; its strings all at once, in the text that
comes out. Whatever is out of the ordinary is left to the encoder, whose texts these are to the last byte.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import copysign
from typing import Any

from stepwell.core.codec.order import Keys, OrderBook
from stepwell.core.codec.text import clean, dump
from stepwell.core.codec.values import Encoded

_MAX_DEPTH = 100
_MAX_ITEMS = 1_000_000
"""What contains itself many times over would grow for ever."""
_LONG_INT = 10**4000
_ESCAPED_NUL = "\\u0000"

_PLAIN = frozenset((str, bool, type(None)))
_NUMBERS = frozenset((int, float))
_ORDINARY = _PLAIN | _NUMBERS | {dict, list}


def encode_ordinary(value: object) -> Encoded | None:
    """What the encoder makes of the value; None where it has to be asked."""
    text, shapes = _look(value, sort_keys=False)
    if text is None:
        return None
    orders = OrderBook()
    if not all(orders.note(keys) is None for keys in shapes if keys):
        return None
    return Encoded(text, _exact(tuple(orders.listed())) if orders.rules else None, False)


@lru_cache(maxsize=256)
def _exact(rules: tuple[Keys, ...]) -> str:
    return dump({"v": 1, "o": rules})


def canonical_ordinary(value: object) -> str | None:
    """The canonical text of the value; None where the encoder has to be asked."""
    return _look(value, sort_keys=True)[0]


def _look(value: object, *, sort_keys: bool) -> tuple[str | None, set[Keys]]:
    """The text, None where something is unusual; and the distinct keys of dicts, each in their order."""
    try:
        shapes = _shapes(value)
        text = None if shapes is None else dump(value, sort_keys=sort_keys)
    except (RuntimeError, ValueError, TypeError):  # changed by another thread just now; the encoder will see
        return None, set()
    if shapes is None or text is None or _ESCAPED_NUL in text or not clean(text):
        return None, set()
    return text, shapes


def _shapes(value: object) -> set[Keys] | None:
    """The keys of the dicts in the value; None where a type, a key or a number is unusual."""
    shapes: set[Keys] = set()
    level: Sequence[Any] = (value,)
    total = 0
    for _ in range(_MAX_DEPTH):
        kinds = set(map(type, level))
        if kinds <= _PLAIN:
            return shapes
        total += len(level)
        if not kinds <= _ORDINARY or total > _MAX_ITEMS:
            return None
        if not kinds.isdisjoint(_NUMBERS):
            numbers = [item for item in level if type(item) in _NUMBERS]
            if not (_are_usual if float in kinds else _are_short)(numbers):
                return None
        below: list[Any] = []
        if dict in kinds:
            dicts = level if len(kinds) == 1 else [item for item in level if type(item) is dict]
            if not set(map(type, chain.from_iterable(dicts))) <= {str}:
                return None
            shapes.update(map(tuple, dicts))
            below.extend(chain.from_iterable(map(dict.values, dicts)))
        if list in kinds:
            lists = level if len(kinds) == 1 else [item for item in level if type(item) is list]
            below.extend(chain.from_iterable(lists))
        level = below
    return None


def _are_short(numbers: Sequence[int]) -> bool:
    return min(numbers) > -_LONG_INT and max(numbers) < _LONG_INT


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
