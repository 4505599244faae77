"""During which steps of a run something was written, by what their instants saw of transactions. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stepwell.core.past import Instant, Table
from stepwell.core.verdicts import xmin_of

NEVER, ALWAYS = -1, 2**63
"""Positions up to which an instant sees nothing, and everything, of a transaction."""


@dataclass(frozen=True, slots=True)
class ChangedSteps:
    """The steps of a run during which watched tables were written, whoever did, also where it was taken back."""

    numbers: tuple[int, ...]
    """In order."""
    tables: tuple[Table, ...]
    """The watched tables as of the end of the run."""
    told: int
    """How many steps have a snapshot of each side; of the others nothing is known."""
    partly: bool = False
    """There may be more of these steps: not all that was written during the run is known, or has been looked at."""


class Between(NamedTuple):
    """A step, by its number, and the instants before and after it."""

    number: int
    before: Instant
    after: Instant


class Snapshot(NamedTuple):
    """Which transactions a snapshot sees: those below `end`, but for those that were `running`."""

    end: int
    running: tuple[int, ...]

    def sees(self, xid: int) -> bool:
        return xid < self.end and xid not in self.running


def parsed(snapshot: str) -> Snapshot:
    """A `pg_snapshot` as Postgres writes it."""
    _, end, running = snapshot.split(":")
    return Snapshot(int(end), tuple(map(int, running.split(","))) if running else ())


def outermost(steps: Sequence[Between]) -> tuple[Between, Between]:
    """The step that reaches back farthest, and the one that saw most; there must be one."""
    return min(steps, key=lambda step: xmin_of(step.before)), max(steps, key=lambda step: end_of(step.after))


def end_of(instant: Instant) -> int:
    """No transaction from this one on was over."""
    return int(instant.snapshot.split(":")[1])


def changed_steps(
    steps: Iterable[Between], xids: Iterable[int], positions: Mapping[int, Sequence[int]]
) -> tuple[int, ...]:
    """The numbers of the steps whose end saw a write that their beginning did not, in order.

    `xids` are the transactions that have written, `positions` where in the logs those of them did that are some step's
    own. Each step costs a search among them, however many came between its instants.
    """
    written = sorted(set(xids))
    known, places = frozenset(written), {xid: sorted(each) for xid, each in positions.items()}
    return tuple(
        sorted({step.number for step in steps if _others(step, written, known) or _own(step, places)})
    )


def _others(step: Between, written: Sequence[int], known: frozenset[int]) -> bool:
    """Whether a transaction that is not the agent's own at either instant came between them."""
    before, after = parsed(step.before.snapshot), parsed(step.after.snapshot)
    own = {step.before.own, step.after.own}
    came = bisect_left(written, after.end) - bisect_left(written, before.end)
    if came > 0:
        still = {xid for xid in (*after.running, *own) if xid is not None and xid in known}
        came -= sum(before.end <= xid < after.end for xid in still)
    return came > 0 or any(xid in known and xid not in own and after.sees(xid) for xid in before.running)


def _own(step: Between, places: Mapping[int, Sequence[int]]) -> bool:
    """Whether the agent's own transaction got on between the instants."""
    return any(
        bisect_right(places.get(xid, ()), _seen(step.after, xid))
        > bisect_right(places.get(xid, ()), _seen(step.before, xid))
        for xid in _owns(step)
    )


def _owns(step: Between) -> Iterator[int]:
    yield from {xid for xid in (step.before.own, step.after.own) if xid is not None}


def owns(steps: Iterable[Between]) -> frozenset[int]:
    """The transactions that were the agent's own at an instant."""
    return frozenset(xid for step in steps for xid in _owns(step))


def sees(instant: Instant, xid: int, position: int) -> bool:
    """Whether an instant has what a transaction wrote at that position of the logs."""
    return position <= _seen(instant, xid)


def is_earlier(one: Instant, other: Instant) -> bool:
    """Whether one instant of a server was taken before the other, as far as they tell."""
    return _progress(one) < _progress(other)


def _progress(instant: Instant) -> tuple[int, int, int]:
    """What grows as transactions end, and as the agent's own one gets on."""
    snapshot = parsed(instant.snapshot)
    return snapshot.end, -len(snapshot.running), instant.position or 0


def _seen(instant: Instant, xid: int) -> int:
    """Up to which position an instant sees what a transaction has written."""
    if instant.own == xid:
        return instant.position or 0
    return ALWAYS if parsed(instant.snapshot).sees(xid) else NEVER
