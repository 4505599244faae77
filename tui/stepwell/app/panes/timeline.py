"""The timeline: one row a step, paged, so that a step forward changes two rows."""

from stepwell.app.present import Line, Role, Span, clean, duration, fit
from stepwell.app.view import DIVERGED, View
from stepwell.core.folding import Row, RowKind
from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL, StepHead
from stepwell.core.timeline import BREAKPOINT, Timeline

LETTERS = {LLM_CALL: "L", TOOL_CALL: "T", STATE_UPDATE: "S"}
CUT = "x"
"""The model did not see the whole output; known of the steps that were looked at."""
BOOKMARK = "'"
"""Before the letters of a step's bookmarks."""
HERE = ">"
WIDE = 40
"""Below so many columns the steps of a swarm show who took them rather than how long they took."""
_DEPTH = 6
"""So many levels of nesting are drawn."""


def letter(step: StepHead) -> str:
    """`L`, `T`, `S`; for another type its initial, or `-`."""
    known = LETTERS.get(step.type)
    if known:
        return known
    initial = step.type[:1].upper()
    return initial if initial.isascii() and initial.isalpha() else "-"


def top_row(timeline: Timeline, height: int) -> int:
    """The first row of the page that holds the cursor, from 0.

    The last page is filled from the one before; not while the run goes on, or each new step would scroll it.
    """
    page = timeline.row // height * height
    return page if timeline.running else max(0, min(page, len(timeline.visible) - height))


def timeline_lines(view: View, width: int, height: int, durations: bool) -> list[Line]:
    """The page of rows that holds the cursor."""
    top = top_row(view.timeline, height)
    lines = page_lines(view, top, width, height, durations)
    if view.timeline.steps:
        at = view.timeline.row - top
        lines[at] = at_cursor(lines[at])
    return lines


def at_cursor(line: Line) -> Line:
    """The row of a step, marked as the one where one stands."""
    return (Span(HERE + "".join([span.text for span in line])[1:], Role.CURSOR),)


def page_lines(view: View, top: int, width: int, height: int, durations: bool) -> list[Line]:
    """The rows from `top` on, wherever the cursor is."""
    timeline = view.timeline
    rows = timeline.visible[top : top + height]
    digits = max(4, len(str(timeline.steps.numbers[-1] if timeline.steps else 0)))
    agents = len(timeline.outline.by_agent) > 1
    durations = durations and (not agents or width >= WIDE)
    lines = [_line(view, row, width, digits, agents, durations) for row in rows]
    if not timeline.steps:
        lines = [(Span(fit("no steps are recorded", width), Role.DIM),)]
    return lines + [(Span(" " * width),)] * (height - len(lines))


def _line(view: View, row: Row, width: int, digits: int, agents: bool, durations: bool) -> Line:
    timeline = view.timeline
    step = timeline.steps[row.index]
    flags = timeline.flags(row.index)
    mark = BREAKPOINT if BREAKPOINT in flags else " "
    head = f" {mark}{step.number:>{digits}} {letter(step)} "
    cut = [CUT] if step.number in view.cut else []
    badge = view.badge(step.number)
    marks = "".join([badge, *cut, *(flag for flag in flags if flag != BREAKPOINT)])
    laps = row.kind is RowKind.LAPS
    if laps:
        marks += f"-{(timeline.lap(row.index) or 0) + row.count - 1}"
    if letters := timeline.bookmarks_at(row.index):
        marks += BOOKMARK + letters
    took = duration(step.duration) if durations and not laps else ""
    tail = f"{took} {marks:<2}".rjust(8 if durations else 3)
    name = _name(step, row, agents, width - len(head) - len(tail))
    return (Span(head + name + tail, _role(flags, badge)),)


def _role(flags: tuple[str, ...], badge: str) -> Role:
    if "!" in flags or "?" in flags or DIVERGED in badge:
        return Role.ERROR
    return Role.NEW if badge else Role.PLAIN


def _name(step: StepHead, row: Row, agents: bool, width: int) -> str:
    """Indented by parent; in a swarm after its agent; a step with others folded into it says how many."""
    more = f" +{row.count}" if row.kind is RowKind.PARENT else ""
    indent = "|" * min(row.depth, _DEPTH) + ("- " if row.depth else "")
    text = clean(step.name) if step.name else {STATE_UPDATE: "state"}.get(step.type, clean(step.type))
    if agents:
        lane = max(6, min(12, width // 3))
        own = fit(indent + clean(step.agent or "-"), lane)
        return own + " " + fit(text, width - lane - 1 - len(more)) + more
    return fit(indent + text, width - len(more)) + more
