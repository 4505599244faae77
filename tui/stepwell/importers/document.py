"""A file as JSON values that know where they stand in it, or one clear line about what is wrong with it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import NoReturn

from stepwell.core.state import path_text
from stepwell.errors import InvalidFileError

_EXACT_DIGITS = 15
"""A decimal of so many digits survives the way through a double."""
_DEEPEST = 200
"""Levels of nesting that every later reader of the value can follow."""


def printable(text: str) -> str:
    """`text` on one line, with what a terminal would obey or cannot show written as escapes."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere in a file: the line of a JSONL file, and the path from the top of the JSON value."""

    file: str
    line: int | None = None
    path: tuple[str | int, ...] = ()

    def __truediv__(self, key: str | int) -> "Place":
        return replace(self, path=(*self.path, key))

    def error(self, why: str) -> InvalidFileError:
        line = "" if self.line is None else f"line {self.line}, "
        return InvalidFileError(printable(f"{self.file}: {line}{path_text(self.path)}: {why}"))


@dataclass(frozen=True, slots=True)
class Item:
    """A JSON value and its place."""

    value: object
    place: Place

    def __truediv__(self, key: str | int) -> "Item":
        """The child under `key`, None where there is none."""
        child: object = None
        if isinstance(self.value, dict) and isinstance(key, str):
            child = self.value.get(key)
        elif isinstance(self.value, list) and isinstance(key, int) and key < len(self.value):
            child = self.value[key]
        return Item(child, self.place / key)

    def objects(self) -> "list[Item]":
        """The children of a list of objects. Raises InvalidFileError for anything else."""
        if not isinstance(self.value, list):
            raise self.place.error(f"a list is expected here, not {kind(self.value)}")
        found = [Item(child, self.place / index) for index, child in enumerate(self.value)]
        for child in found:
            if not isinstance(child.value, dict):
                raise child.place.error(f"an object is expected here, not {kind(child.value)}")
        return found

    def get(self, key: str) -> object:
        return self.value.get(key) if isinstance(self.value, dict) else None


def kind(value: object) -> str:
    """What a JSON value is, in the words of JSON."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names: tuple[tuple[type, str], ...] = ((dict, "an object"), (list, "a list"), (str, "a string"))
    return next((name for type_, name in names if isinstance(value, type_)), "a number")


class Document:
    """The bytes of one file; what they hold is found out when it is asked for."""

    def __init__(self, data: bytes, file_name: str) -> None:
        self.data = data
        self.file_name = file_name

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The value of a JSON file, or the values of the lines of a JSONL file. Raises InvalidFileError."""
        text = self._text()
        if not text.strip():
            self._fail("the file is empty")
        try:
            return (self._item(text, None),)
        except json.JSONDecodeError as problem:
            lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
            if len(lines) > 1 and _complete(lines[0][1]):
                return tuple(self._line(number, line) for number, line in lines)
            self._fail(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}")

    @property
    def is_lines(self) -> bool:
        return self.items[0].place.line is not None

    def _line(self, number: int, line: str) -> Item:
        try:
            return self._item(line, number)
        except json.JSONDecodeError as problem:
            self._fail(f"line {number}, column {problem.colno}: not JSON: {problem.msg}")

    def _item(self, text: str, line: int | None) -> Item:
        place = Place(self.file_name, line)
        try:
            value = parse(text)
        except json.JSONDecodeError:
            raise
        except RecursionError:
            raise place.error("nested too deeply to be a recording") from None
        except ValueError as problem:
            raise place.error(f"not a number that can be read: {str(problem).split(';')[0]}") from None
        _check(value, place)
        return Item(value, place)

    def _text(self) -> str:
        data = self.data
        if data.startswith(b"\x1f\x8b"):
            self._fail("compressed with gzip; unpack it first: gunzip FILE")
        if data.startswith(b"PK\x03\x04"):
            self._fail("a ZIP archive; unpack it first: unzip FILE")
        if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:4]:
            self._fail("not UTF-8 but UTF-16 or UTF-32; convert it first: iconv -f UTF-16 -t UTF-8 FILE")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            line = data.count(b"\n", 0, problem.start) + 1
            self._fail(f"line {line}: not UTF-8 text (byte {problem.start}: {data[problem.start]:#04x})")

    def _fail(self, why: str) -> NoReturn:
        raise InvalidFileError(printable(f"{self.file_name}: {why}"))


class _Duplicate:
    """Stands where an object was that has the same key twice."""

    def __init__(self, key: str) -> None:
        self.key = key


def parse(text: str) -> object:
    """JSON text as values, decimals that no double holds as Decimal. Raises ValueError, RecursionError."""
    value: object = json.loads(text, object_pairs_hook=_object, parse_float=_number)
    return value


def parse_object(text: str) -> dict[str, object] | None:
    """The JSON object that `text` is, or None for any other text."""
    try:
        value = parse(text)
        _check(value, Place(""))
    except (ValueError, RecursionError, InvalidFileError):
        return None
    return value if isinstance(value, dict) else None


def _object(pairs: list[tuple[str, object]]) -> object:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return _Duplicate(key)


def _number(text: str) -> float | Decimal:
    number = float(text)
    if len(text) <= _EXACT_DIGITS and "e" not in text.lower():
        return number
    exact = Decimal(text)
    return number if Decimal(repr(number)) == exact else exact


def _check(value: object, place: Place) -> None:
    """Raises InvalidFileError, with the path, for a key that is twice in one object and for abysses."""
    level: list[Item] = [Item(value, place)]
    for _ in range(_DEEPEST):
        level = [child for item in level for child in _containers(item)]
        if not level:
            return
    raise InvalidFileError(printable(f"{place.file}: nested more than {_DEEPEST} levels deep"))


def _containers(item: Item) -> Iterable[Item]:
    if isinstance(item.value, _Duplicate):
        raise item.place.error(f"the key {json.dumps(item.value.key)} is there twice")
    pairs: Iterable[tuple[str | int, object]] = ()
    if isinstance(item.value, dict):
        pairs = item.value.items()
    elif isinstance(item.value, list):
        pairs = enumerate(item.value)
    for key, child in pairs:
        if isinstance(child, dict | list | _Duplicate):
            yield Item(child, item.place / key)


def _complete(line: str) -> bool:
    """Whether a line is a JSON value by itself: then the file is JSONL."""
    try:
        parse(line)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        pass
    return True
