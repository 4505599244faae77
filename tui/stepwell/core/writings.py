"""The parts of a value in all the ways in which they may have been written into a text, and how much stands there."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from stepwell.core.codec import parse
from stepwell.core.extent import longest
from stepwell.core.leaves import leaves
from stepwell.core.renderings import ENOUGH, Rendering, plain_json, renderings, spellings
from stepwell.core.sight import DECENT
from stepwell.core.state import Path, same
from stepwell.core.world import MISSING
from stepwell.errors import EncodingError

_COMMON = r"(?!(?:19|20)\d\d$|\d+00$)"
_TELLING = re.compile(rf"{_COMMON}(?![a-z]+$)(?:(?=.*\d)[\w.-]{{4,}}|[\w.-]{{8,}}|\S.{{10,}}\S)", re.DOTALL)
"""A short text that is not found by chance in a place where nothing else leads to it: no year, round number or word."""
_TELLING_ALONE = re.compile(rf"{_COMMON}(?:(?=.*\d)[\w.-]{{4,}}|[\w.-]{{8,}}|\S.{{10,}}\S)", re.DOTALL)
"""The same of one that is all that stands there: a long word is, too."""
_TOKEN = re.compile(r"[\w.-]+")
_DIGIT = re.compile(r"\d")
_OPENED = 20_000
"""Characters of a text up to which it is looked at as JSON, too; in a longer one just for numbers and names."""
_WORD = re.compile(r"[A-Za-z0-9]+")
_ESCAPE = re.compile(r"\\+[nrt]")
_KEY = 8
"""Characters of a word by which it is looked up."""


class Part(NamedTuple):
    """A part that is another now; MISSING is for one that is gone, or of which nothing is known."""

    path: Path
    old: object
    new: object


class Stands(NamedTuple):
    """So many characters of a writing from its beginning on, and so many of its end."""

    writing: str
    head: int
    tail: int

    @property
    def length(self) -> int:
        return self.head + self.tail

    @property
    def is_whole(self) -> bool:
        return self.head == len(self.writing)

    def would_stand(self, writings: Sequence[str]) -> bool:
        """Whether one of these would look the same there."""
        if self.is_whole:
            return self.writing in writings
        begin, end = self.writing[: self.head], self.writing[len(self.writing) - self.tail :]
        return any(text.startswith(begin) and text.endswith(end) for text in writings)


class Written:
    """A part in all the ways in which it may have been written."""

    def __init__(self, part: Part) -> None:
        self.path, self._old, self._new = part

    @cached_property
    def keys(self) -> frozenset[str] | None:
        """Of these `keys_of` a text has one wherever this part stands in it; None where nothing is said of that."""
        return frozenset() if isinstance(self._old, bool | None) or self._old == "" else _keys(self._old)

    @cached_property
    def _renderings(self) -> list[Rendering]:
        return list(self._ways(self._old))

    @cached_property
    def new(self) -> list[str]:
        return [rendering.write() for rendering in self._ways(self._new)]

    def _ways(self, value: object) -> Iterator[Rendering]:
        """The whole may be written in any way, a part of it in the usual ones."""
        if isinstance(value, bool | None) or value in ("", MISSING):
            return
        if not self.path and isinstance(value, str | dict | list):
            yield from renderings(value)
            return
        texts = [value.strip()] if isinstance(value, str) else [str(value)]
        if isinstance(value, int | float) and abs(value) < 2**53 and value == int(value):
            texts += [str(int(value)), f"{value:.1f}"]
        if isinstance(value, dict | list):
            texts += [
                plain_json(value),
                json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str),
            ]
        for spelled in dict.fromkeys(chain(*map(spellings, texts), map(_twice, texts))):
            yield Rendering(spelled[:ENOUGH], partial(str, spelled))

    def stands(self, text: str, said: bool) -> Stands | None:
        """How much of it stands in a text; `said`: one that is where such a part is put."""
        if self.keys is not None and not any(key in text for key in self.keys):
            return None
        for rendering in self._renderings:
            if rendering.begin in text and (found := stretch(rendering.write(), text, said)) is not None:
                return found
        if isinstance(self._old, str) and len(self._old) > DECENT and self._old.strip()[-DECENT:] in text:
            output = self._old.strip()
            return Stands(output, 0, longest(output[::-1], [text[::-1]]).length)
        return None


def keys_of(text: str) -> set[str]:
    """What the words of a text begin with."""
    return {word[:_KEY] for word in _WORD.findall(_ESCAPE.sub(" ", text))}


def _twice(text: str) -> str:
    """Inside of JSON inside of JSON."""
    return json.dumps(json.dumps(text, ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1]


def opened(value: object) -> object:
    """A value, of a text that is the JSON of a list or an object that one."""
    if not isinstance(value, str) or len(value) > _OPENED or value.strip()[:1] not in ("{", "["):
        return value
    try:
        return parse(value)
    except (ValueError, EncodingError):
        return value


def tokens(text: str) -> Iterator[str]:
    """The numbers and names in a text that are not found elsewhere by chance, each once."""
    words = dict.fromkeys(
        word.strip(".-") for word in dict.fromkeys(_TOKEN.findall(text)) if _DIGIT.search(word)
    )
    return filter(_TELLING.fullmatch, words)


def _keys(value: object) -> frozenset[str] | None:
    found: set[str] = set()
    starts = list(_starts(value))
    if isinstance(value, str):
        if value.strip()[:1] in ("{", "["):
            return None  # it may have been read, and written in another way
        if len(value) > DECENT:
            starts.append(value.strip()[-DECENT:].partition(" ")[2])
    for start in starts:
        word = None if isinstance(start, bool | None) else _WORD.search(str(start).strip())
        if word is None or word.start() + _KEY > ENOUGH:
            return None
        found.add(word[0][:_KEY])
    return frozenset(found) or None


def _starts(value: object) -> Iterator[object]:
    """With which of its parts the JSON of a value may begin."""
    if isinstance(value, dict) and value:
        yield from {next(iter(value)): None, min(value): None}
    elif isinstance(value, list) and value:
        yield from _starts(value[0])
    else:
        yield value


def changed_parts(old: object, new: object, path: Path = ()) -> Iterator[Part]:
    """The parts of the old that are other in the new, the whole first."""
    if new is not MISSING and same(old, new):
        return
    yield Part(path, old, new)
    if isinstance(old, str):
        old, new = opened(old), opened(new)
        if isinstance(old, str) or (new is not MISSING and same(old, new)):
            return
    if isinstance(old, dict):
        for key, item in old.items():
            yield from changed_parts(
                item, new.get(key, MISSING) if isinstance(new, dict) else MISSING, (*path, str(key))
            )
    elif isinstance(old, list):
        for at, item in enumerate(old):
            yield from changed_parts(
                item, new[at] if isinstance(new, list) and at < len(new) else MISSING, (*path, at)
            )


def joined(old: object, new: object) -> Iterator[Part]:
    """The texts that the chunks of a stream come to."""
    before, after = _texts_of_chunks(old), _texts_of_chunks(new)
    for path, text in before.items():
        if text != after.get(path):
            yield Part(path, text, after.get(path, MISSING))


def _texts_of_chunks(value: object) -> dict[Path, str]:
    chunks = value.get("chunks") if isinstance(value, dict) else None
    texts: dict[Path, str] = {}
    for leaf in leaves(chunks) if isinstance(chunks, list) else ():
        path = ("chunks", *(part for part in leaf.path if isinstance(part, str)))
        texts[path] = texts.get(path, "") + leaf.text
    return texts


def stretch(writing: str, text: str, said: bool) -> Stands | None:
    if len(writing) < ENOUGH:
        if text.strip() == writing:
            whole = said or bool(_TELLING_ALONE.fullmatch(writing))
        else:
            whole = bool(_TELLING.fullmatch(writing)) and is_word(writing, text)
        return Stands(writing, len(writing), 0) if whole else None
    head = longest(writing, [text])
    if head.length < min(DECENT, len(writing) / 2):
        return None
    lost, after = writing[head.length :], text[head.at + head.length :]
    tail = longest(lost[::-1], [after[::-1]]).length if len(lost) >= ENOUGH else 0
    return Stands(writing, head.length, tail)


def is_word(word: str, text: str) -> bool:
    at = text.find(word)
    while at >= 0 and not is_alone(text, at, at + len(word)):
        at = text.find(word, at + 1)
    return at >= 0


def is_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit stands right before or after a part of a text, nor more of the same number."""
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    return not (
        before[-1:].isalnum()
        or after[:1].isalnum()
        or (before[-1:] == "." and before[:1].isdigit() and text[start : start + 1].isdigit())
        or (after[:1] == "." and after[1:].isdigit() and text[end - 1 : end].isdigit())
    )
