"""Folding is stepping over: what is folded is one row."""

from stepwell.app.moving import fold_all
from stepwell.core import moves
from stepwell.core.folding import Row, RowKind
from stepwell.core.steps import StepHead
from stepwell.core.timeline import Timeline, build

from .heads import model, run, script, tool

NESTED = [model(1), tool(2, "a"), model(3), tool(4, "b", parent=2), tool(5, "c", parent=4), model(6)]


def opened(steps: list[StepHead], at: int = 0) -> Timeline:
    return build(run(), steps).at(at)


def numbers(timeline: Timeline) -> list[int]:
    return [timeline.steps[row.index].number for row in timeline.visible]


def current(timeline: Timeline) -> int:
    assert timeline.current is not None
    return timeline.current.number


def test_unfolded_every_step_is_a_row_indented_by_its_parents() -> None:
    assert [(row.index, row.depth) for row in opened(NESTED).visible] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 1),
        (4, 2),
        (5, 0),
    ]


def test_a_folded_parent_hides_all_that_it_called() -> None:
    folded = moves.toggle_fold(opened(NESTED, 1)).timeline
    assert numbers(folded) == [1, 2, 3, 6]
    assert folded.visible[1] == Row(1, 0, 2, RowKind.PARENT)


def test_a_folded_loop_is_its_first_lap_and_one_row_for_the_others() -> None:
    folded = moves.toggle_fold(opened(script("LaLaLaLaLb"), 1)).timeline
    assert numbers(folded) == [1, 2, 3, 4, 9, 10]
    assert folded.visible[3] == Row(3, 0, 3, RowKind.LAPS)


def test_folding_moves_the_cursor_to_the_row_that_stands_for_its_step() -> None:
    assert current(moves.toggle_fold(opened(script("LaLaLaLaL"), 7)).timeline) == 4
    assert current(moves.toggle_fold(opened(NESTED, 4)).timeline) == 4


def test_the_same_key_unfolds_again() -> None:
    for steps, at in ((NESTED, 1), (script("LaLaLaL"), 3)):
        before = opened(steps, at)
        folded = moves.toggle_fold(before).timeline
        assert moves.toggle_fold(folded).timeline.visible == before.visible


def test_a_parent_can_be_folded_from_within() -> None:
    folded = moves.toggle_fold(opened([tool(1, "a"), model(2, parent=1)], 1)).timeline
    assert (numbers(folded), current(folded)) == ([1], 1)


def test_folded_laps_hide_what_their_calls_called() -> None:
    steps = [tool(1, agent="x"), tool(2, agent="x"), model(3, agent="y", parent=2), model(4, agent="y")]
    folded = moves.fold_loops(build(run(), steps)).timeline
    assert numbers(folded) == [1, 2, 4]
    assert current(moves.go_to_number(folded, 3).timeline) == 3


def test_other_agents_stay_in_view_between_folded_laps() -> None:
    steps = [tool(1, agent="x"), tool(2, agent="x"), model(3, agent="y"), tool(4, agent="x")]
    assert numbers(moves.fold_loops(build(run(), steps)).timeline) == [1, 2, 3]


def test_all_loops_fold_and_everything_unfolds() -> None:
    timeline = build(run(), script("aaaLbbb"))
    folded = moves.fold_loops(timeline).timeline
    assert numbers(folded) == [1, 2, 4, 5, 6]
    assert moves.unfold_all(folded).timeline.visible == timeline.visible


def test_there_may_be_nothing_to_fold() -> None:
    assert moves.toggle_fold(opened(script("LaL"))).message == "nothing to fold here"
    assert moves.fold_loops(opened(script("LaL"))).message == "no loop in this run"


def test_what_would_leave_every_row_in_view_is_not_folded() -> None:
    """Two laps of one call each, also where two agents take turns."""
    for steps in (script("LaaL"), [tool(n, "ab"[n % 2], agent="xy"[n % 2]) for n in range(4)]):
        timeline = opened(steps, 1)
        assert timeline.loops
        assert moves.toggle_fold(timeline) == moves.Move(timeline, "nothing to fold here")
        assert fold_all(timeline) == moves.Move(timeline, "nothing to fold in this run")


def test_folding_or_unfolding_all_once_more_says_that_nothing_is_left_to_do() -> None:
    timeline = opened(script("LaLaLaLaL"))
    folded = fold_all(timeline).timeline
    assert len(folded.visible) < len(timeline.visible)
    assert fold_all(folded).message == "nothing more to fold in this run"
    assert moves.unfold_all(timeline).message == "nothing is folded"


def test_a_parent_that_comes_after_its_child_or_is_not_there_is_none() -> None:
    steps = [tool(1, "a", parent=2), tool(2, "b", parent=99), tool(3, "c", parent=3)]
    assert [row.depth for row in opened(steps).visible] == [0, 0, 0]
