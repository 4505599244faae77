"""The whole run in a line, or a lane an agent."""

from stepwell.app.present import Line, Role, Span, clean, fit
from stepwell.app.view import View
from stepwell.core.lanes import CURSOR
from stepwell.core.outline import ERROR, IN_DOUBT

MOST_LANES = 4
NAME_CELLS = 8


def strip_rows(view: View) -> int:
    """Rows that the strip would like: a lane an agent, at most four."""
    agents = len(view.timeline.outline.by_agent)
    return min(agents, MOST_LANES) if agents > 1 else 1


def strip_lines(view: View, width: int, rows: int) -> list[Line]:
    """One line, or with `rows` above 1 as many lanes."""
    if rows < 2:
        return [_line(view.timeline.strip(width), width)] if view.timeline.steps else [(Span(" " * width),)]
    lanes = view.timeline.lanes(width - NAME_CELLS, rows)
    hidden = len(view.timeline.outline.by_agent) - len(lanes)
    lines = [
        (_name(lane.agent, hidden if lane is lanes[-1] else 0), *_line(lane.cells, width - NAME_CELLS))
        for lane in lanes
    ]
    return lines + [(Span(" " * width),)] * (rows - len(lines))


def _name(agent: str | None, hidden: int) -> Span:
    """The agent of a lane, and of the last lane how many more there are: `b   +2`."""
    more = f" +{hidden}" if hidden else ""
    return Span(fit(clean(agent or "-"), NAME_CELLS - 1 - len(more)) + more + " ")


def _line(cells: str, width: int) -> Line:
    """The cells, errors and the cursor made to stand out."""
    spans: list[Span] = []
    start = 0
    for index, cell in enumerate(cells):
        if cell in (CURSOR, ERROR, IN_DOUBT):
            if index > start:
                spans.append(Span(cells[start:index]))
            spans.append(Span(cell, Role.CURSOR if cell == CURSOR else Role.ERROR))
            start = index + 1
    spans.append(Span(cells[start:] + " " * (width - len(cells))))
    return tuple(spans)
