"""The list of breakpoints, and below it that of bookmarks. Pure."""

from collections.abc import Sequence

from stepwell.app.present import Line, Role, Span, clean, count, fit
from stepwell.core.breakpoints import Breakpoint
from stepwell.core.timeline import Timeline

HEADER = "   STATE  HITS  STOPS AT"
NONE = "no breakpoints: a adds one, or b at a step of the run"


BOOKMARKS = "   BOOKMARKS: ' and the letter goes there"


def hits(timeline: Timeline, point: Breakpoint) -> int:
    """How many steps of this run the condition matches, switched on or off."""
    return len(timeline.outline.hits(point.condition))


def breakpoint_lines(
    points: Sequence[Breakpoint], found: Sequence[int], selected: int, top: int, width: int, height: int
) -> list[Line]:
    """`height` rows from the point at `top` on; `found` are the hits of each."""
    if not points:
        return [(Span(fit(NONE, width), Role.DIM),)]
    rows: list[Line] = []
    for index in range(top, min(top + height, len(points))):
        point = points[index]
        state = "on" if point.enabled else "off"
        text = f"{'>' if index == selected else ' '}  {state:<5} {count(found[index]):>5}  "
        label = clean(point.condition.label)
        written = clean(point.condition.text)
        rest = label if label == written else f"{label}  ({written})"
        role = Role.PLAIN if point.enabled else Role.DIM
        rows.append((Span(fit(text + rest, width), role),))
    return rows


def bookmark_lines(timeline: Timeline, width: int, height: int) -> list[Line]:
    """A blank row, a heading, and the bookmarks by step, in at most `height` rows; nothing where there are none."""
    found = sorted(timeline.bookmarks.items(), key=lambda bookmark: (bookmark[1], bookmark[0]))
    if not found or height < 3:
        return []
    shown = found if len(found) <= height - 2 else found[: height - 3]
    texts = [f"   {letter}  {number:>5}  {_name(timeline, number)}" for letter, number in shown]
    if len(shown) < len(found):
        texts.append(f"   and {len(found) - len(shown)} more")
    return [(), (Span(fit(BOOKMARKS, width), Role.DIM),), *((Span(fit(text, width)),) for text in texts)]


def _name(timeline: Timeline, number: int) -> str:
    index = timeline.outline.index_of(number)
    if index is None:
        return "is not in this run"
    step = timeline.steps[index]
    return clean(step.name or step.type)
