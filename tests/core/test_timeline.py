"""A timeline says where one stands, flags its steps, and grows with a live run."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stepwell.core import moves
from stepwell.core.breakpoints import Breakpoint, OnLap, OnName
from stepwell.core.timeline import build

from .heads import model, run, script, state, tool, unfinished


def test_the_position_counts_steps_and_not_numbers() -> None:
    timeline = build(run(), [model(number) for number in range(100, 123)]).at(16)
    assert timeline.position() == "17/23 74%"


def test_the_position_in_a_live_run_says_that_there_may_be_more() -> None:
    assert build(run("running"), [model(n) for n in range(318)]).at(6).position() == "7/318+ 2%"


def test_a_run_without_steps_has_nothing_to_show_and_no_move_fails() -> None:
    timeline = build(run(), [])
    assert (timeline.position(), timeline.current, timeline.strip(80)) == ("0/0", None, "")
    assert len(timeline.visible) == 0
    assert moves.forward(timeline).message == "the run has no steps"


def test_flags_are_letters() -> None:
    timeline = build(
        run("died"), script("LaSaL!?"), breakpoints=[Breakpoint(OnName("tool_a")), Breakpoint(OnLap())]
    )
    assert [timeline.flags(index) for index in range(7)] == [
        (),
        ("*",),
        ("w",),
        ("*", "o2"),
        (),
        ("!",),
        ("?",),
    ]


def test_an_unfinished_step_of_a_running_run_is_running() -> None:
    assert build(run("running"), [unfinished(1)]).flags(0) == ("~",)


def test_a_breakpoint_switched_off_flags_nothing() -> None:
    timeline = build(run(), script("a"), breakpoints=[Breakpoint(OnName("tool_a"), enabled=False)])
    assert timeline.flags(0) == ()


def test_new_steps_change_only_the_total() -> None:
    before = moves.go_to_number(build(run("running"), script("LaL")), 2).timeline
    after = before.extended([tool(4, "a"), model(5)])
    assert (after.position(), after.current, after.jumps) == ("2/5+ 40%", before.current, before.jumps)
    assert after.lap(3) == 2


def test_a_step_that_finishes_replaces_its_head() -> None:
    before = build(run("running"), [model(1), unfinished(2)])
    after = before.extended(updated=[tool(2, "a")])
    assert (before.flags(1), after.flags(1)) == (("~",), ())
    assert len(after.steps) == 2


def test_a_run_that_dies_leaves_its_running_step_in_doubt() -> None:
    after = build(run("running"), [unfinished(1)]).extended(run=run("died"))
    assert after.flags(0) == ("?",)
    assert after.position() == "1/1 100%"


def test_steps_that_arrive_late_keep_the_cursor_and_the_jumps_on_their_steps() -> None:
    before = build(run("running"), [model(1), model(3), model(5)])
    before = moves.last(moves.forward(before).timeline).timeline
    after = before.extended([model(4), model(2), model(6)])
    assert [step.number for step in after.steps] == [1, 2, 3, 4, 5, 6]
    assert after.current == before.current
    assert moves.undo_jump(after).timeline.current == model(3)


def test_what_is_folded_stays_folded_while_the_loop_goes_on() -> None:
    before = moves.fold_loops(build(run("running"), script("LaLaL"))).timeline
    after = before.extended([tool(6, "a"), model(7)])
    assert [(row.index, row.count) for row in after.visible] == [(0, 0), (1, 0), (2, 0), (3, 2), (6, 0)]


def test_a_run_seen_before_its_first_step_starts_at_it() -> None:
    after = build(run("running"), []).extended([state(4)])
    assert after.current == state(4)


def test_nothing_new_changes_nothing() -> None:
    before = build(run("running"), script("LaL"))
    assert before.extended(run=replace(run("running"), steps=3)).layout is before.layout


def test_updates_of_a_repeated_number_are_taken_in_row_order() -> None:
    before = build(run("running"), [unfinished(2), unfinished(2)])
    after = before.extended(updated=[tool(2, "a"), tool(2, "b")])
    assert [step.name for step in after.steps] == ["tool_a", "tool_b"]


@given(st.lists(st.integers(1, 20), unique=True), st.lists(st.integers(1, 20), unique=True), st.data())
def test_extending_is_building_anew_with_the_cursor_kept(
    old: list[int], new: list[int], data: st.DataObject
) -> None:
    new = [number for number in new if number not in old]
    before = build(run("running"), [model(n) for n in sorted(old)])
    if old:
        before = before.at(data.draw(st.integers(0, len(old) - 1)))
    after = before.extended([model(n) for n in new])
    assert after.steps == tuple(model(n) for n in sorted([*old, *new]))
    if old:
        assert after.current == before.current
