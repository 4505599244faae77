"""Names of moves, as bindings use them, to pure moves on a timeline."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

from stepwell.core import moves
from stepwell.core.folding import parent_fold
from stepwell.core.moves import Move
from stepwell.core.search import folds_case
from stepwell.core.timeline import Timeline


def _counted(move: Callable[[Timeline, int], Move]) -> Callable[[Timeline, int | None], Move]:
    return lambda timeline, count: move(timeline, count or 1)


def _plain(move: Callable[[Timeline], Move]) -> Callable[[Timeline, int | None], Move]:
    """A move that a count repeats, until it leads no further."""

    def repeated(timeline: Timeline, count: int | None) -> Move:
        done = move(timeline)
        for _ in range((count or 1) - 1):
            if done.timeline.cursor == timeline.cursor:
                break
            timeline = done.timeline
            done = move(timeline)
        return done

    return repeated


def _first(timeline: Timeline, count: int | None) -> Move:
    return moves.first(timeline) if count is None else moves.go_to_number(timeline, count)


def _last(timeline: Timeline, count: int | None) -> Move:
    return moves.last(timeline) if count is None else moves.go_to_number(timeline, count)


def _percent(timeline: Timeline, count: int | None) -> Move:
    if count is None:
        return Move(timeline, "a number first: 50%")
    return moves.go_to_percent(timeline, count)


def fold_all(timeline: Timeline) -> Move:
    """Fold every loop and every step that called others."""
    outline = timeline.outline
    parents = {fold for index in outline.nesting.descendants if (fold := parent_fold(outline, index))}
    folded = moves.fold_loops(timeline).timeline
    folded = folded.refolded(folded.folded | parents)
    if folded is timeline or (not parents and len(folded.layout) == len(timeline.layout)):
        return Move(timeline, f"nothing {'more ' if timeline.folded else ''}to fold in this run")
    return Move(folded)


MOVES: dict[str, Callable[[Timeline, int | None], Move]] = {
    "forward": _counted(moves.forward),
    "back": _counted(moves.back),
    "first": _first,
    "last": _last,
    "percent": _percent,
    "agent_next": _counted(moves.same_agent),
    "agent_previous": lambda timeline, count: moves.same_agent(timeline, -(count or 1)),
    "moment": lambda timeline, _: moves.toggle_moment(timeline),
    "continue": _plain(moves.continue_),
    "reverse": _plain(moves.reverse_continue),
    "error_next": _plain(moves.next_error),
    "error_previous": _plain(moves.previous_error),
    "lap_next": _plain(moves.next_lap),
    "lap_previous": _plain(moves.previous_lap),
    "lap_first": _plain(moves.first_lap),
    "undo": _plain(moves.undo_jump),
    "fold": lambda timeline, _: moves.toggle_fold(timeline),
    "fold_all": lambda timeline, _: moves.unfold_all(timeline) if timeline.folded else fold_all(timeline),
}
"""Each takes the timeline and the count typed before the key, None for none."""


def hits_in(timeline: Timeline, numbers: Iterable[int]) -> tuple[int, ...]:
    """Of the steps that a search found those of this timeline, and those that it will yet grow to, in order."""
    last = timeline.steps.numbers[-1] if timeline.steps else -1
    found = sorted(set(numbers))
    return tuple(
        [number for number in found if number > last or timeline.outline.index_of(number) is not None]
    )


def agents_named(timeline: Timeline, text: str) -> list[int]:
    """Numbers of the first steps of the agents in whose names a text occurs, case folded as by a search."""
    folds = folds_case(text)
    steps = timeline.outline.by_agent
    return [
        timeline.steps.numbers[steps[agent][0]]
        for agent in steps
        if text in ((agent or "").lower() if folds else agent or "")
    ]


def search_hit(timeline: Timeline, hits: Sequence[int], *, forwards: bool, from_here: bool = False) -> Move:
    """To the next of `hits_in`; past the last it goes on at the first, and says so.

    `from_here`: the step at the cursor counts, as it does for the first hit.
    """
    numbers = timeline.steps.numbers
    there = bisect_right(hits, numbers[-1]) if numbers else 0
    if not there:
        return Move(timeline, "not found")
    side = bisect_left if from_here or not forwards else bisect_right
    at = side(hits, timeline.cursor, 0, there, key=lambda number: bisect_left(numbers, number)) - (
        not forwards
    )
    wrapped = "" if 0 <= at < there else ", went round"
    index = timeline.outline.index_of(hits[at % there])
    words = f"hit {at % there + 1} of {there}{wrapped}"
    return Move(timeline, words) if index is None else moves.go_to_index(timeline, index, words)
