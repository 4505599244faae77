"""JSON laid out for people and for `diff`: keys in their order, short things on one line, texts line by line.

A text of several lines is written as `{"$lines": [its lines]}`, and an object that looks like that with one more `$`.
"""

import json
import re
import textwrap
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

WIDTH = 110
"""Columns that an object or a list on one line may fill."""
LINES = "$lines"
_LOOKS_LIKE_LINES = re.compile(r"\$+lines")
_quote = json.JSONEncoder(ensure_ascii=False).encode


def lay_out(value: object) -> str:
    """The JSON text of a JSON-like value, in which numbers may be Decimal; `parse(…, fold)` reads it."""
    return "".join(_pieces(value, "")) + "\n"


def one_line(value: object) -> str:
    """The JSON text of a JSON-like value as it is, in which numbers may be Decimal."""
    match value:
        case dict():
            return f"{{{','.join(f'{_atom(key)}:{one_line(item)}' for key, item in value.items())}}}"
        case list():
            return f"[{','.join(map(one_line, value))}]"
        case _:
            return _atom(value)


def fold(read: dict[str, Any]) -> Any:
    """What an object of such a text stands for."""
    if len(read) != 1:
        return read
    ((key, value),) = read.items()
    if key == LINES and isinstance(value, list):
        return "\n".join(value)
    return {key[1:]: value} if _LOOKS_LIKE_LINES.fullmatch(key) else read


def _pieces(value: object, indent: str) -> Iterator[str]:
    value = _unfolded(value)
    if (short := _on_one_line(value, WIDTH - len(indent))) is not None:
        yield short
        return
    if not isinstance(value, dict | list):
        yield _atom(value)
        return
    if isinstance(value, dict) and _is_text(value):
        lines = ",".join(f"\n{indent}  {_atom(line)}" for line in value[LINES])
        yield f'{{"{LINES}": [{lines}\n{indent}]}}'
        return
    if isinstance(value, list) and all(isinstance(item, int | float | Decimal) for item in value):
        numbers = "".join(f"\n{indent}  {line}" for line in _filled(value, WIDTH - len(indent)))
        yield f"[{numbers}\n{indent}]"
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield opening
    separator = "\n"
    for item in value:
        yield f"{separator}{indent}  "
        if isinstance(value, dict):
            yield f"{_atom(item)}: "
        yield from _pieces(value[item] if isinstance(value, dict) else item, f"{indent}  ")
        separator = ",\n"
    yield f"\n{indent}{closing}"


def _filled(numbers: list[Any], width: int) -> list[str]:
    text = ", ".join(map(_atom, numbers))
    return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)


def _on_one_line(value: object, most: int) -> str | None:
    """The text of the value, None if it has more than `most` characters, or texts of several lines."""
    if not isinstance(value, dict | list):
        if isinstance(value, str) and len(value) > most:
            return None
        atom = _atom(value)
        return atom if len(atom) <= most else None
    if isinstance(value, dict) and _is_text(value):
        return None
    parts: list[str] = []
    left = most
    for item in value:
        key = f"{_atom(item)}: " if isinstance(value, dict) else ""
        inner = _unfolded(value[item] if isinstance(value, dict) else item)
        text = _on_one_line(inner, left - len(key) - 2)
        if text is None:
            return None
        parts.append(key + text)
        left -= len(key) + len(text) + 2
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{', '.join(parts)}{closing}"


def _is_text(value: dict[str, Any]) -> bool:
    return len(value) == 1 and LINES in value


def _unfolded(value: object) -> object:
    """A text of several lines as an object, and what could be taken for that as another."""
    if isinstance(value, str) and "\n" in value:
        return {LINES: value.split("\n")}
    if isinstance(value, dict) and len(value) == 1 and _LOOKS_LIKE_LINES.fullmatch(next(iter(value))):
        return {f"${key}": item for key, item in value.items()}
    return value


def _atom(value: object) -> str:
    match value:
        case str():
            return printable(_quote(value))
        case bool() | None:
            return json.dumps(value)
        case int():
            return str(Decimal(value))  # str(int) refuses more than 4,300 digits
        case _:
            return str(value) if isinstance(value, Decimal) else repr(value)


def printable(text: str) -> str:
    """The text on one line, in which what a terminal would obey or not show is JSON's escape."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]
