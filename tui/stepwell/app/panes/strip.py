"""The whole run in a line, or a lane an agent."""

from collections.abc import Mapping

from stepwell.app.present import Line, Role, Span, clean, fit
from stepwell.app.view import DIVERGED, View
from stepwell.core.lanes import CURSOR, Lane, cell_of
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
        if not view.timeline.steps:
            return [(Span(" " * width),)]
        strip = view.timeline.strip(width)
        return [_line(strip, width, _badges(view, len(strip), view.badges))]
    lanes = view.timeline.lanes(width - NAME_CELLS, rows)
    hidden = len(view.timeline.outline.by_agent) - len(lanes)
    lines = [
        (_name(lane.agent, hidden if lane is lanes[-1] else 0), *_lane(view, lane, width - NAME_CELLS))
        for lane in lanes
    ]
    return lines + [(Span(" " * width),)] * (rows - len(lines))


def _name(agent: str | None, hidden: int) -> Span:
    """The agent of a lane, and of the last lane how many more there are: `b   +2`."""
    more = f" +{hidden}" if hidden else ""
    return Span(fit(clean(agent or "-"), NAME_CELLS - 1 - len(more)) + more + " ")


def _lane(view: View, lane: Lane, width: int) -> Line:
    """Its cells, with the badges of its agent's steps."""
    steps, outline = view.timeline.steps, view.timeline.outline
    own = {
        number: badge
        for number, badge in view.badges.items()
        if (index := outline.index_of(number)) is not None and steps.agent[index] == lane.agent
    }
    return _line(lane.cells, width, _badges(view, len(lane.cells), own))


def _badges(view: View, cells: int, badges: Mapping[int, str]) -> dict[int, str]:
    """Badges by the cell of their step."""
    steps, index_of = len(view.timeline.steps), view.timeline.outline.index_of
    return {
        cell_of(index, cells, steps): badge
        for number, badge in badges.items()
        if (index := index_of(number)) is not None
    }


def _line(cells: str, width: int, badges: Mapping[int, str]) -> Line:
    """The cells, errors, badges and the cursor made to stand out."""
    spans: list[Span] = []
    start = 0
    for index, cell in enumerate(cells):
        badge = badges.get(index) if cell != CURSOR else None
        if badge or cell in (CURSOR, ERROR, IN_DOUBT):
            if index > start:
                spans.append(Span(cells[start:index]))
            role = Role.CURSOR if cell == CURSOR else Role.ERROR if badge in (None, DIVERGED) else Role.NEW
            spans.append(Span(badge or cell, role))
            start = index + 1
    spans.append(Span(cells[start:] + " " * (width - len(cells))))
    return tuple(spans)
