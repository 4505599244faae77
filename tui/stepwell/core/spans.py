"""What the calls of one agent span: the steps of others that began while a call was under way."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from stepwell.core.heads import Heads
from stepwell.core.times import Times

EMPTY, SPAN = ".", "="


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """A cell a step of the run, `=` where the agent has a call under way; and how far each of its steps spans."""

    line: bytes
    ends: "array[int]"


def spans(
    steps: Heads,
    times: Times,
    own: Sequence[int],
    *,
    running: bool,
    former: Spans | None = None,
    start: int = 0,
) -> Spans:
    """Of the agent whose steps are `own`.

    A step spans to the last one that began before it had finished; in a run still `running`, one in doubt to
    the end. What is known of the steps before `start` from `former` is not worked out again.
    """
    ends, kept = array("q"), 0
    if former is not None:
        kept, reached = bisect_left(own, start), len(former.line)
        ends = former.ends[:kept]
        for place in compress(range(kept), map(reached.__le__, ends)):
            ends[place] = next(_ends(steps, times, own[place : place + 1], running))
    ends.extend(_ends(steps, times, own[kept:], running))
    known = former.line[:start] if former is not None else b""
    line = bytearray(known + EMPTY.encode() * (len(steps) - len(known)))
    for place in compress(range(len(own)), map(len(known).__lt__, ends)):
        begin, end = max(own[place] + 1, len(known)), ends[place]
        if begin < end:
            line[begin:end] = SPAN.encode() * (end - begin)
    return Spans(bytes(line), ends)


def _ends(steps: Heads, times: Times, own: Sequence[int], running: bool) -> Iterator[int]:
    """For each of these steps the index after the last one that it spans, at least the one after its own."""
    finished, known = steps.finished.values, steps.finished.mask
    complete = finished is not None and len(times.values) == len(steps)
    for index in own:
        if running and steps.in_doubt[index]:
            yield len(steps)
        elif finished is None or not complete or not known[index] or index + 1 == len(steps):
            yield index + 1
        elif times.by_row:
            later = times.values[index + 1] < finished[index]
            yield times.before(finished[index], index + 1) if later else index + 1
        else:
            before = times.before(finished[index])
            yield max(times.indexes[before - 1] + 1 if before else 0, index + 1)
