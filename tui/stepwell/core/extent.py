"""How far a text goes that stands in others from its beginning on."""

from collections.abc import Sequence
from typing import NamedTuple

from stepwell.core.renderings import ENOUGH


class Extent(NamedTuple):
    """So many characters of it stand in text number `text`, from `at` on."""

    length: int
    text: int
    at: int


def longest(output: str, texts: Sequence[str]) -> Extent:
    """The longest beginning of `output` that stands in one of the texts; each place looked at is a better one."""
    best = Extent(0, 0, 0)
    for number, text in enumerate(texts):
        at = text.find(output[: max(ENOUGH, best.length + 1)])
        while at >= 0:
            best = Extent(_prefix(output, text, at), number, at)
            if best.length == len(output):
                return best
            at = text.find(output[: best.length + 1], at + 1)
    return best


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
