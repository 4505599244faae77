"""What the model saw of a tool's output: looked for in the next prompt of the same agent."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from stepwell.core.prompts import messages_of

ENOUGH = 24
"""So many characters in common are taken for a beginning of the output, and not for chance."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Of an output `length` characters long the prompt `number` holds the first `seen`; all, some or none."""

    number: int
    seen: int
    length: int
    rest: str
    """The beginning of what was not seen."""

    @property
    def whole(self) -> bool:
        return self.seen >= self.length

    @property
    def cut(self) -> bool:
        return 0 < self.seen < self.length

    @property
    def absent(self) -> bool:
        return self.seen == 0 < self.length


def seen(output: object, number: int, prompt: object) -> Sight:
    """How much of a tool's `output` stands in `prompt`, the input of the model call `number`.

    An output that is no text may have been written as JSON in several ways; the one of which most is seen
    counts.
    """
    texts = [text for message in messages_of(prompt) or [prompt] for text in _texts(message)]
    best = Sight(number, -1, 0, "")
    for spelling in _spellings(output):
        longest = max((_common(spelling, text) for text in texts), default=0)
        sight = Sight(number, longest, len(spelling), spelling[longest : longest + 200])
        if sight.seen * max(1, best.length) > best.seen * max(1, sight.length):
            best = sight
    return best


def _spellings(output: object) -> Iterator[str]:
    if isinstance(output, str):
        yield output
        return
    yield json.dumps(output, ensure_ascii=False, default=str)
    yield json.dumps(output, default=str)
    yield json.dumps(output, ensure_ascii=False, separators=(",", ":"), default=str)
    yield str(output)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _common(output: str, text: str) -> int:
    """Length of the longest beginning of `output` that stands in `text`."""
    start = output[:ENOUGH]
    longest, at = 0, text.find(start) if start else -1
    while at >= 0:
        longest = max(longest, _prefix(output, text, at))
        at = text.find(start, at + 1) if longest < len(output) else -1
    return longest


def _prefix(output: str, text: str, at: int) -> int:
    """How far `output` and `text[at:]` agree, by bisection: comparing slices is quicker than characters."""
    low, high = 0, min(len(output), len(text) - at)
    while low < high:
        middle = (low + high + 1) // 2
        if output[low:middle] == text[at + low : at + middle]:
            low = middle
        else:
            high = middle - 1
    return low
