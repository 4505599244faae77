"""Every key that moves: where it lands, and what it says when that is not where one would think."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core import moves
from stepwell.core.address import Clock, Offset, Target
from stepwell.core.breakpoints import Breakpoint, Condition, OnError, OnLap, OnName
from stepwell.core.moves import Move
from stepwell.core.steps import StepHead
from stepwell.core.timeline import Timeline, build
from stepwell.core.world import Moment

from .heads import model, run, script, timed, tool

RETURNS = "no further hit; '' returns"


def opened(steps: Sequence[StepHead] | str, at: int = 1, *on: Condition, status: str = "ok") -> Timeline:
    """A run at its step number `at`, with breakpoints."""
    heads = script(steps) if isinstance(steps, str) else steps
    timeline = build(run(status), heads, breakpoints=[Breakpoint(condition) for condition in on])
    return moves.go_to_number(timeline, at).timeline


def said(move: Move) -> tuple[int | None, str | None]:
    """The step number where a move landed, and its message."""
    return (move.timeline.current.number if move.timeline.current else None), move.message


def test_next_and_back_go_over_visible_rows() -> None:
    timeline = opened("LaLaLaL", 2)
    assert said(moves.forward(timeline)) == (3, None)
    assert said(moves.back(timeline)) == (1, None)
    folded = moves.fold_loops(timeline).timeline
    there = moves.forward(folded, 2)
    assert said(there) == (4, None)
    assert said(moves.forward(there.timeline)) == (7, None)


def test_a_count_stops_at_the_end_and_says_so() -> None:
    timeline = opened("LaSL", 2)
    assert said(moves.forward(timeline, 12)) == (4, "at the last step")
    assert said(moves.back(timeline, 12)) == (1, "at the first step")
    assert said(moves.forward(opened("LaS", 3, status="running"))) == (3, "at the last step so far")


def test_first_and_last() -> None:
    timeline = opened("LaSL", 2)
    assert (said(moves.first(timeline)), said(moves.last(timeline))) == ((1, None), (4, None))


def test_the_same_agent_is_followed_past_the_others() -> None:
    timeline = opened([model(n, agent=agent) for n, agent in enumerate("xyyxyx", 1)], 1)
    there = moves.same_agent(timeline).timeline
    assert said(Move(there)) == (4, None)
    assert said(moves.same_agent(there, -1)) == (1, None)
    assert said(moves.same_agent(timeline, 9)) == (6, "no further step of x")
    assert said(moves.same_agent(timeline, -1)) == (1, "no earlier step of x")


def test_asked_and_after_are_two_worlds_of_one_step() -> None:
    asked = moves.toggle_moment(opened("La")).timeline
    assert asked.moment is Moment.ASKED
    assert moves.forward(asked).timeline.moment is Moment.ASKED
    assert moves.toggle_moment(asked).timeline.moment is Moment.AFTER


def test_a_number_outside_of_the_run_lands_nowhere_and_says_why() -> None:
    timeline = opened("LaSL", 2)
    assert said(moves.go_to_number(timeline, 99)) == (2, "step 99: the run has 1-4")
    assert said(moves.go_to_number(timeline, 0)) == (2, "step 0: the run has 1-4")


def test_a_number_in_a_gap_lands_on_the_nearest() -> None:
    timeline = opened([model(10), model(11), model(20)], 11)
    assert said(moves.go_to_number(timeline, 17)) == (20, "step 17 is not there, the nearest is 20")
    assert said(moves.go_to_number(timeline, 10)) == (10, None)


def test_a_number_that_repeats_means_its_first_row() -> None:
    timeline = build(run(), [model(1), tool(2, "a"), tool(2, "b"), model(3)])
    assert moves.go_to_number(timeline, 2).timeline.cursor == 1
    assert moves.forward(timeline, 2).timeline.cursor == 2


@pytest.mark.parametrize(("percent", "number"), [(0, 1), (25, 1), (26, 2), (50, 2), (100, 4), (250, 4)])
def test_percentages_land_where_the_position_says_so(percent: float, number: int) -> None:
    assert said(moves.go_to_percent(opened("LaSL"), percent)) == (number, None)


@pytest.mark.parametrize(
    ("target", "landing"),
    [
        (Offset(0), (1, None)),
        (Offset(60), (3, None)),
        (Offset(61), (4, None)),
        (Offset(99), (2, "@+99s: the last step began at @+90s")),
        (Clock(11, 41), (1, None)),
        (Clock(11, 42), (3, None)),
        (Clock(11, 42, 4), (4, None)),
        (Clock(11, 41, 3), (1, None)),
        (Clock(11, 40), (2, "@11:40: steps began 11:41:03-11:42:33 UTC")),
    ],
)
def test_a_time_is_the_first_step_that_began_then_or_later(
    target: Target, landing: tuple[int | None, str | None]
) -> None:
    assert said(moves.go_to(opened(timed([0, 30, 60, 90]), 2), target)) == landing


def test_a_clock_time_before_the_start_means_the_next_day() -> None:
    assert said(moves.go_to(opened(timed([0, 3600, 23 * 3600])), Clock(10, 0))) == (3, None)


def test_without_times_there_is_no_going_to_one() -> None:
    assert said(moves.go_to(opened("La"), Offset(1))) == (1, "@+1s: no step has a time")


def test_a_run_without_its_start_counts_from_its_first_step() -> None:
    timeline = build(replace(run(), started=None), timed([100, 130]))
    assert said(moves.go_to(timeline, Offset(30))) == (2, None)


def test_continue_never_counts_the_current_step_and_stops_at_the_end() -> None:
    timeline = opened("LaLaLbL", 2, OnName("tool_a"))
    there = moves.continue_(timeline)
    assert said(there) == (4, "hit tool_a")
    end = moves.continue_(there.timeline)
    assert said(end) == (7, RETURNS)
    assert said(moves.continue_(end.timeline)) == (7, "no further hit")
    assert said(moves.undo_jump(end.timeline)) == (4, None)


def test_reverse_continue_stops_at_the_first_step() -> None:
    timeline = opened("LaLaL", 4, OnName("tool_a"))
    there = moves.reverse_continue(timeline)
    assert said(there) == (2, "hit tool_a")
    assert said(moves.reverse_continue(there.timeline)) == (1, RETURNS)


def test_continue_on_a_live_run_offers_to_follow() -> None:
    timeline = opened("LaL", 1, OnError(), status="running")
    assert said(moves.continue_(timeline)) == (3, "no further hit so far; F follows; '' returns")


def test_continue_says_where_no_breakpoint_is_set() -> None:
    timeline = opened("LaL")
    assert said(moves.continue_(timeline)) == (3, "no breakpoint is set; '' returns")
    off = replace(timeline, breakpoints=(Breakpoint(OnName("tool_a"), enabled=False),))
    assert said(moves.continue_(off)) == (3, "no breakpoint is set; '' returns")


def test_a_hit_within_a_fold_opens_it() -> None:
    folded = moves.fold_loops(opened("LaLaLaLaL", 1, OnLap(3))).timeline
    there = moves.continue_(folded)
    assert said(there) == (6, "hit lap 3 of a loop")
    assert there.timeline.folded == frozenset()


def test_errors_are_found_both_ways_and_not_beyond_the_ends() -> None:
    timeline = opened("L!L?L")
    one = moves.next_error(timeline).timeline
    two = moves.next_error(one).timeline
    assert (said(Move(one)), said(Move(two))) == ((2, None), (4, None))
    assert said(moves.next_error(two)) == (4, "no further error")
    assert said(moves.previous_error(two)) == (2, None)
    assert said(moves.next_error(opened("LaL"))) == (1, "no error in this run")


def test_laps_are_gone_through_one_by_one() -> None:
    timeline = opened("LaLaLaLbL", 1)
    one = moves.next_lap(timeline)
    two = moves.next_lap(one.timeline)
    assert said(one) == (2, "lap 1 of 3, tool_a")
    assert said(two) == (4, "lap 2 of 3, tool_a")
    assert said(moves.previous_lap(two.timeline)) == said(one)
    assert said(moves.next_lap(opened("LaLaLaLbL", 8))) == (8, "no further lap")
    assert said(moves.next_lap(opened("LaL"))) == (1, "no lap in this run")


def test_the_first_lap_is_that_of_this_loop_or_of_the_worst() -> None:
    assert said(moves.first_lap(opened("aaLbbbL", 2))) == (1, "lap 1 of 2, tool_a")
    assert said(moves.first_lap(opened("aaLbbbL", 7))) == (4, "lap 1 of 3, tool_b")
    assert said(moves.first_lap(opened("LaL"))) == (1, "no lap in this run")


def test_jumps_are_undone_one_after_the_other_and_single_steps_are_no_jumps() -> None:
    timeline = opened("LaSLaSL")
    away = moves.last(moves.forward(moves.go_to_number(timeline, 5).timeline).timeline).timeline
    once = moves.undo_jump(away)
    twice = moves.undo_jump(once.timeline)
    assert (said(once), said(twice)) == ((6, None), (1, None))
    assert said(moves.undo_jump(twice.timeline)) == (1, "no jump to undo")


def test_jumps_that_lead_nowhere_are_not_remembered() -> None:
    assert moves.first(opened("LaS")).timeline.jumps == ()
    assert moves.go_to_number(opened("LaS"), 99).timeline.jumps == ()


def test_the_memory_for_jumps_is_bounded() -> None:
    timeline = opened("LaS")
    for number in (2, 3) * moves.MAX_JUMPS:
        timeline = moves.go_to_number(timeline, number).timeline
    assert len(timeline.jumps) == moves.MAX_JUMPS


def test_a_bookmark_is_a_letter_for_a_step() -> None:
    marked = moves.set_bookmark(opened("LaSL", 2), "k")
    assert said(marked) == (2, "bookmark k at step 2")
    away = moves.last(marked.timeline).timeline
    assert said(moves.go_to_bookmark(away, "k")) == (2, None)
    assert said(moves.go_to_bookmark(away, "x")) == (4, "no bookmark 'x'; set: k@2")
    assert said(moves.set_bookmark(away, "1")) == (4, "a bookmark is a letter, a-z or A-Z")


EVERY_MOVE: list[Callable[[Timeline], Move]] = [
    moves.forward,
    moves.back,
    lambda timeline: moves.forward(timeline, 3),
    lambda timeline: moves.back(timeline, 3),
    moves.first,
    moves.last,
    moves.same_agent,
    lambda timeline: moves.same_agent(timeline, -1),
    moves.toggle_moment,
    lambda timeline: moves.go_to_number(timeline, 5),
    lambda timeline: moves.go_to_percent(timeline, 50),
    lambda timeline: moves.go_to(timeline, Offset(1)),
    moves.continue_,
    moves.reverse_continue,
    moves.next_error,
    moves.previous_error,
    moves.next_lap,
    moves.previous_lap,
    moves.first_lap,
    moves.undo_jump,
    moves.toggle_fold,
    moves.fold_loops,
    moves.unfold_all,
    lambda timeline: moves.set_bookmark(timeline, "a"),
    lambda timeline: moves.go_to_bookmark(timeline, "a"),
]


@st.composite
def runs(draw: st.DrawFn) -> Timeline:
    """Runs of some agents with gaps, repeated numbers, nesting, loops, errors and doubts."""
    heads: list[StepHead] = []
    number = draw(st.integers(-3, 5))
    for head in script(draw(st.text("LSab!?", max_size=25))):
        number += draw(st.sampled_from([1, 1, 1, 1, 0, 3]))
        parent = draw(st.sampled_from([None, None, number - 1, number - 2, number + 1]))
        agent = draw(st.sampled_from([None, None, "x"]))
        heads.append(replace(head, number=number, parent=parent, agent=agent))
    points = [Breakpoint(OnName("tool_a")), Breakpoint(OnLap()), Breakpoint(OnError(), enabled=False)]
    return build(run(draw(st.sampled_from(["ok", "running", "died"]))), heads, breakpoints=points)


@given(runs(), st.lists(st.sampled_from(EVERY_MOVE), max_size=12))
def test_whatever_is_pressed_the_cursor_is_on_a_visible_row(
    timeline: Timeline, pressed: list[Callable[[Timeline], Move]]
) -> None:
    for press in pressed:
        move = press(timeline)
        timeline = move.timeline
        if timeline.steps:
            assert timeline.visible[timeline.row].index == timeline.cursor
            assert timeline.visible[timeline.layout.row_of(timeline.cursor)].index == timeline.cursor
            assert [row.index for row in timeline.visible] == sorted({row.index for row in timeline.visible})
        else:
            assert move.message or not timeline.visible
        assert move.message is None or "\n" not in move.message


@given(runs(), st.lists(st.sampled_from(EVERY_MOVE), max_size=8))
def test_next_then_back_returns(timeline: Timeline, pressed: list[Callable[[Timeline], Move]]) -> None:
    for press in pressed:
        timeline = press(timeline).timeline
    there = moves.forward(timeline)
    if there.message is None:
        assert moves.back(there.timeline).timeline == timeline


@given(runs())
def test_reverse_continue_meets_the_hits_of_continue_backwards(timeline: Timeline) -> None:
    def meet(way: Callable[[Timeline], Move], at: Timeline) -> tuple[list[int], Timeline]:
        met = []
        while (move := way(at)).message and move.message.startswith("hit "):
            at = move.timeline
            met.append(at.cursor)
        return met, move.timeline

    there, end = meet(moves.continue_, timeline)
    back, _ = meet(moves.reverse_continue, end)
    last_is_hit = bool(timeline.steps) and timeline.is_hit(len(timeline.steps) - 1)
    first_is_hit = bool(timeline.steps) and timeline.is_hit(0) and 0 not in there
    expected = ([0] if first_is_hit and len(timeline.steps) > 1 else []) + (
        there[:-1] if last_is_hit else there
    )
    assert back == expected[::-1]


@given(runs(), st.lists(st.sampled_from(EVERY_MOVE), min_size=1, max_size=8))
def test_undo_returns_to_where_the_jump_began(
    timeline: Timeline, pressed: list[Callable[[Timeline], Move]]
) -> None:
    for press in pressed:
        before, timeline = timeline, press(timeline).timeline
        if len(timeline.jumps) > len(before.jumps):
            assert moves.undo_jump(timeline).timeline.cursor == before.cursor
