"""The recorded output of a step with another value in its place, its types kept as far as the value allows."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, cast

from stepwell.core.codec import Opaque, Unavailable, encode, hold, parse
from stepwell.core.codec.scalars import MAKE
from stepwell.core.shown import shown, viewed
from stepwell.core.state import Path, path_text, same
from stepwell.core.steps import Payload
from stepwell.errors import EncodingError, UsageError


@dataclass(frozen=True)
class Edited:
    """An output as it is stored.

    `plain` tells by path which objects became plain data, and what each was.
    """

    output: str
    output_exact: str | None
    plain: tuple[tuple[str, str], ...] = ()


def read(text: str) -> object:
    """The value of JSON that somebody typed. Raises UsageError, one line with the line and the column."""
    try:
        return parse(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as problem:
        what = f"line {problem.lineno}, column {problem.colno}: {problem.msg}"
        hint = "; a text needs its quotes" if problem.pos == 0 and text.strip() else ""
        raise UsageError(f"this is no JSON: {what}{hint}") from None
    except EncodingError as problem:
        raise UsageError(f"this is no JSON that can be kept: {problem}") from None


def written(value: object) -> str:
    """A value for display as indented JSON, from which `read` gives it back."""
    return "".join(_written(value, "\n"))


def _written(value: object, margin: str) -> str:
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        items = (f"{_quoted(str(key))}: {_written(item, inner)}" for key, item in value.items())
        return f"{{{inner}{f',{inner}'.join(items)}{margin}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join(_written(item, inner) for item in value)}{margin}]"
    return str(value) if isinstance(value, Decimal) else _quoted(value)


def _quoted(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def output_of(payload: Payload) -> object:
    """What a step gave, for display; None for nothing."""
    return viewed(payload.output, payload.output_exact)


def edit(payload: Payload, value: object) -> Edited:
    """The output of a step with `value`, which is as for display, in place of what it gave.

    What `value` leaves alone stays as it is to the last bit, and an object of which only fields are other than they
    were stays one. Raises EncodingError for what cannot be kept.
    """
    if payload.output is None:
        encoded = encode(value)
        return Edited(encoded.plain, encoded.exact)
    exact = None if payload.output_exact is None else parse(payload.output_exact)
    try:
        held = hold(parse(payload.output), exact)
    except EncodingError:
        held = parse(payload.output)
    merge = _Merge()
    encoded = encode(merge.of(held, value, ()))
    return Edited(encoded.plain, encoded.exact, tuple(merge.plain))


class _Merge:
    def __init__(self) -> None:
        self.plain: list[tuple[str, str]] = []

    def of(self, held: object, value: object, path: Path) -> object:
        """`value` with the types of `held`."""
        if same(shown(held), value):
            return held
        if isinstance(held, Unavailable):
            return self._object(held, value, path)
        if isinstance(held, Opaque):
            self.plain.append((path_text(path), held.type))
        if isinstance(held, dict) and isinstance(value, dict):
            items = {str(key): item for key, item in held.items()}
            return {
                key: self.of(items[key], item, (*path, key)) if key in items else item
                for key, item in value.items()
            }
        if isinstance(held, list) and isinstance(value, list) and held:
            patterns = [*held, *[held[-1]] * (len(value) - len(held))]
            pairs = zip(patterns, value, strict=False)
            return [self.of(pattern, item, (*path, at)) for at, (pattern, item) in enumerate(pairs)]
        return _number(held, value)

    def _object(self, held: Unavailable, value: object, path: Path) -> object:
        head, arg = json.loads(held.tag)
        code, rest = head[0], head[1:]
        if (made := _scalar(code, rest, arg, value)) is not None:
            return made
        if code in _FITS and _FITS[code](held, value):
            return replace(held, fields=self.of(held.fields, value, path))
        self.plain.append((path_text(path), _name(code, rest)))
        return value


def _number(held: object, value: object) -> object:
    """A whole number that was typed for one with a fraction is one with a fraction."""
    return float(value) if isinstance(held, float) and type(value) is int and abs(value) < 2**53 else value


def _scalar(code: str, head: list[Any], arg: Any, value: object) -> object | None:
    """A value of the standard library's own types made from what was typed; None where that says no such one."""
    if code not in _TYPED or isinstance(value, dict | list | bool | None):
        return None
    try:
        return MAKE[code](value, head, None if code == "decimal" else arg, cast(Any, None))
    except (ArithmeticError, ValueError, TypeError, AttributeError, LookupError):
        return None


def _same_keys(held: Unavailable, value: object) -> bool:
    return isinstance(value, dict) and isinstance(held.fields, dict) and value.keys() == held.fields.keys()


def _is_list(_: Unavailable, value: object) -> bool:
    return isinstance(value, list)


_TYPED = ("decimal", "datetime", "time", "date", "uuid", "path")
_FITS: Mapping[str, Callable[[Unavailable, object], bool]] = {
    "model": _same_keys,
    "dataclass": _same_keys,
    "namedtuple": _same_keys,
    "t": _is_list,
    "deque": _is_list,
    "set": _is_list,
    "frozenset": _is_list,
    "defaultdict": lambda _, value: isinstance(value, dict),
    "subclass": lambda held, value: type(shown(held.fields)) is type(value),
}


def _name(code: str, head: list[Any]) -> str:
    return str(head[0]).replace(":", ".") if head else code
