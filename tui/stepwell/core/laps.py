"""Which steps of a run are in loops, and in which lap. Found again at the tail only when a live run grows."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress

from stepwell.core.heads import Heads
from stepwell.core.loops import MAX_PERIOD, cycle_name
from stepwell.core.steps import Loop, StepHead

_NONE = (-1, -2)
_AHEAD = 2 * MAX_PERIOD
"""What is decided at a call outside of loops, or about a loop at its end, follows from fewer calls after it."""
Memo = list[tuple[int, int]]
"""For each period from where to where the calls equal those one period later."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a loop a step stands. `opens`: it is the first call of its lap; laps count from 1."""

    loop: Loop
    lap: int
    opens: bool


@dataclass(frozen=True, slots=True)
class Cycle:
    """A loop that begins with call `at` of its agent, from 0; `end` is the call after its last one."""

    at: int
    period: int
    laps: int

    @property
    def end(self) -> int:
        return self.at + self.period * self.laps


@dataclass(frozen=True, slots=True)
class Scan:
    """The finished calls of one agent, by index of their steps, and the cycles in them."""

    calls: "array[int]"
    hashes: "array[int]"
    cycles: tuple[Cycle, ...] = ()
    memo: tuple[tuple[int, int], ...] = ()
    """As of the beginning of the last cycle."""

    def cycle_at(self, index: int) -> tuple[Cycle, int] | None:
        """The cycle that a step of this agent is in, and the call that it is or follows."""
        call = bisect_right(self.calls, index) - 1
        after = bisect_right(self.cycles, call, key=lambda cycle: cycle.at)
        if not after:
            return None
        cycle = self.cycles[after - 1]
        inside = call < cycle.end and (call < cycle.end - 1 or self.calls[call] == index)
        return (cycle, call) if inside else None

    def grown(self, calls: "array[int]", hashes: "array[int]", start: int) -> "Scan":
        """Of the calls before step `start` and these; only what may have changed is looked at again."""
        kept = bisect_left(self.calls, start)
        if kept == len(self.calls) and not calls:
            return self
        again = max(0, kept - _AHEAD)
        cycles = [cycle for cycle in self.cycles if cycle.at < again]
        memo: Memo = [_NONE] * (MAX_PERIOD + 1)
        if cycles and cycles[-1].end > again:
            cycle = cycles.pop()
            again = cycle.at
            if cycle is self.cycles[-1]:
                memo = [(begin, min(end, kept - period)) for period, (begin, end) in enumerate(self.memo)]
        everything = self.hashes[:kept] + hashes
        found, remembered = _cycles(everything, again, memo)
        if not found and cycles and cycles[-1] is self.cycles[-1]:
            remembered = self.memo
        return Scan(self.calls[:kept] + calls, everything, (*cycles, *found), remembered)


EMPTY = Scan(array("i"), array("q"))


def _cycles(hashes: "array[int]", start: int, memo: Memo) -> tuple[list[Cycle], tuple[tuple[int, int], ...]]:
    """Read from call `start` on; the cycles, and the memo as of the beginning of the last of them.

    Where several cycles begin at a call, it is the one whose whole laps cover most calls, the shortest
    period among equals; the search goes on after it.
    """
    found: list[Cycle] = []
    remembered: tuple[tuple[int, int], ...] = tuple([_NONE] * (MAX_PERIOD + 1))
    period, laps = _longest(hashes, memo, start)
    if laps >= 2:
        found.append(Cycle(start, period, laps))
        remembered = tuple(memo)
    free = found[-1].end if found else start + 1
    for at in _candidates(hashes, free):
        if at < free:
            continue
        period, laps = _longest(hashes, memo, at)
        if laps >= 2:
            found.append(Cycle(at, period, laps))
            remembered = tuple(memo)
            free = found[-1].end
    return found, remembered


def _candidates(hashes: "array[int]", start: int) -> list[int]:
    """The calls from `start` on that come again within `MAX_PERIOD` calls."""
    later: dict[int, int] = {}
    found = []
    for at in range(len(hashes) - 1, start - 1, -1):
        call = hashes[at]
        if later.get(call, len(hashes) + MAX_PERIOD) - at <= MAX_PERIOD:
            found.append(at)
        later[call] = at
    found.reverse()
    return found


def _longest(hashes: "array[int]", memo: Memo, at: int) -> tuple[int, int]:
    """Period and laps of the loop that begins at `at`, (0, 0) for none.

    By the memo no call is compared twice for one period.
    """
    best = (0, 0)
    for period in range(1, MAX_PERIOD + 1):
        begin, end = memo[period]
        if not begin <= at <= end:
            begin = end = at
        while end + period < len(hashes) and hashes[end] == hashes[end + period]:
            end += 1
        memo[period] = (begin, end)
        laps = (end - at) // period + 1
        if laps >= 2 and laps * period > best[0] * best[1]:
            best = (period, laps)
    return best


