"""A whole run in a line or a few: a cell a step, or the worst of several steps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stepwell.core.outline import ERROR, IN_DOUBT, RUNNING, Outline
from stepwell.core.spans import EMPTY, SPAN

CURSOR = "#"


@dataclass(frozen=True, slots=True)
class Lane:
    """The line of one agent, None where steps name none."""

    agent: str | None
    cells: str


def draw_strip(outline: Outline, cursor: int, width: int) -> str:
    """One cell a step, `min(steps, width)` cells: a letter, `!` `?` `~`, or `#` for the cursor.

    Where there are more steps than cells, a cell shows the worst mark of its steps, else their most
    frequent letter.
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
    at = ((cursor + 1) * len(cells) - 1) // steps
    return cells[:at] + CURSOR + cells[at + 1 :]


def _cells(marks: str, width: int) -> Iterator[str]:
    count = min(len(marks), max(width, 0))
    for cell in range(count):
        begin, end = cell * len(marks) // count, (cell + 1) * len(marks) // count
        yield _worst(marks[begin:end])


def _worst(marks: str) -> str:
    if len(marks) == 1:
        return marks
    for mark in (ERROR, IN_DOUBT, RUNNING):
        if mark in marks:
            return mark
    letters = sorted(
        set(marks) - {EMPTY, SPAN}, key=lambda letter: (-marks.count(letter), marks.index(letter))
    )
    if letters:
        return letters[0]
    return SPAN if SPAN in marks else EMPTY
