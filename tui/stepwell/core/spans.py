"""What the calls of one agent span: the steps of others that began while a call was under way."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from operator import gt

from stepwell.core.heads import Heads
from stepwell.core.times import Times

EMPTY, SPAN = ".", "="
_NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """A cell a step of the run, `=` where the agent has a call under way; and how far each of its steps spans."""

    line: bytes
    ends: "array[int]"
    farthest: "array[int]"
    """For each of its steps how far it or one before it spans."""


NO_SPANS = Spans(b"", array("i"), array("i"))


def spans(
    steps: Heads, times: Times, own: Sequence[int], *, running: bool, former: Spans = NO_SPANS, start: int = 0
) -> Spans:
    """Of the agent whose steps are `own`.

    A step spans to the last one that began before it had finished; in a run still `running`, one in doubt to
    the end. What is known of the steps before `start` from `former` is not worked out again.
    """
    kept, reached = bisect_left(own, start), len(former.line)
    ends = former.ends[:kept]
    first = bisect_left(former.farthest, min(start + 1, reached), 0, kept)
    for place in range(first, kept):
        if ends[place] >= reached:
            ends[place] = _ends(steps, times, own[place : place + 1], running)[0]
    ends.extend(_ends(steps, times, own[kept:], running))
    line = bytearray(former.line[:start].ljust(len(steps), EMPTY.encode()))
    for place in compress(range(first, len(own)), map(gt, ends[first:], map((1).__add__, own[first:]))):
        begin, end = max(own[place] + 1, start), ends[place]
        line[begin:end] = SPAN.encode() * (end - begin)
    farthest = former.farthest[:first]
    farthest.extend(accumulate(ends[first:], max, initial=farthest[-1] if farthest else 0))
    del farthest[first]  # the initial one
    return Spans(bytes(line), ends, farthest)


def _ends(steps: Heads, times: Times, own: Sequence[int], running: bool) -> "array[int]":
    """For each of these steps the index after the last one that it spans, at least the one after its own."""
    finished, began, size = steps.finished.values, times.values, len(steps)
    found = array("i", map((1).__add__, own))
    places: Iterable[int] = ()
    if finished is not None and len(began) == size:
        places = range(len(own))
        if times.by_row:  # then most span nothing, which is soon seen
            after = began[1:]
            after.append(_NEVER)
            places = compress(places, map(gt, map(finished.__getitem__, own), map(after.__getitem__, own)))
    for place in places:
        index = own[place]
        time = steps.finished[index]
        if time is not None:
            found[place] = max(index + 1, times.reach(time, index + 1))
    if running:
        for place in compress(range(len(own)), map(steps.in_doubt.__getitem__, own)):
            found[place] = size
    return found
