"""Loops: the same cycle of tool calls, with the same arguments and the same results, again and again.

A cycle is 1 to `MAX_PERIOD` calls of one agent. Calls are the same where their `call_hash` is equal; a poll
or an edit-and-run whose result progresses has other hashes and is no loop.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from stepwell.core.steps import TOOL_CALL, Loop, StepHead

MAX_PERIOD = 8
LOOPING_LAPS = 3
"""From this many laps on a run counts as looping."""
_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a loop a step stands. `opens`: it is the first call of its lap; laps count from 1."""

    loop: Loop
    lap: int
    opens: bool


def find_loops(heads: Iterable[StepHead]) -> tuple[Loop, ...]:
    """The loops of every agent, by first step; those of one agent never overlap. Linear time.

    Read from the first call on: where several cycles begin at a call, the loop is the one whose whole laps
    cover most calls, the shortest period among equals; the search goes on after it.
    """
    calls: dict[str | None, list[StepHead]] = {}
    for head in heads:
        if _is_call(head):
            calls.setdefault(head.agent, []).append(head)
    found = [loop for own in calls.values() for loop in _loops_of(own)]
    return tuple(sorted(found, key=lambda loop: loop.first))


def _is_call(head: StepHead) -> bool:
    return head.call_hash is not None and head.type == TOOL_CALL


def _loops_of(calls: Sequence[StepHead]) -> Iterator[Loop]:
    hashes = [call.call_hash for call in calls]
    breaks = [0] * (MAX_PERIOD + 1)
    at = 0
    while at < len(hashes) - 1:
        period, laps = 0, 0
        if hashes[at] in hashes[at + 1 : at + 1 + MAX_PERIOD]:
            period, laps = _longest(hashes, breaks, at)
        if laps < 2:
            at += 1
            continue
        last = at + period * laps - 1
        name = cycle_name(call.name for call in calls[at : at + period])
        yield Loop(name, calls[at].number, calls[last].number, period, laps)
        at = last + 1


def _longest(hashes: Sequence[int | None], breaks: list[int], at: int) -> tuple[int, int]:
    """Period and laps of the loop that begins at `at`, (0, 0) for none.

    `breaks[p]` remembers the next position whose call differs from the one p later, so that no call is
    compared twice for one period.
    """
    best = (0, 0)
    for period in range(1, MAX_PERIOD + 1):
        if breaks[period] <= at:
            end = at
            while end + period < len(hashes) and hashes[end] == hashes[end + period]:
                end += 1
            breaks[period] = end
        laps = (breaks[period] - at) // period + 1
        if laps >= 2 and laps * period > best[0] * best[1]:
            best = (period, laps)
    return best


def cycle_name(names: Iterable[str | None]) -> str:
    """A name for a cycle of calls: its distinct tools in order, the first few of them."""
    distinct = list(dict.fromkeys(name or "unnamed" for name in names))
    more = ["..."] if len(distinct) > _NAMES_SHOWN else []
    return ", ".join(distinct[:_NAMES_SHOWN] + more)


def places(heads: Iterable[StepHead], loops: Iterable[Loop]) -> dict[int, Place]:
    """Step number to place, for every step of the looping agent from the first call of a loop to its last.

    What lies between two calls (model calls, state) belongs to the lap of the call before it.
    """
    begins = {loop.first: loop for loop in loops}
    current: dict[str | None, tuple[Loop, int]] = {}
    found: dict[int, Place] = {}
    for head in heads:
        is_call = _is_call(head)
        loop, calls = current.get(head.agent, (None, 0))
        if loop is None and is_call:
            loop = begins.get(head.number)
        if loop is None:
            continue
        calls += is_call
        opens = is_call and (calls - 1) % loop.period == 0
        found[head.number] = Place(loop, (calls - 1) // loop.period + 1, opens)
        if calls == loop.period * loop.laps:
            current.pop(head.agent, None)
        else:
            current[head.agent] = (loop, calls)
    return found


def laps_of(heads: Iterable[StepHead], loops: Iterable[Loop]) -> dict[int, int]:
    """Step number to lap, for the steps that `places` covers."""
    return {number: place.lap for number, place in places(heads, loops).items()}


@dataclass(slots=True)
class _Agent:
    """The last calls of one agent, and for each period how many in a row repeat the call that far back."""

    history: deque[tuple[int, str | None, int]] = field(default_factory=lambda: deque(maxlen=MAX_PERIOD))
    repeats: list[int] = field(default_factory=lambda: [0] * (MAX_PERIOD + 1))
    first: list[int] = field(default_factory=lambda: [0] * (MAX_PERIOD + 1))

    def add(self, number: int, name: str | None, call_hash: int, beyond: int) -> Iterator[Loop]:
        """Count one finished call.

        Yields each loop of more than `beyond` laps of which it completes a lap, shortest period first.
        """
        for period in range(1, len(self.history) + 1):
            back = self.history[-period]
            if back[2] != call_hash:
                self.repeats[period] = 0
                continue
            if self.repeats[period] == 0:
                self.first[period] = back[0]
            self.repeats[period] += 1
        self.history.append((number, name, call_hash))
        for period in range(1, MAX_PERIOD + 1):
            laps, rest = divmod(self.repeats[period], period)
            if laps and not rest and laps + 1 > beyond:
                lap = list(self.history)[-period:]
                yield Loop(cycle_name(c[1] for c in lap), self.first[period], number, period, laps + 1)


class LoopTracker:
    """Finds the worst loop of a run while it is being recorded.

    Each call costs the same however long the run is; memory grows with the number of agents only.
    """

    def __init__(self) -> None:
        self._agents: dict[str | None, _Agent] = {}
        self._best: Loop | None = None

    def add(self, agent: str | None, number: int, name: str | None, call_hash: int) -> Loop | None:
        """Count a finished tool call.

        Returns the loop with most laps of the whole run if this call made it one of at least
        `LOOPING_LAPS` laps or longer, else None.
        """
        best = self._best
        if (own := self._agents.get(agent)) is None:
            own = self._agents[agent] = _Agent()
        for loop in own.add(number, name, call_hash, best.laps if best else 0):
            if best is None or loop.laps > best.laps:
                best = loop
        if best is self._best or best is None:
            return None
        self._best = best
        return best if best.laps >= LOOPING_LAPS else None
