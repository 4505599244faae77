"""Names of moves, as bindings use them, to pure moves on a timeline."""

from collections.abc import Callable

from stepwell.core import moves
from stepwell.core.folding import parent_fold
from stepwell.core.moves import Move
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
    if not parents and folded is timeline:
        return Move(timeline, "nothing to fold in this run")
    return Move(folded.refolded(folded.folded | parents))


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


def search_hit(
    timeline: Timeline, numbers: tuple[int, ...], *, forwards: bool, from_here: bool = False
) -> Move:
    """To the next of the steps that a search found; past the last it goes on at the first, and says so.

    `from_here`: the step at the cursor counts, as it does for the first hit.
    """
    indexes = sorted(
        index for number in set(numbers) if (index := timeline.outline.index_of(number)) is not None
    )
    if not indexes:
        return Move(timeline, "not found")
    here = timeline.cursor
    if forwards:
        ahead = [index for index in indexes if index > here or (from_here and index == here)]
        target = ahead[0] if ahead else indexes[0]
    else:
        ahead = [index for index in indexes if index < here]
        target = ahead[-1] if ahead else indexes[-1]
    wrapped = "" if ahead else ", went round"
    return moves.go_to_index(timeline, target, f"hit {indexes.index(target) + 1} of {len(indexes)}{wrapped}")
