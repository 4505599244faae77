"""The moves of the debugger: from a timeline to a timeline and, where it needs saying, why it is there.

Every move except a single step is a jump, and `undo_jump` takes jumps back.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stepwell.core.address import Number, Percent, Target
from stepwell.core.folding import Fold, RowKind, fold_around
from stepwell.core.locate import NO_STEPS, locate
from stepwell.core.timeline import Timeline
from stepwell.core.world import Moment

MAX_JUMPS = 200


@dataclass(frozen=True, slots=True)
class Move:
    """Where a move led. `message` is one line for the status line."""

    timeline: Timeline
    message: str | None = None


def _jump(timeline: Timeline, index: int, message: str | None = None) -> Move:
    """To a step, remembering where it came from, unless it is there already."""
    if index == timeline.cursor:
        return Move(timeline, message)
    jumps = (*timeline.jumps, timeline.cursor)[-MAX_JUMPS:]
    return Move(replace(timeline.at(index), jumps=jumps), message)


def _end(timeline: Timeline) -> str:
    return "at the last step so far" if timeline.running else "at the last step"


def forward(timeline: Timeline, count: int = 1) -> Move:
    """Over visible rows; a folded loop or parent is one row. A negative count goes back."""
    rows = timeline.visible
    if not rows:
        return Move(timeline, NO_STEPS)
    wanted = timeline.row + count
    landed = min(max(wanted, 0), len(rows) - 1)
    message = None if landed == wanted else _end(timeline) if wanted > landed else "at the first step"
    index = rows.shown[landed]
    if abs(count) > 1:
        return _jump(timeline, index, message)
    return Move(timeline.at(index), message)


def back(timeline: Timeline, count: int = 1) -> Move:
    """The other way."""
    return forward(timeline, -count)


def first(timeline: Timeline) -> Move:
    return _jump(timeline, 0) if timeline.steps else Move(timeline, NO_STEPS)


def last(timeline: Timeline) -> Move:
    """To the last visible row."""
    return _jump(timeline, timeline.visible.shown[-1]) if timeline.steps else Move(timeline, NO_STEPS)


def same_agent(timeline: Timeline, count: int = 1) -> Move:
    """Over the visible steps of the agent at the cursor; a negative count goes back."""
    step = timeline.current
    if step is None:
        return Move(timeline, NO_STEPS)
    own = timeline.outline.by_agent[step.agent]
    at, left = bisect_left(own, timeline.cursor), abs(count)
    landed, ahead = at, 1 if count > 0 else -1
    while left and 0 <= at + ahead < len(own):
        at += ahead
        if timeline.layout.shows(own[at]):
            landed, left = at, left - 1
    name = step.agent or "this agent"
    message = f"no {'further' if count > 0 else 'earlier'} step of {name}" if left else None
    if abs(count) > 1:
        return _jump(timeline, own[landed], message)
    return Move(timeline.at(own[landed]), message)


def toggle_moment(timeline: Timeline) -> Move:
    """Between the world when the step began and when it had finished."""
    asked = timeline.moment is Moment.AFTER
    return Move(replace(timeline, moment=Moment.ASKED if asked else Moment.AFTER))


def go_to(timeline: Timeline, target: Target) -> Move:
    """To a number, a percentage, a time; what hides the step is unfolded. Stays where there is nothing."""
    index, message = locate(timeline.run, timeline.outline, target)
    return Move(timeline, message) if index is None else _jump(timeline, index, message)


def go_to_number(timeline: Timeline, number: int) -> Move:
    return go_to(timeline, Number(number))


def go_to_percent(timeline: Timeline, percent: float) -> Move:
    return go_to(timeline, Percent(min(max(percent, 0), 100)))


def go_to_index(timeline: Timeline, index: int, message: str | None = None) -> Move:
    """To a step by its index, as a search finds it."""
    return _jump(timeline, index, message)


def continue_(timeline: Timeline) -> Move:
    """To the next step that a breakpoint matches, the current one not counted; else to the last step."""
    return _continue(timeline, timeline.next_hit(timeline.cursor), forwards=True)


def reverse_continue(timeline: Timeline) -> Move:
    """To the previous step that a breakpoint matches; else to the first step."""
    return _continue(timeline, timeline.previous_hit(timeline.cursor), forwards=False)


def _continue(timeline: Timeline, hit: int | None, *, forwards: bool) -> Move:
    if not timeline.steps:
        return Move(timeline, NO_STEPS)
    if hit is not None:
        return _jump(timeline, hit, f"hit {_hit_label(timeline, hit)}")
    active = any(point.enabled for point in timeline.breakpoints)
    what = "no further hit" if active else "no breakpoint is set"
    if forwards and timeline.running:
        what += " so far; F follows"
    index = timeline.visible.shown[-1] if forwards else 0
    return _jump(timeline, index, what if index == timeline.cursor else f"{what}; '' returns")


def _hit_label(timeline: Timeline, index: int) -> str:
    return ", ".join(
        point.condition.label
        for point in timeline.breakpoints
        if point.enabled and timeline.outline.is_hit(point.condition, index)
    )


def next_error(timeline: Timeline) -> Move:
    """To the next step that raised or stayed in doubt; stays where there is none."""
    return _to_next(timeline, timeline.outline.faults, "error")


def previous_error(timeline: Timeline) -> Move:
    return _to_previous(timeline, timeline.outline.faults, "error")


def next_lap(timeline: Timeline) -> Move:
    """To the first call of the next lap, of this loop or of the next one."""
    return _lap_of(_to_next(timeline, timeline.outline.laps.starts, "lap"))


def previous_lap(timeline: Timeline) -> Move:
    return _lap_of(_to_previous(timeline, timeline.outline.laps.starts, "lap"))


def first_lap(timeline: Timeline) -> Move:
    """To where the loop at the cursor began, else to the loop of the run with most laps."""
    outline = timeline.outline
    worst = outline.laps.worst
    if worst is None:
        return Move(timeline, "no lap in this run")
    index = outline.laps.first_of(timeline.cursor)
    if index is None:
        index = outline.index_of(worst.first)
    return _lap_of(_jump(timeline, timeline.cursor if index is None else index))


def _lap_of(move: Move) -> Move:
    timeline = move.timeline
    place = timeline.outline.place(timeline.cursor) if timeline.steps else None
    if move.message or place is None:
        return move
    return replace(move, message=f"lap {place.lap} of {place.loop.laps}, {place.loop.name}")


def _to_next(timeline: Timeline, stops: Sequence[int], what: str) -> Move:
    at = bisect_right(stops, timeline.cursor)
    if at < len(stops):
        return _jump(timeline, stops[at])
    return Move(timeline, f"no further {what}" if stops else f"no {what} in this run")


def _to_previous(timeline: Timeline, stops: Sequence[int], what: str) -> Move:
    at = bisect_left(stops, timeline.cursor)
    if at > 0:
        return _jump(timeline, stops[at - 1])
    return Move(timeline, f"no earlier {what}" if stops else f"no {what} in this run")


def undo_jump(timeline: Timeline) -> Move:
    """Back to where the last jump left, and so on."""
    if not timeline.jumps:
        return Move(timeline, "no jump to undo")
    returned = timeline.at(timeline.jumps[-1])
    return Move(replace(returned, jumps=timeline.jumps[:-1]))


def toggle_fold(timeline: Timeline) -> Move:
    """Fold or unfold at the cursor: what the step called, else its loop, else the step that called it."""
    if not timeline.steps:
        return Move(timeline, NO_STEPS)
    fold = fold_around(timeline.outline, timeline.layout, timeline.cursor)
    after = timeline if fold is None else timeline.refolded(timeline.folded ^ {fold})
    if fold is None or (fold not in timeline.folded and _is_in_vain(timeline, after, fold)):
        return Move(timeline, "nothing to fold here")
    return Move(after)


def _is_in_vain(before: Timeline, after: Timeline, fold: Fold) -> bool:
    """Whether all rows are still there: so it is with two laps of one call, which are two rows either way."""
    return fold.kind is RowKind.LAPS and len(after.layout) == len(before.layout)


def fold_loops(timeline: Timeline) -> Move:
    """Fold every loop."""
    if not timeline.loops:
        return Move(timeline, "no loop in this run")
    return Move(
        timeline.refolded(timeline.folded | {Fold(RowKind.LAPS, loop.first) for loop in timeline.loops})
    )


def unfold_all(timeline: Timeline) -> Move:
    if not timeline.folded:
        return Move(timeline, "nothing is folded")
    return Move(timeline.refolded(frozenset()))


def set_bookmark(timeline: Timeline, letter: str) -> Move:
    """Name the current step; the same letter names another step next time."""
    step = timeline.current
    if step is None:
        return Move(timeline, NO_STEPS)
    if not (len(letter) == 1 and letter.isascii() and letter.isalpha()):
        return Move(timeline, "a bookmark is a letter, a-z or A-Z")
    bookmarks = {**timeline.bookmarks, letter: step.number}
    return Move(replace(timeline, bookmarks=bookmarks), f"bookmark {letter} at step {step.number}")


def go_to_bookmark(timeline: Timeline, letter: str) -> Move:
    number = timeline.bookmarks.get(letter)
    if number is None:
        known = " ".join(f"{name}@{at}" for name, at in sorted(timeline.bookmarks.items())) or "none"
        return Move(timeline, f"no bookmark {letter!r}; set: {known}")
    return go_to_number(timeline, number)
