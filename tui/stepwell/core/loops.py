"""Loops: the same cycle of tool calls, with the same arguments and the same results, again and again.

A cycle is 1 to `MAX_PERIOD` calls of one agent. Calls are the same where their `call_hash` is equal; a poll
or an edit-and-run whose result progresses has other hashes and is no loop.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stepwell.core.steps import Loop

MAX_PERIOD = 8
LOOPING_LAPS = 3
"""From this many laps on a run counts as looping."""
_NAMES_SHOWN = 3


def cycle_name(names: Iterable[str | None]) -> str:
    """A name for a cycle of calls: its distinct tools in order, the first few of them."""
    distinct = list(dict.fromkeys(name or "unnamed" for name in names))
    more = ["..."] if len(distinct) > _NAMES_SHOWN else []
    return ", ".join(distinct[:_NAMES_SHOWN] + more)


@dataclass(slots=True)
class _Agent:
    """The last calls of one agent, and for each period how many in a row repeat the call that far back."""

    history: deque[tuple[int, str | None]] = field(default_factory=lambda: deque(maxlen=MAX_PERIOD))
    hashes: deque[int] = field(default_factory=lambda: deque(maxlen=MAX_PERIOD))
    repeats: list[int] = field(default_factory=lambda: [0] * (MAX_PERIOD + 1))
    first: list[int] = field(default_factory=lambda: [0] * (MAX_PERIOD + 1))

    def add(self, number: int, name: str | None, call_hash: int, beyond: int) -> Iterator[Loop]:
        """Count one finished call.

        Yields each loop of more than `beyond` laps of which it completes a lap, shortest period first.
        """
        found: list[int] = []
        if call_hash in self.hashes:
            found = list(self._count(call_hash))
        elif any(self.repeats):
            self.repeats = [0] * (MAX_PERIOD + 1)
        self.history.append((number, name))
        self.hashes.append(call_hash)
        for period in found:
            laps, rest = divmod(self.repeats[period], period)
            if not rest and laps + 1 > beyond:
                names = [name for _, name in list(self.history)[-period:]]
                yield Loop(cycle_name(names), self.first[period], number, period, laps + 1)

    def _count(self, call_hash: int) -> Iterator[int]:
        """The periods that the call repeats."""
        for period in range(1, len(self.hashes) + 1):
            if self.hashes[-period] != call_hash:
                self.repeats[period] = 0
                continue
            if self.repeats[period] == 0:
                self.first[period] = self.history[-period][0]
            self.repeats[period] += 1
            yield period


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
