"""What the model saw of a tool's output: looked for in the next prompt of the same agent."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from stepwell.core.extent import longest
from stepwell.core.prompts import messages_of
from stepwell.core.renderings import ENOUGH, Rendering, plain_json, renderings, spellings

DECENT = 64
"""So many characters in common, or half of the output, show that this output stands there and not one like it."""
MOST = 0.8
"""The share of the words that stands there where the output was only written in another way."""
FEW = 0.4
"""The share of the words of a lost part that may follow by chance; where more do, nothing is said of a cut."""

_OWNERS = {"tool_use_id", "tool_call_id", "call_id"}
_WORD = re.compile(r"\w+")
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrt])")


class How(StrEnum):
    """How an output stands in a prompt."""

    WHOLE = "whole"
    CUT = "cut"
    """A part of it stands there, and the rest surely does not."""
    REWORDED = "other form"
    """Most of its words stand there, in no form that is known."""
    ABSENT = "not found"


@dataclass(frozen=True, slots=True)
class Sight:
    """Of an output the prompt `number` holds `seen` of `length` characters, in the form of which it holds most.

    Whitespace at the ends does not count. `seen` is 0 where no form of it was found.
    """

    number: int
    seen: int
    length: int
    rest: str
    """The beginning of what was not seen."""
    how: How

    @property
    def whole(self) -> bool:
        return self.how is How.WHOLE

    @property
    def cut(self) -> bool:
        return self.how is How.CUT

    @property
    def absent(self) -> bool:
        return self.how is How.ABSENT


class _Held(NamedTuple):
    seen: int
    length: int
    lost: str
    beside: str
    """Where a lost part would stand if it were written in another way."""

    @property
    def is_decent(self) -> bool:
        return self.seen >= min(DECENT, self.length / 2)


@dataclass(frozen=True, slots=True)
class _Said:
    """The texts of a prompt; those of one message, or of one tool's result in it, have the same owner."""

    texts: list[str]
    owners: list[int]

    def after(self, text: int, at: int, most: int) -> str:
        """What follows there in what the same owner said, at most about so many characters."""
        following = self.texts[text][at : at + most]
        for other in range(text + 1, len(self.texts)):
            if self.owners[other] != self.owners[text] or len(following) >= most:
                break
            following += "\n" + self.texts[other][:most]
        return following

    def of_owners(self) -> Iterator[list[str]]:
        start = 0
        for end in range(1, len(self.texts) + 1):
            if end == len(self.texts) or self.owners[end] != self.owners[start]:
                yield self.texts[start:end]
                start = end


def seen(output: object, number: int, prompt: object) -> Sight:
    """How much of a tool's `output` stands in `prompt`, the input of the model call `number`; both are JSON-like.

    It may have been written in several ways; the one of which most is seen counts. Neither a loss nor a cut is
    claimed where the output may stand there in a way that is not known. Raises RecursionError for what is nested
    too deeply to be written as JSON, ValueError for an integer too long for it.
    """
    if output in (None, [], {}) or (isinstance(output, str) and not output.strip()):
        return Sight(number, 0, 0, "", How.WHOLE)
    messages = messages_of(prompt) or [prompt]
    said = _said(messages)
    best = _best(output, said)
    if best is not None and not best.lost:
        return Sight(number, best.length, best.length, "", How.WHOLE)
    length = len(output.strip() if isinstance(output, str) else plain_json(output))
    if not isinstance(output, str) and _holds(messages, output):
        return Sight(number, length, length, "", How.WHOLE)
    if best is not None and best.is_decent and (how := _how(best)):
        return Sight(number, best.seen, best.length, best.lost[:200], how)
    words = Counter(word for text in _scalars(output) for word in _words(text))
    is_told = any(_share(words, texts) >= MOST for texts in said.of_owners())
    return Sight(number, 0, length, "", How.REWORDED if is_told else How.ABSENT)


def _how(held: _Held) -> How | None:
    """None where it may be a cut, or something else."""
    words = Counter(_words(held.lost))
    if not words and len(held.lost) < ENOUGH:
        return How.WHOLE  # a bracket, a full stop
    share = _share(words, [held.beside])
    if share >= MOST:
        return How.REWORDED
    return How.CUT if share <= FEW else None


def _best(output: object, said: _Said) -> _Held | None:
    best: _Held | None = None
    for rendering in renderings(output):
        held = _beginning(rendering, said)
        if held is None:
            continue
        if not held.lost:
            return held
        if best is None or (held.seen, -held.length) > (best.seen, -best.length):
            best = held
    if best is None and isinstance(output, str):
        return max(filter(None, (_end(text, said) for text in spellings(output.strip()))), default=None)
    return best


def _beginning(rendering: Rendering, said: _Said) -> _Held | None:
    """What stands there of a rendering from its beginning on, and after that of its end."""
    if not any(rendering.begin in text for text in said.texts):
        return None
    output = rendering.write()
    head = longest(output, said.texts)
    lost = output[head.length :]
    if not lost:
        return _Held(head.length, len(output), "", "")
    after = said.after(head.text, head.at + head.length, 3 * len(lost) + 1000)
    if len(lost) >= ENOUGH and (tail := longest(lost[::-1], [after[::-1]])).length:
        end = len(after) - tail.at
        lost, after = lost[: -tail.length], f"{after[: end - tail.length]} {after[end:]}"
        return _Held(head.length + tail.length, len(output), lost, after)
    return _Held(head.length, len(output), lost, after)


def _end(output: str, said: _Said) -> _Held | None:
    """The same of the end alone."""
    if not any(output[-DECENT:] in text for text in said.texts):
        return None
    tail = longest(output[::-1], [text[::-1] for text in said.texts])
    end = len(said.texts[tail.text]) - tail.at
    before = said.texts[tail.text][: end - tail.length]
    return _Held(tail.length, len(output), output[: len(output) - tail.length], before)


def _said(messages: Sequence[object]) -> _Said:
    said, owner = _Said([], []), 0

    def add(value: object) -> None:
        nonlocal owner
        if isinstance(value, dict):
            owner += not _OWNERS.isdisjoint(value)
            for item in value.values():
                add(item)
        elif isinstance(value, list):
            for item in value:
                add(item)
        elif value is not None:
            said.texts.append(_scalar(value))
            said.owners.append(owner)

    for message in messages:
        owner += 1
        add(message)
    return said


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else str(value).lower()


def _scalars(value: object) -> list[str]:
    """Those of a value without the names in it, which other ways to write it leave out."""
    return _said([value]).texts


def _holds(value: object, output: object) -> bool:
    """Whether the output stands there as it is, unwritten."""
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return value == output or any(_holds(item, output) for item in items)


def _words(text: str) -> list[str]:
    if "\\" in text:
        text = _ESCAPED.sub(_unescaped, text)
    return _WORD.findall(text.lower())


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else " "


def _share(words: Counter[str], texts: Sequence[str]) -> float:
    """How many of the words stand there, each as often; 0 also where so little is said that it cannot be many."""
    number = words.total()
    if not number or sum(map(len, texts)) < FEW * number:
        return 0.0
    there = Counter(word for text in texts for word in _words(text) if word in words)
    return sum(min(often, words[word]) for word, often in there.items()) / number
