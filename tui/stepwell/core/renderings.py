"""The texts that a tool's output may have been written as into a prompt, the usual ones first."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

ENOUGH = 24
"""So many characters in common are taken for a beginning of the output, and not for chance."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """One way to write a value: `begin` tells cheaply whether it is worth it to `write` all of it."""

    begin: str
    write: Callable[[], str]

    def changed(self, change: Callable[[str], str]) -> "Rendering":
        """The same with each character changed by itself."""
        return Rendering(change(self.begin)[:ENOUGH], lambda: change(self.write()))


def renderings(value: object) -> Iterator[Rendering]:
    """Those of a JSON-like value, without whitespace at the ends; then the same escaped inside other JSON or a repr."""
    tried = []
    for rendering in _plain(value):
        tried.append(rendering)
        yield rendering
    for rendering, escape in product(tried, _ESCAPES):
        yield rendering.changed(escape)


def spellings(text: str) -> Iterator[str]:
    """A text as it is, and escaped inside other JSON or a repr."""
    yield text
    for escape in _ESCAPES:
        yield escape(text)


def plain_json(value: object, *, ascii_only: bool = False, sort: bool = False) -> str:
    """The JSON of a value as most agents write it."""
    return json.dumps(value, ensure_ascii=ascii_only, sort_keys=sort, default=str)


def _plain(value: object) -> Iterator[Rendering]:
    if isinstance(value, str):
        text = value.strip()
        yield Rendering(text[:ENOUGH], lambda: text)
        if not text.startswith(("{", "[")):
            return
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
    usual = plain_json(value)
    yield Rendering(usual[:ENOUGH], lambda: usual)
    kinds = [False] if usual.isascii() else [False, True]
    orders = [False] if usual == plain_json(value, sort=True) else [False, True]
    for sort, is_ascii in product(orders, kinds):
        for encoder in _encoders(sort=sort, ascii_only=is_ascii):
            begin = _begin(encoder, value)
            yield Rendering(begin[:ENOUGH], partial(encoder.encode, value))
            if encoder.indent is not None:  # inside a value that is indented as well, it stands further in
                margin = "\n" + " " * int(encoder.indent)
                inside = partial(str.replace, begin, "\n", margin)
                yield Rendering(inside()[:ENOUGH], partial(_moved_in, encoder, value, margin))
    yield from map(_of_text, {str(value): None, str(_sorted(value)): None})


def _of_text(text: str) -> Rendering:
    return Rendering(text[:ENOUGH], lambda: text)


def _moved_in(encoder: json.JSONEncoder, value: object, margin: str) -> str:
    return encoder.encode(value).replace("\n", margin)


def _encoders(*, sort: bool, ascii_only: bool) -> Iterator[json.JSONEncoder]:
    make = partial(json.JSONEncoder, ensure_ascii=ascii_only, sort_keys=sort, default=str)
    yield make()
    yield make(separators=(",", ":"))
    for indent in (2, 4, 1):
        yield make(indent=indent)


def _begin(encoder: json.JSONEncoder, value: object) -> str:
    """At least `ENOUGH` characters, without writing much more."""
    begin = ""
    for piece in encoder.iterencode(value):
        begin += piece
        if len(begin) >= ENOUGH:
            break
    return begin


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _in_ascii_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _in_repr(text: str) -> str:
    """As the repr of a text that holds both kinds of quotes, or none."""
    return repr(text + "\"'")[1:-4]


def _in_double_quoted_repr(text: str) -> str:
    """As the repr of a text that holds single quotes only."""
    return _in_repr(text) if '"' in text else repr(text + "'")[1:-2]


_ESCAPES: tuple[Callable[[str], str], ...] = (_in_json, _in_ascii_json, _in_repr, _in_double_quoted_repr)
