"""Stretches of a run, each folded once: what a move need not fold again, and what it still has to look at.

Those steps of a stretch whose place in the order of finishing is not above its last number are *settled*: they are in
every world in which so many steps have finished. The others are *loose*, and are looked at by each move.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

BEGINNING = -(2**31) - 1
"""Below every step number."""
FEW = 2000
"""So many single steps are looked at beside those that follow; where they are more, more is folded again."""

Scope = tuple[bool, str | None]
"""Of a state: whether it is the shared one, else whose."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What finished steps of one agent come to.

    The newest response and result are packed: place in the order of finishing, times 2**32, plus step number.
    """

    steps: int = 0
    response: int | None = None
    result: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None

    def plus(self, other: "Totals") -> "Totals":
        return Totals(
            self.steps + other.steps,
            newest(self.response, other.response),
            newest(self.result, other.result),
            total(self.tokens_in, other.tokens_in),
            total(self.tokens_out, other.tokens_out),
        )


class Mark(NamedTuple):
    """When the steps of a stretch were last known to be as they are folded."""

    snapshot: str
    bound: int
    """What transactions from this on have written is not in it."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The steps after the stretch before it, up to number `last`."""

    last: int
    rows: int
    newest: int
    """The last transaction that has written one of the rows."""
    mark: Mark
    ordered: bool
    """Whether the order of finishing is recorded of one of them."""
    agents: Mapping[str | None, Totals]
    """Of the settled steps."""
    loose: tuple[int, ...]
    """Numbers."""
    states: Mapping[Scope, tuple[int, ...]]
    """Numbers of the settled state steps."""
    wholes: Mapping[Scope, int]
    """The place, in the order of finishing, of the last settled state that was recorded whole."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a fold begins: what is folded up to step `after`, and which steps up to there are still to be looked at."""

    after: int = BEGINNING
    ordered: bool = False
    agents: Mapping[str | None, Totals] = field(default_factory=dict)
    loose: tuple[int, ...] = ()
    lasts: tuple[int, ...] = ()
    """The last numbers of the stretches that these are in."""
    states_after: int = BEGINNING
    states: tuple[int, ...] = ()
    """Numbers of steps up to `states_after`, among them each state step that may be part of the state."""
    kept: int | None = None
    """The steps up to this one had been folded by an earlier move."""


FROM_THE_BEGINNING = Start()


def start(stretches: Iterable[Stretch]) -> Start:
    """Where a fold begins that has these stretches behind it, in order and without a gap between them."""
    after, ordered, loose, lasts = BEGINNING, False, list[int](), list[int]()
    agents: dict[str | None, Totals] = {}
    states: dict[Scope, list[tuple[int, tuple[int, ...]]]] = {}
    for stretch in stretches:
        if len(loose) + len(stretch.loose) > FEW:
            break
        after, ordered = stretch.last, ordered or stretch.ordered
        loose += stretch.loose
        lasts += [stretch.last] if stretch.loose else []
        for agent, totals in stretch.agents.items():
            agents[agent] = agents[agent].plus(totals) if agent in agents else totals
        for scope, numbers in stretch.states.items():
            before = states.get(scope, [])
            whole = stretch.wholes.get(scope)
            # What is settled in a stretch has no place above its last number.
            kept = before if whole is None else [each for each in before if each[0] >= whole]
            states[scope] = [*kept, (stretch.last, numbers)]
    wanted = sorted({*loose, *(n for parts in states.values() for _, part in parts for n in part)})
    few = len(wanted) <= FEW
    return Start(
        after=after,
        ordered=ordered,
        agents=agents,
        loose=tuple(loose),
        lasts=tuple(lasts),
        states_after=after if few else BEGINNING,
        states=tuple(wanted) if few else (),
    )


def number_of(packed: int | None) -> int | None:
    """The step number in a packed place; it may be below 0."""
    return None if packed is None else (packed + 2**31) % 2**32 - 2**31


def newest(*packed: int | None) -> int | None:
    return max((each for each in packed if each is not None), default=None)


def total(*counts: int | None) -> int | None:
    """The sum of those that are known, None where none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
