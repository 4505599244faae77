"""Breakpoints are predicates that can be saved as a line of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.breakpoints import (
    KINDS,
    Breakpoint,
    Condition,
    OnError,
    OnLap,
    OnName,
    OnType,
    default_for,
    parse_breakpoint,
    parse_condition,
    switched,
    toggled,
)
from stepwell.core.heads import Heads
from stepwell.core.outline import Outline
from stepwell.errors import UsageError

from .heads import script, state, tool

conditions = (
    st.builds(OnName, st.text(min_size=1))
    | st.builds(OnType, st.text(min_size=1))
    | st.just(OnError())
    | st.builds(OnLap, st.integers(1, 10**8))
)


def hits(text: str, condition: Condition, *, running: bool = False) -> list[int]:
    outline = Outline(Heads.of(script(text)), running)
    return [outline.steps.numbers[index] for index in condition.find(outline)]


def test_by_name_stops_at_a_tool_or_a_model() -> None:
    assert hits("LaLb", OnName("tool_a")) == [2]
    assert hits("LaLb", OnName("gpt")) == [1, 3]


def test_by_type() -> None:
    assert hits("LaSb", OnType("tool_call")) == [2, 4]


def test_on_errors_stops_at_what_raised_and_at_what_was_left_in_doubt() -> None:
    assert hits("La!?", OnError()) == [3, 4]


def test_a_step_still_running_is_no_error() -> None:
    assert hits("La!?", OnError(), running=True) == [3]


def test_on_loops_stops_at_the_first_call_of_the_lap() -> None:
    assert hits("LabLabLabLcLcL", OnLap()) == [5, 13]
    assert hits("LabLabLabLcLcL", OnLap(3)) == [8]


@given(st.builds(Breakpoint, conditions, st.booleans()))
def test_text_reads_back_as_the_same_breakpoint(point: Breakpoint) -> None:
    assert parse_breakpoint(point.text) == point


@pytest.mark.parametrize(
    "text", ["", "nonsense", "nonsense:1", "name:", "type:", "error:x", "lap:0", "lap:-1", "lap:²"]
)
def test_what_makes_no_sense_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_condition(text)
    assert "\n" not in str(refused.value)


def test_an_unknown_kind_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no breakpoint kind 'nme': one of name, type, error, lap"):
        parse_condition("nme:x")


def test_a_lap_without_a_number_is_the_second() -> None:
    assert parse_condition("lap") == OnLap(2)


def test_every_kind_is_registered_under_its_own_name() -> None:
    assert all(kind == condition.kind for kind, condition in KINDS.items())


def test_every_condition_has_a_label_for_people() -> None:
    made: list[Condition] = [OnName("search"), OnType("tool_call"), OnError(), OnLap(3)]
    assert [condition.label for condition in made] == [
        "search",
        "every tool_call",
        "errors",
        "lap 3 of a loop",
    ]


def test_the_default_is_the_name_and_the_type_where_there_is_none() -> None:
    assert default_for(tool(1, "a")) == OnName("tool_a")
    assert default_for(state(1)) == OnType("state_update")


def test_toggling_adds_and_then_removes() -> None:
    once = toggled((), OnError())
    assert once == (Breakpoint(OnError()),)
    assert toggled(once, OnError()) == ()


def test_switching_off_keeps_the_breakpoint() -> None:
    points = (Breakpoint(OnError()), Breakpoint(OnLap()))
    off = switched(points, OnLap())
    assert off == (Breakpoint(OnError()), Breakpoint(OnLap(), enabled=False))
    assert switched(off, OnLap()) == points
