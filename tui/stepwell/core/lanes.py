"""A whole run in a line or a few: a cell a step, or what matters most of several steps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stepwell.core.outline import ERROR, IN_DOUBT, RUNNING, Outline
from stepwell.core.spans import EMPTY, SPAN

CURSOR = "#"
_KINDS = "LTS"
"""Model calls, tool calls, changes of the state: of kinds that are about as frequent the first is shown."""
_FREQUENT = 6
"""A kind that at least every sixth step is of is not rare."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The line of one agent, None where steps name none."""

    agent: str | None
    cells: str


def draw_strip(outline: Outline, cursor: int, width: int) -> str:
    """One cell a step, `min(steps, width)` cells: a letter, `!` `?` `~`, or `#` for the cursor.

    Where there are more steps than cells, a cell shows the worst mark of its steps, else that kind of theirs
    which is rarest in the run; it is small where all of that kind are further laps.
    """
    cells = _drawn(outline, "strip", width, lambda: outline.marks)
    return _with_cursor(cells, cursor, len(outline.steps))


def draw_lanes(outline: Outline, cursor: int, width: int, limit: int = 4) -> tuple[Lane, ...]:
    """A lane an agent, in order of appearance, as wide as the strip; the cursor's agent is always among them.

    `.` is a cell without a step of that agent, `=` one that a call of it spans. No lanes with one agent.
    """
    agents = list(outline.by_agent)
    if len(agents) < 2 or limit < 1:
        return ()
    own = outline.steps.agent[cursor]
    chosen = agents[:limit]
    if own not in chosen:
        chosen[-1] = own
    return tuple([_lane(outline, agent, cursor if agent == own else None, width) for agent in chosen])


def _lane(outline: Outline, agent: str | None, cursor: int | None, width: int) -> Lane:
    cells = _drawn(outline, ("lane", agent), width, lambda: outline.agent_marks(agent))
    return Lane(agent, cells if cursor is None else _with_cursor(cells, cursor, len(outline.steps)))


def _drawn(outline: Outline, what: object, width: int, marks: Callable[[], str]) -> str:
    """The cells without the cursor, drawn once: where it stands is all that a move changes."""
    if (what, width) not in outline.drawn:
        outline.drawn[what, width] = "".join(_cells(marks(), width))
    return outline.drawn[what, width]


def _with_cursor(cells: str, cursor: int, steps: int) -> str:
    if not cells:
        return cells
    at = cell_of(cursor, len(cells), steps)
    return cells[:at] + CURSOR + cells[at + 1 :]


def cell_of(index: int, cells: int, steps: int) -> int:
    """The cell, of so many that stand for so many steps, in which step `index` is; all are counted from 0."""
    return ((index + 1) * cells - 1) // steps


def _cells(marks: str, width: int) -> Iterator[str]:
    count = min(len(marks), max(width, 0))
    if count == len(marks):
        yield from marks
        return
    order = _order(marks)
    for cell in range(count):
        begin, end = cell * len(marks) // count, (cell + 1) * len(marks) // count
        group = marks[begin:end]
        yield next(mark for mark in order if mark in group)


def _order(marks: str) -> list[str]:
    """The marks that there are, what a cell shows first in front.

    The most frequent one of each cell would change with where its borders happen to fall, and show phases where
    there are none. How rare a kind is counts in powers of two only, so that a run that grows keeps its look.
    """
    large = marks.upper()

    def rank(kind: str) -> tuple[int, int, str]:
        rarity = (len(large) // (_FREQUENT * large.count(kind))).bit_length()
        return -rarity, _KINDS.find(kind) % (len(_KINDS) + 1), kind

    kinds = sorted(set(large) - {ERROR, IN_DOUBT, RUNNING, SPAN, EMPTY}, key=rank)
    letters = dict.fromkeys(mark for kind in kinds for mark in (kind, kind.lower()))
    return [ERROR, IN_DOUBT, RUNNING, *letters, SPAN, EMPTY]
