"""A step address is printed, copied and accepted everywhere."""

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.address import (
    Address,
    Clock,
    Number,
    Offset,
    Percent,
    Target,
    parse_address,
    parse_goto,
    parse_path,
    parse_target,
    pick_run,
    resolve_path,
    short_id,
    target_text,
)
from stepwell.core.state import path_text
from stepwell.errors import NotFoundError, StepwellError, UsageError

paths = st.lists(st.text() | st.integers(-999, 999), max_size=5).map(tuple)
targets = (
    st.builds(Number, st.integers(0, 10**18 - 1))
    | st.builds(Percent, st.integers(0, 100).map(float))
    | st.builds(Clock, st.integers(0, 23), st.integers(0, 59), st.none() | st.integers(0, 59))
    | st.builds(Offset, st.integers(0, 10**8))
)
runs = st.sampled_from(["@failed", "@last"]) | st.text("0123456789abcdef", min_size=1, max_size=32)
A, B, C = (UUID(f"{head}-0000-4000-8000-000000000000") for head in ("7f3a1000", "7f3a2000", "90000000"))


@given(st.builds(Address, runs, st.none() | targets, st.none() | paths))
def test_a_printed_address_reads_back(address: Address) -> None:
    assert parse_address(str(address)) == address


@given(paths)
def test_a_printed_path_reads_back(path: tuple[str | int, ...]) -> None:
    assert parse_path(path_text(path)) == path


def refusal(parse: Callable[[str], object], text: str) -> str:
    """What it says when it refuses, nothing when it does not; any other exception is a fault."""
    try:
        parse(text)
    except StepwellError as refused:
        return str(refused)
    return ""


@given(st.text() | st.text("7f@:$.[]\"'%+ms0"))
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    for parse in (parse_address, parse_goto, parse_path, parse_target):
        assert "\n" not in refusal(parse, text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("7F3A", Address("7f3a")),
        ("7f3a1000-0000-4000", Address("7f3a100000004000")),
        ("7f3a:17", Address("7f3a", Number(17))),
        ("7f3a:17:$.plan[2]", Address("7f3a", Number(17), ("plan", 2))),
        ("7f3a:$.plan", Address("7f3a", None, ("plan",))),
        ("@failed:50%", Address("@failed", Percent(50))),
        ("@last:@11:42:07:$", Address("@last", Clock(11, 42, 7), ())),
        ('7f:@11:42:$["a:b"]', Address("7f", Clock(11, 42), ("a:b",))),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("17", Number(17)),
        ("12.5%", Percent(12.5)),
        ("@9:05", Clock(9, 5)),
        ("@+90s", Offset(90)),
        ("@+90", Offset(90)),
        ("@+1m30s", Offset(90)),
        ("@+2h", Offset(7200)),
    ],
)
def test_places_in_a_run(text: str, target: Target) -> None:
    assert parse_goto(text) == target
    assert parse_target(target_text(target)) == target


def test_go_to_takes_an_address_as_well() -> None:
    assert parse_goto("7f3a:17") == Address("7f3a", Number(17))
    assert parse_goto("@failed") == Address("@failed")


@pytest.mark.parametrize(
    "text", ["", "-1", "101%", "@24:00", "@11:60", "@11:42:60", "@+", "@+s", "x", "1" * 19]
)
def test_places_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="a step reads 17, 50%"):
        parse_target(text)


@pytest.mark.parametrize("text", ["", "g", "7f:", "7f:x", "7f$.a", "7f:17:plan", "@first", "f" * 33])
def test_addresses_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        parse_address(text)


@pytest.mark.parametrize("text", ["", "plan", "$plan", "$.", "$.a.", "$[x]", '$["a]', "$[]", '$["\\x"]'])
def test_paths_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError):
        parse_path(text)


def test_a_path_leads_into_objects_and_lists() -> None:
    value = {"plan": ["find", {"a b": None}]}
    assert resolve_path(value, ()) is value
    assert resolve_path(value, ("plan", 0)) == "find"
    assert resolve_path(value, ("plan", -1, "a b")) is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("x",), "no $.x: $ is an object with the keys 'plan', 'n'"),
        (("plan", 7), "no $.plan[7]: $.plan is a list of 1"),
        (("plan", "x"), "no $.plan.x: $.plan is a list of 1"),
        (("plan", 0, "x"), "no $.plan[0].x: $.plan[0] is a text of 4 characters"),
        (("n", "x"), "no $.n.x: $.n is null"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_led(path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(NotFoundError) as missing:
        resolve_path({"plan": ["find"], "n": None}, path)
    assert str(missing.value) == message


def test_a_short_id_has_four_digits_or_as_many_as_tell_it_apart() -> None:
    assert short_id(A) == "7f3a"
    assert short_id(A, [A, C]) == "7f3a"
    assert short_id(A, [A, B, C]) == "7f3a1"


def test_a_prefix_picks_the_one_run_that_begins_with_it() -> None:
    assert pick_run("9", [A, B, C]) == C
    assert pick_run("7F3A1000-0", [A, B, C]) == A
    with pytest.raises(UsageError, match=r"^7f matches 2 runs: 7f3a1, 7f3a2$"):
        pick_run("7f", [A, B, C])
    with pytest.raises(NotFoundError, match="no run '8'; list them: stepwell runs"):
        pick_run("8", [A, B, C])
