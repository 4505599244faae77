"""What a step gave, and whether a text that another one was given is from there and would be another now."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from stepwell.core.codec import dump
from stepwell.core.extent import longest
from stepwell.core.leaves import ASSISTANT, TOOL, Leaf, leaves
from stepwell.core.recorded import RecordedStep
from stepwell.core.renderings import ENOUGH, Rendering, renderings
from stepwell.core.restated import viewed
from stepwell.core.sight import DECENT
from stepwell.core.state import Path, same
from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL
from stepwell.core.world import MISSING

_TELLING = re.compile(r"(?=.*\d)[\w.-]{4,}|[\w.-]{8,}|\S.{10,}\S", re.DOTALL)
"""A short text that is not found by chance in a place where nothing else leads to it."""


class How(StrEnum):
    """What a step was given by another one."""

    RESULT = "result"
    REPLY = "reply"
    CALL = "call"
    """The reply asked for this tool call."""
    STATE = "state"


_CONTENTS = (("content",), ("text",), ("output",))
"""Under which names the result of a call stands in a prompt."""
_HOW = {LLM_CALL: How.REPLY, TOOL_CALL: How.RESULT, STATE_UPDATE: How.STATE}
_SAID_BY = {LLM_CALL: ASSISTANT, TOOL_CALL: TOOL}


@dataclass(frozen=True, slots=True)
class Place:
    """A text that is new in what a step was given."""

    leaf: Leaf
    copies: int
    """So many of it are."""
    steps: Sequence[RecordedStep]
    """Those that had ended by then, the newest last."""
    stale: frozenset[int]
    """Of which nobody knows any more what they give."""


class Part(NamedTuple):
    """A part that is another now; MISSING is for one that is gone, or of which nothing is known."""

    path: Path
    old: object
    new: object


class _Stands(NamedTuple):
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


class Source:
    """A step that gave `old` and would give `new`, MISSING where that is not known."""

    def __init__(self, step: RecordedStep, old: object, new: object, call: str | None = None) -> None:
        """`call`: the id of the call that it is the result of."""
        self.step, self.old, self.new = step, old, new
        self.number = step.number
        self.how = _HOW.get(step.type, How.RESULT)
        self._call = call
        self._earlier: dict[Path, bool] = {}

    @cached_property
    def _parts(self) -> list["_Written"]:
        found = [*changed_parts(self.old, self.new), *_joined(self.old, self.new)]
        return [_Written(part) for part in found]

    @cached_property
    def _spot(self) -> Path:
        """The innermost part that holds all that is other."""
        paths = [
            part.path for part in changed_parts(self.old, self.new) if not isinstance(part.old, dict | list)
        ]
        if self.new is MISSING or not paths:
            return ()
        first, last = min(paths, key=_order), max(paths, key=_order)
        return next(
            (first[:at] for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]),
            first,
        )

    def in_leaf(self, place: Place) -> Path | None:
        """Which part of the old stands in a text of another step's input, and would not if it were the new."""
        leaf = place.leaf
        is_own = self._call is not None and leaf.owner == self._call
        if self._call is not None and leaf.owner is not None and not is_own:
            return None
        said = is_own or leaf.role == _SAID_BY.get(self.step.type)
        for written in self._parts:
            stands = written.stands(leaf.text, said)
            if stands is None or not self._is_from_here(written, stands, place, said):
                continue
            if not stands.would_stand(written.new):
                return self._spot if self._spot[: len(written.path)] == written.path else written.path
            if not written.path:
                return None
        return () if is_own and leaf.path[-1:] in _CONTENTS and self._is_told(leaf.text) else None

    def _is_from_here(self, written: "_Written", stands: _Stands, place: Place, said: bool) -> bool:
        newer = [step for step in reversed(place.steps) if step.number > self.number]
        if written.path and not said:
            if self._stood_before(written, stands.writing, place):
                return False
            if len(stands.writing) < ENOUGH:
                spelled = _spellings(stands.writing)
                return not any(
                    step.number not in place.stale and _holds(_gave(step), spelled) for step in newer
                )
        as_much = (
            step for step in newer if step.type == self.step.type and _as_much(step, stands, place.leaf.text)
        )
        return sum(1 for _, _ in zip(as_much, range(place.copies), strict=False)) < place.copies

    def _stood_before(self, written: "_Written", text: str, place: Place) -> bool:
        """Whether a part is known from an earlier step, which it may be from as well."""
        if written.path not in self._earlier:
            spelled = _spellings(text)
            self._earlier[written.path] = any(
                _holds(_got(step), spelled) or _holds(_gave(step), spelled)
                for step in place.steps
                if step.number < self.number
            )
        return self._earlier[written.path]

    def _is_told(self, text: str) -> bool:
        """Whether the result of this very call, in other words, may have what is other in it."""
        if not isinstance(self.old, dict | list):
            return True
        changed = {part.path for part in changed_parts(self.old, self.new)}
        kept = (leaf.text for leaf in leaves(self.old) if leaf.path not in changed and len(leaf.text) > 3)
        return not any(text_of in text for text_of in kept)


