"""A whole run in a line or a few: a cell a step, or the worst of several steps."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC

from stepwell.core.outline import ERROR, IN_DOUBT, RUNNING, Outline

CURSOR = "#"
EMPTY = "."
SPAN = "="


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
    own = outline.steps[cursor].agent
    chosen = agents[:limit]
    if own not in chosen:
        chosen[-1] = own
    return tuple(
        Lane(agent, "".join(_cells(_line(outline, agent), cursor if agent == own else -1, width)))
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


def _line(outline: Outline, agent: str | None) -> str:
    """The marks of one agent's steps among those of all, each call followed by its span."""
    count = len(outline.steps)
    line = bytearray(EMPTY.encode() * count)
    own = outline.by_agent[agent]
    for index in own:
        end = _spans_to(outline, index)
        if end > index + 1:
            line[index + 1 : end] = SPAN.encode() * (end - index - 1)
    for index in own:
        mark = outline.marks[index]
        line[index] = ord(outline.letters[index] if mark == RUNNING else mark)
    return line.decode()


def _spans_to(outline: Outline, index: int) -> int:
    """The index up to which steps began before this one had finished."""
    step = outline.steps[index]
    if outline.running and step.in_doubt:
        return len(outline.steps)
    if step.finished is None:
        return index
    finished = step.finished
    finished = finished.replace(tzinfo=UTC) if finished.tzinfo is None else finished.astimezone(UTC)
    times, indexes = outline.times
    if len(times) < len(outline.steps):
        return index
    before = bisect_left(times, finished)
    return indexes[before - 1] + 1 if before else index
