"""To the steps during which a watched table changed. Pure."""

from bisect import bisect_left, bisect_right
from dataclasses import replace

from stepwell.app.moving import hits_in
from stepwell.app.panes.verdicts import NOT_WATCHED, table_words, verdict_words
from stepwell.core import moves
from stepwell.core.changed import ChangedSteps
from stepwell.core.moves import Move
from stepwell.core.past import Certainty, StepChanges
from stepwell.core.timeline import Timeline
from stepwell.core.world import Moment

CHANGES = {"change_next": 1, "change_previous": -1}
"""Names of moves, as bindings use them, and the way they go."""


def change_move(timeline: Timeline, changed: ChangedSteps, count: int) -> tuple[Move, bool]:
    """To the step `count` changes on, or back where it is negative, and whether that is one.

    Past the last of them to the end of the run, as continue goes; where there is none it stays, and says why. The
    change of a step is seen when it had finished, so that is the moment then.
    """
    found = (timeline.outline.index_of(number) for number in hits_in(timeline, changed.numbers))
    stops = [index for index in found if index is not None]
    if not stops:
        return Move(timeline, why_none(changed)), False
    side = bisect_right if count > 0 else bisect_left
    at = side(stops, timeline.cursor) + count - (count > 0)
    if 0 <= at < len(stops):
        after = replace(timeline, moment=Moment.AFTER)
        return moves.go_to_index(after, stops[at], f"change {at + 1} of {len(stops)}"), True
    return _to_the_end(timeline, changed, forwards=count > 0), False


def _to_the_end(timeline: Timeline, changed: ChangedSteps, *, forwards: bool) -> Move:
    words = f"no {'further' if forwards else 'earlier'} change{' known' if changed.partly else ''}"
    if forwards and timeline.running:
        words += " so far; F follows"
    index = timeline.visible.shown[-1] if forwards else 0
    return moves.go_to_index(timeline, index, words if index == timeline.cursor else f"{words}; '' returns")


def is_as_before(changes: StepChanges) -> bool:
    """Whether each row of the watched tables is at the end of a step as it was at its beginning."""
    return all(
        table.count == 0 and table.table.verdict.certainty is not Certainty.UNKNOWN
        for table in changes.tables
    )


def why_none(changed: ChangedSteps) -> str:
    """Why no step is known to have changed a table, with the remedy where there is one."""
    if not changed.tables:
        return NOT_WATCHED
    if not changed.told:
        return "no step of this run has snapshots, as one that a Recorder records live has"
    unknown = [each for each in changed.tables if each.verdict.certainty is Certainty.UNKNOWN]
    if unknown:
        return f"no change known: {table_words(unknown[0])} {verdict_words(unknown[0])}"
    return f"no watched table changed during a step{', as far as is known' if changed.partly else ''}"
