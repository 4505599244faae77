"""How the debugger divides a terminal. Drawn for 80×24; what matters least goes first when there is less."""

from dataclasses import dataclass
from enum import StrEnum

NARROW = 60
"""Below so many columns one pane is shown at a time."""


class Pane(StrEnum):
    TIMELINE = "timeline"
    INPUT = "input"
    OUTPUT = "output"
    STATE = "state"
    TABLES = "tables"
    AGENT = "agent"
    """These two in place of STATE, or of OUTPUT where there is no room for STATE."""


PANES = (Pane.INPUT, Pane.OUTPUT, Pane.STATE, Pane.TABLES, Pane.AGENT)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Cells of each part, 0 for one that is left out. A pane's height includes its heading."""

    width: int
    title: int
    strip: int
    timeline_width: int
    body: int
    """Rows of the timeline, and of the panes beside it together."""
    input: int
    output: int
    state: int
    tables: int
    agent: int
    status: int
    keys: int
    durations: bool

    @property
    def bar(self) -> int:
        """Columns of the line between the timeline and the panes."""
        return int(0 < self.timeline_width < self.width)

    @property
    def pane_width(self) -> int:
        return self.width - self.timeline_width - self.bar


def divide(
    width: int,
    height: int,
    *,
    lanes: int,
    pane: Pane,
    zoomed: bool,
    state: bool,
    instead: Pane | None = None,
) -> Geometry:
    """Divide `width` × `height` cells.

    `lanes`: rows of the strip wanted; `state`: there is a state to show; `instead`: TABLES or AGENT, if
    that is wanted.
    """
    title = int(height >= 11)
    keys = int(height >= 14)
    strip = min(max(1, lanes), max(1, height // 6))
    body = max(1, height - title - strip - keys - 1)
    single = zoomed or width < NARROW
    beside = 0 if single and pane is not Pane.TIMELINE else width if single else _timeline_width(width)
    rows = _panes(body, state and body >= 14, instead)
    if single:
        rows = {p: body if pane is p else 0 for p in PANES}
    return Geometry(
        width=width,
        title=title,
        strip=strip,
        timeline_width=beside,
        body=body,
        input=rows[Pane.INPUT],
        output=rows[Pane.OUTPUT],
        state=rows[Pane.STATE],
        tables=rows[Pane.TABLES],
        agent=rows[Pane.AGENT],
        status=1,
        keys=keys,
        durations=beside >= 30,
    )


def places(geometry: Geometry) -> dict[str, tuple[int, int, int, int]]:
    """Column and row, and columns and rows, of every part by its name; those left out have none."""
    width, beside = geometry.width, geometry.timeline_width + geometry.bar
    top = geometry.title + geometry.strip
    below = top + geometry.body
    found = {
        "title": (0, 0, width, geometry.title),
        "strip": (0, geometry.title, width, geometry.strip),
        "timeline": (0, top, geometry.timeline_width, geometry.body),
        "bar": (geometry.timeline_width, top, geometry.bar, geometry.body),
        "status": (0, below, width, geometry.status),
        "keys": (0, below + geometry.status, width, geometry.keys),
    }
    for pane in PANES:
        rows = getattr(geometry, pane)
        found[pane] = (beside, top, geometry.pane_width, rows)
        top += rows
    return found


def _timeline_width(width: int) -> int:
    if width < 80:
        return 25
    return min(60, 30 + (width - 80) // 4)


def _panes(body: int, state: bool, instead: Pane | None) -> dict[Pane, int]:
    lowest = max(4, body // 4) if state else 0
    rest = body - lowest
    input_rows = rest * 7 // 15 if rest >= 4 else rest // 2
    rows = dict.fromkeys(PANES, 0) | {
        Pane.INPUT: input_rows,
        Pane.OUTPUT: rest - input_rows,
        Pane.STATE: lowest,
    }
    if instead is not None:
        replaced = Pane.STATE if state else Pane.OUTPUT
        rows[replaced], rows[instead] = 0, rows[replaced]
    return rows
