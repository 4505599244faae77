"""A whole run in a line or a few: a cell a step, or the worst of several steps."""

from collections.abc import Iterator
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
    return "".join(_cells(outline.marks, cursor, width))


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
    return tuple(
        Lane(agent, "".join(_cells(outline.agent_marks(agent), cursor if agent == own else -1, width)))
        for agent in chosen
    )


def _cells(marks: str, cursor: int, width: int) -> Iterator[str]:
    count = min(len(marks), max(width, 0))
    for cell in range(count):
        begin, end = cell * len(marks) // count, (cell + 1) * len(marks) // count
        yield CURSOR if begin <= cursor < end else _worst(marks[begin:end])


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