@dataclass(frozen=True, eq=False)
class Laps:
    """The loops of a run, and the place in them of each step, by index."""

    steps: Heads
    scans: Mapping[str | None, Scan]
    """By agent."""

    @classmethod
    def of(
        cls,
        steps: Heads,
        by_agent: Mapping[str | None, Sequence[int]],
        former: "Laps | None" = None,
        start: int = 0,
    ) -> "Laps":
        """What is known of the steps before `start` from `former` is not worked out again."""
        scans = {}
        for agent, own in by_agent.items():
            known = EMPTY if former is None else former.scans.get(agent, EMPTY)
            new = own[bisect_left(own, start) :]
            calls = array("i", compress(new, map(steps.calls.__getitem__, new)))
            values = steps.call_hash.values
            hashes = array("q") if values is None else array("q", map(values.__getitem__, calls))
            scans[agent] = known.grown(calls, hashes, start)
        return cls(steps, scans)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """By first step."""
        found = [self._loop(scan, cycle) for scan in self.scans.values() for cycle in scan.cycles]
        return tuple(sorted(found, key=lambda loop: loop.first))

    @cached_property
    def worst(self) -> Loop | None:
        """The loop with most laps."""
        return max(self.loops, key=lambda loop: loop.laps, default=None)

    def _loop(self, scan: Scan, cycle: Cycle) -> Loop:
        numbers = self.steps.numbers
        name = cycle_name(self.steps.name[index] for index in scan.calls[cycle.at : cycle.at + cycle.period])
        first, last = numbers[scan.calls[cycle.at]], numbers[scan.calls[cycle.end - 1]]
        return Loop(name, first, last, cycle.period, cycle.laps)

    def place(self, index: int) -> Place | None:
        """None outside of loops. Every step of the looping agent from the first call to the last is inside.

        What lies between two calls (model calls, state) belongs to the lap of the call before it.
        """
        scan = self.scans[self.steps.agent[index]]
        found = scan.cycle_at(index)
        if found is None:
            return None
        cycle, call = found
        lap, rest = divmod(call - cycle.at, cycle.period)
        return Place(self._loop(scan, cycle), lap + 1, scan.calls[call] == index and not rest)

    def first_of(self, index: int) -> int | None:
        """The index of the first step of the loop that a step is in."""
        scan = self.scans[self.steps.agent[index]]
        found = scan.cycle_at(index)
        return None if found is None else scan.calls[found[0].at]

    @cached_property
    def starts(self) -> "array[int]":
        """Indexes of the first call of every lap, in order."""
        return array("i", sorted(chain.from_iterable(
            scan.calls[cycle.at : cycle.end : cycle.period] for scan in self.scans.values() for cycle in scan.cycles
        )))  # fmt: skip

    def opening(self, lap: int) -> "array[int]":
        """Indexes of the first call of that lap of every loop that has so many."""
        return array("i", sorted(
            scan.calls[cycle.at + (lap - 1) * cycle.period]
            for scan in self.scans.values() for cycle in scan.cycles if 0 < lap <= cycle.laps
        ))  # fmt: skip

    def later(self) -> Iterator[tuple[str | None, int, range]]:
        """Of each loop the agent, its first step, and where its steps from the second lap on lie, by index.

        Steps of other agents may lie between them.
        """
        for agent, scan in self.scans.items():
            for cycle in scan.cycles:
                begin, end = scan.calls[cycle.at + cycle.period], scan.calls[cycle.end - 1] + 1
                yield agent, scan.calls[cycle.at], range(begin, end)

    def laps_after(self, first: int) -> int:
        """How many laps follow the first one of the loop that begins with the step at this index."""
        found = self.scans[self.steps.agent[first]].cycle_at(first)
        return 0 if found is None else found[0].laps - 1


def by_agent(
    steps: Heads, former: Mapping[str | None, Sequence[int]] | None = None, start: int = 0
) -> dict[str | None, Sequence[int]]:
    """Agent to the indexes of its steps; agents in the order in which they appear.

    What is known of the steps before `start` from `former` is not looked at again.
    """
    agents = steps.agent.distinct()
    if len(agents) < 2:
        return {agent: range(len(steps)) for agent in agents}
    found = {agent: array("i") for agent in agents}
    if former is None:
        start = 0
    else:
        for agent, own in former.items():
            if agent in found:
                found[agent] = array("i", own[: bisect_left(own, start)])
    lists = [found.get(word) for word in steps.agent.words]
    for index, code in enumerate(steps.agent.codes[start:], start):
        if (indexes := lists[code]) is not None:
            indexes.append(index)
    return dict(found)


def find_loops(heads: Iterable[StepHead]) -> tuple[Loop, ...]:
    """The loops of every agent, by first step; those of one agent never overlap. Linear time.

    Read from the first call on: where several cycles begin at a call, the loop is the one whose whole laps
    cover most calls, the shortest period among equals; the search goes on after it.
    """
    steps = Heads.of(heads)
    return Laps.of(steps, by_agent(steps)).loops
