"""Heads in columns are the heads that they were made of, and grow as a list of them would."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.columns import Texts
from stepwell.core.heads import EPOCH, Heads, moment
from stepwell.core.steps import TOOL_CALL, StepHead

INT8 = st.integers(-(2**63), 2**63 - 1)
WORDS = st.sampled_from(["a", "b", "", "search orders", "名", "\x01"]) | st.text(max_size=3)
TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))]))

rows = st.builds(
    StepHead,
    number=st.integers(0, 40),
    type=st.sampled_from([TOOL_CALL, "llm_call"]) | WORDS,
    has_output=st.booleans(),
    created=st.none() | TIMES,
    seed=st.none() | st.integers(-(2**70), 2**70) | st.just(2**63),
    agent=st.none() | WORDS,
    name=st.none() | WORDS,
    parent=st.none() | INT8,
    started=st.none() | TIMES,
    finished=st.none() | TIMES,
    finished_order=st.none() | INT8,
    error=st.none() | WORDS,
    tokens_in=st.none() | INT8,
    tokens_out=st.none() | INT8,
    finish_reason=st.none() | WORDS,
    call_hash=st.none() | INT8,
)
"""Of every shape that a row may have, written by a recorder or by hand."""
runs = st.lists(rows, max_size=12).map(lambda found: sorted(found, key=lambda row: row.number))


@given(runs)
def test_columns_give_back_the_rows(steps: list[StepHead]) -> None:
    heads = Heads.of(steps)
    assert list(heads) == steps
    assert heads == tuple(steps)
    assert list(heads.in_doubt) == [step.in_doubt for step in steps]
    assert list(heads.raised) == [step.error is not None for step in steps]
    assert [moment(heads.began[index]) for index in range(len(steps))] == [step.time for step in steps]
    assert [bool(call) for call in heads.calls] == [
        step.type == TOOL_CALL and step.call_hash is not None for step in steps
    ]


@given(runs, st.integers(-15, 15), st.integers(-15, 15), st.sampled_from([1, 2, -1]))
def test_a_slice_is_the_slice_of_the_rows(steps: list[StepHead], start: int, stop: int, step: int) -> None:
    assert list(Heads.of(steps)[start:stop:step]) == steps[start:stop:step]


@given(runs, st.integers(0, 40))
def test_a_number_is_found_where_it_first_stands(steps: list[StepHead], number: int) -> None:
    numbers = [step.number for step in steps]
    expected = numbers.index(number) if number in numbers else None
    assert Heads.of(steps).index_of(number) == expected


@given(runs)
def test_what_is_in_doubt_is_told_by_number_and_repeated_numbers_apart(steps: list[StepHead]) -> None:
    numbers = [step.number for step in steps]
    found = [step.number for step in steps if step.in_doubt]
    alone, again = Heads.of(steps).unfinished
    assert alone == [number for number in found if numbers.count(number) == 1]
    assert again == sorted({number for number in found if numbers.count(number) > 1})


def changed(steps: Sequence[StepHead], updated: Sequence[StepHead]) -> list[StepHead]:
    """One update after the other put in the place of the next step of its number."""
    found, taken = list(steps), set[int]()
    for step in updated:
        places = [at for at, old in enumerate(steps) if old.number == step.number and at not in taken]
        if places:
            found[places[0]] = step
            taken.add(places[0])
    return found


@given(runs, runs, runs)
def test_growing_is_what_sorting_all_rows_comes_to(
    old: list[StepHead], new: list[StepHead], updated: list[StepHead]
) -> None:
    before = Heads.of(old)
    heads, start, inserted = before.grown(new, updated)
    assert list(heads) == sorted([*changed(old, updated), *new], key=lambda step: step.number)
    assert list(before) == old
    assert list(heads[:start]) == old[:start]
    for index, step in enumerate(changed(old, updated)):
        assert heads[index + sum(place <= index for place in inserted)] == step


def test_more_than_256_and_65536_names_are_told_apart() -> None:
    for count in (255, 256, 257, 65_535, 65_536, 65_537):
        words = [f"tool {number}" for number in range(count)]
        texts = Texts.of(words)
        assert [texts[index] for index in (0, 254, count - 1)] == ["tool 0", "tool 254", words[-1]]
        more = Texts.joined([texts, Texts.of(["another", None, "tool 0"])], [(0, 0, count), (1, 0, 3)])
        assert [more[index] for index in (count - 1, count, count + 1, count + 2)] == [
            words[-1], "another", None, "tool 0",
        ]  # fmt: skip
        assert list(more.is_("tool 0")) == [1, *[0] * (count + 1), 1]


def test_a_time_that_no_calendar_has_is_not_known() -> None:
    assert moment(2**63 - 1) is None
    assert moment(-(2**63)) is None
    assert moment(0) == EPOCH


def test_a_number_of_more_than_64_bits_is_refused_unless_it_is_a_seed() -> None:
    head = StepHead(1, TOOL_CALL, seed=2**64, created=datetime(2025, 1, 1, tzinfo=UTC))
    assert Heads.of([head])[0] == head
    with pytest.raises(OverflowError):
        Heads.of([replace(head, parent=2**63)])
