"""Between the stored JSON texts of a value and what is shown of it: the seam to the codec."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import NoReturn

from stepwell.core import codec
from stepwell.errors import EncodingError

LARGE = 500_000
"""Characters from which on a list is decoded an element at a time."""
LARGEST = 20_000_000
"""Characters up to which a value is taken apart: that of a longer one would hold up the keyboard."""
_DEEPEST = 100
_LONG_INTEGER = 600
_DECODER = json.JSONDecoder(strict=False)


def is_too_large(plain: str | None, exact: str | None) -> bool:
    """Whether a stored value is shown and copied as it is stored only."""
    return len(plain or "") + len(exact or "") > LARGEST


def value(plain: str, exact: str | None) -> object:
    """A stored value as it is shown: dicts, lists and scalars. Raises ValueError where a text is not JSON."""
    if exact is None:
        return loads(plain)
    try:
        return codec.view(codec.parse(plain), codec.parse(exact))
    except EncodingError as problem:
        raise ValueError(str(problem)) from problem


def json_text(plain: str, exact: str | None) -> str:
    """The JSON text to show for a stored value: the plain one where nothing was lost in storing it."""
    return plain if exact is None else dumps(value(plain, exact))


def elements(plain: str, exact: str) -> Iterator[str] | None:
    """The JSON texts of the elements of a large list of which only the order of keys was lost, one by one.

    None for any other value. Raises ValueError, at once and while iterating, where a text is not JSON.
    """
    if len(plain) < LARGE or plain[:1] != "[" or not plain[1:].lstrip().startswith(("{", "[")):
        return None
    lost = loads(exact)
    if not isinstance(lost, dict) or not lost.keys() <= {"v", "o"}:
        return None
    value("[]", exact)
    return _elements(plain, lost)


def _elements(plain: str, lost: object) -> Iterator[str]:
    position = 1
    while position < len(plain):
        element, end = _DECODER.raw_decode(plain, position)
        position = end
        while plain[position : position + 1] in (",", " ", "]") and position < len(plain):
            position += 1
        closing = "," if position < len(plain) else "]"
        yield dumps(codec.view(element, lost)) + closing


def loads(text: str) -> object:
    """A JSON text as a Python value. Raises ValueError."""
    try:
        return json.loads(text, parse_int=_integer, strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _integer(text: str) -> int:
    # Decimal is not subject to Python's limit on the digits of an integer.
    return int(text) if len(text) < _LONG_INTEGER else int(Decimal(text))


def dumps(value: object) -> str:
    """A value as JSON text on one line; what JSON does not know is shown by its `repr`. Never raises."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_refuse)
    except (TypeError, ValueError, RecursionError):
        return _write(value, _DEEPEST)


def _refuse(value: object) -> NoReturn:
    raise TypeError(type(value))


def _write(value: object, depth: int) -> str:
    if depth == 0:
        return '"…"'
    if isinstance(value, dict):
        pairs = [f"{_quote(str(key))}: {_write(item, depth - 1)}" for key, item in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([_write(item, depth - 1) for item in value]) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{Decimal(value):f}"
    if value is None or isinstance(value, bool | float | str):
        return json.dumps(value, ensure_ascii=False)
    return _quote(repr(value))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