class _Written:
    """A part in all the ways in which it may have been written."""

    def __init__(self, part: Part) -> None:
        self.path, self._old, self._new = part

    @cached_property
    def _renderings(self) -> list[Rendering]:
        if isinstance(self._old, bool | None) or self._old in ("", MISSING):
            return []
        return list(renderings(self._old))

    @cached_property
    def new(self) -> list[str]:
        return [] if self._new is MISSING else [rendering.write() for rendering in renderings(self._new)]

    def stands(self, text: str, said: bool) -> _Stands | None:
        """How much of it stands in a text; `said`: one that is where such a part is put."""
        for rendering in self._renderings:
            if rendering.begin in text and (found := _found(rendering.write(), text, said)) is not None:
                return found
        if isinstance(self._old, str) and len(self._old) > DECENT and self._old.strip()[-DECENT:] in text:
            output = self._old.strip()
            return _Stands(output, 0, longest(output[::-1], [text[::-1]]).length)
        return None


def changed_parts(old: object, new: object, path: Path = ()) -> Iterator[Part]:
    """The parts of the old that are other in the new, the whole first."""
    if new is not MISSING and same(old, new):
        return
    yield Part(path, old, new)
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


def _joined(old: object, new: object) -> Iterator[Part]:
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


def _found(writing: str, text: str, said: bool) -> _Stands | None:
    if len(writing) < ENOUGH:
        whole = (said and text.strip() == writing) or (
            _TELLING.fullmatch(writing) and _is_word(writing, text)
        )
        return _Stands(writing, len(writing), 0) if whole else None
    head = longest(writing, [text])
    if head.length < min(DECENT, len(writing) / 2):
        return None
    lost, after = writing[head.length :], text[head.at + head.length :]
    tail = longest(lost[::-1], [after[::-1]]).length if len(lost) >= ENOUGH else 0
    return _Stands(writing, head.length, tail)


def _is_word(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _as_much(step: RecordedStep, stands: _Stands, text: str) -> bool:
    """Whether what another step gave stands in the text at least as far."""
    output = viewed(step.payload.output, step.payload.output_exact)
    if output is None or step.payload.output is None:
        return False
    found = (_found(each.write(), text, said=True) for each in renderings(output) if each.begin in text)
    return any(other is not None and other.length >= stands.length for other in found)


def _got(step: RecordedStep) -> str:
    payload = step.payload
    return (payload.chain[0].plain if payload.chain else payload.input) or ""


def _gave(step: RecordedStep) -> str:
    return step.payload.output or ""


def _spellings(text: str) -> tuple[str, ...]:
    """A text as it is, and inside of JSON once and twice."""
    once = dump(text)[1:-1]
    return tuple({text: None, once: None, dump(once)[1:-1]: None})


def _holds(text: str, spelled: Sequence[str]) -> bool:
    return any(each in text and _is_word(each, text) for each in spelled)


def _order(path: Path) -> tuple[tuple[bool, object], ...]:
    return tuple((isinstance(part, str), part) for part in path)
