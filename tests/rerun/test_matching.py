"""Any program is matched however its threads take turns, and what is changed in it is found where it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.core.codec import Redacted
from stepwell.core.divergence import Divergence, Kind, sentence
from stepwell.core.identity import Key, Question
from stepwell.core.matching import Matcher
from stepwell.core.recorded import RecordedStep
from stepwell.core.steps import Payload
from tests.rerun.programs import START, Call, Lane, interleaved, record, recorded, replay, step_of

calls = st.recursive(
    st.builds(Call, st.sampled_from("ab"), st.integers(0, 1)),
    lambda inner: st.builds(Call, st.sampled_from("xy"), st.integers(0, 1), st.lists(inner, max_size=3)),
    max_leaves=6,
)
programs = st.lists(st.lists(calls, min_size=1, max_size=5), min_size=1, max_size=4)


brief = settings(max_examples=30, deadline=None)


@brief
@given(programs, st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_a_program_matches_its_recording_however_its_threads_take_turns(
    lanes: list[Lane], then: Random, now: Random
) -> None:
    assert_matches(lanes, then, now)


@pytest.mark.long
@settings(brief, max_examples=3000)
@given(programs, st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_many_programs_match_their_recordings(lanes: list[Lane], then: Random, now: Random) -> None:
    assert_matches(lanes, then, now)


def assert_matches(lanes: list[Lane], then: Random, now: Random) -> None:
    run, _ = record(lanes, then)
    found = replay(run, lanes, now)
    assert found is None, sentence(found)


@brief
@given(programs, st.data(), st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_a_call_too_few_or_too_many_is_always_found(
    lanes: list[Lane], data: st.DataObject, then: Random, now: Random
) -> None:
    lane = data.draw(st.integers(0, len(lanes) - 1))
    place = data.draw(st.integers(0, len(lanes[lane]) - 1))
    more = [*lanes[lane][:place], lanes[lane][place], *lanes[lane][place:]]
    fewer = [*lanes[lane][:place], *lanes[lane][place + 1 :]]
    run, _ = record(lanes, then)
    for changed in (more, fewer):
        assert replay(run, [*lanes[:lane], changed, *lanes[lane + 1 :]], now) is not None


def distinct(sizes: Sequence[int]) -> list[Lane]:
    return [
        [Call("search", {"lane": lane, "place": place}) for place in range(size)]
        for lane, size in enumerate(sizes)
    ]


changes = st.sampled_from(["alter", "drop", "insert", "swap"])


@brief
@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=4),
    changes,
    st.data(),
    st.randoms(use_true_random=False),
    st.randoms(use_true_random=False),
)
def test_a_change_is_found_at_its_step(
    sizes: list[int], change: str, data: st.DataObject, then: Random, now: Random
) -> None:
    lanes = distinct(sizes)
    run, numbers = record(lanes, then)
    lane = data.draw(st.integers(0, len(lanes) - 1))
    last = sizes[lane] - 1
    place = data.draw(
        st.integers(0 if change != "insert" or len(sizes) == 1 else 1, last - (change == "swap"))
    )
    changed = list(lanes[lane])
    if change == "alter":
        changed[place] = Call("search", {"lane": lane, "place": "other"})
        expected = Kind.INPUT
    elif change == "drop":
        del changed[place]
        expected = Kind.NEVER_ASKED if place == last else Kind.ORDER
    elif change == "insert":
        changed.insert(place, Call("extra", {}))
        expected = Kind.OTHER
    else:
        changed[place : place + 2] = reversed(changed[place : place + 2])
        expected = Kind.ORDER
    found = replay(run, [*lanes[:lane], changed, *lanes[lane + 1 :]], now)
    assert found is not None
    assert (found.kind, found.step) == (expected, numbers[lane, place]), sentence(found)
    if change == "alter":
        assert (found.path, found.expected, found.actual) == ("$.place", place, "other")


def test_alike_calls_of_several_threads_do_not_mix_up_what_follows_them() -> None:
    lanes = [[Call("x", 0), Call("a", 0), Call("y", 0)], [Call("x", 0), Call("b", 0), Call("y", 0)]]
    run, _ = record(lanes, Random(1))
    for seed in range(50):
        assert replay(run, lanes, Random(seed)) is None


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("0110", "0000"),
        ("0120", "0000"),
        ("0000", "0110"),
        ("0000", "0120"),
        ("aabb", "0000"),
        ("abab", "0000"),
    ],
)
def test_what_one_task_did_may_be_done_by_several_and_the_other_way_round(then: str, now: str) -> None:
    """A letter is an agent of which no task is recorded, a digit a task."""
    steps = [
        step_of(n, Call("t", n), None, int(who) if who.isdigit() else None) for n, who in enumerate(then)
    ]
    agents = [who if who.isalpha() else None for who in then]
    run = recorded([replace(step, agent=agent) for step, agent in zip(steps, agents, strict=True)])
    matcher = Matcher(run)
    for n, (agent, lane) in enumerate(zip(agents, now, strict=True)):
        found = matcher.ask(Question(Key("tool_call", "t", agent, None), n), int(lane))
        assert isinstance(found, RecordedStep)
        assert found.number == n


def test_what_another_task_is_to_ask_for_is_named() -> None:
    run, _ = record([[Call("a", 0), Call("b", 0)], [Call("c", 0), Call("d", 0)]], Random(3))
    matcher = Matcher(run)
    asked = [
        matcher.ask(Question(Key("tool_call", name, None, None), 0), lane) for lane, name in enumerate("acd")
    ]
    assert all(isinstance(found, RecordedStep) for found in asked)
    found = matcher.ask(Question(Key("tool_call", "b", None, None), 0), 1)
    assert isinstance(found, Divergence)
    step = next(step.number for step in run.steps if step.name == "b")
    assert sentence(found).endswith(f"; that call is step {step}, another thread's or task's to make")


def test_what_several_asked_alike_is_named_where_one_of_them_then_does_otherwise() -> None:
    run, _ = record([[Call("x", 0), Call("a", n)] for n in range(3)], Random(3))
    matcher = Matcher(run)
    assert isinstance(matcher.ask(Question(Key("tool_call", "x", None, None), 0), 7), RecordedStep)
    found = matcher.ask(Question(Key("tool_call", "a", None, None), 9), 7)
    assert isinstance(found, Divergence)
    assert "; 3 threads or tasks asked what step 1 asked, and get the answers in recorded order" in sentence(
        found
    )


def test_who_shares_work_need_not_repeat_what_it_has_asked_in_anothers_place() -> None:
    run, _ = record([[Call("x", 0), Call("a", 1)], [Call("x", 0), Call("b", 2)], [Call("c", 3)]], Random(1))
    matcher = Matcher(run)
    for name, value in (("x", 0), ("c", 3), ("b", 2)):
        found = matcher.ask(Question(Key("tool_call", name, None, None), value), 7, wanders=True)
        assert isinstance(found, RecordedStep), found
        assert found.name == name


@pytest.mark.parametrize("status", ["running", "died"])
def test_a_run_that_has_not_ended_says_nothing_of_what_comes_after_it(status: str) -> None:
    run = recorded([step_of(1, Call("a", 1), None, 0)], status)
    matcher = Matcher(run)
    assert isinstance(matcher.ask(Question(Key("tool_call", "a", None, None), 1), 0), RecordedStep)
    assert matcher.ask(Question(Key("tool_call", "a", None, None), 2), 0) is None
    changed = Matcher(run).ask(Question(Key("tool_call", "a", None, None), 2), 0)
    assert isinstance(changed, Divergence)
    assert changed.step == 1


def test_a_thread_may_have_begun_after_a_run_of_several_was_killed() -> None:
    run, _ = record(distinct([1, 1]), Random(1))
    matcher = Matcher(recorded(run.steps, "died"))
    assert matcher.ask(Question(Key("tool_call", "search", None, None), {"lane": 2, "place": 0}), 5) is None


@pytest.mark.parametrize(
    ("stored", "asked", "same"),
    [
        ("100", 1e2, True),
        ("1.50", 1.5, True),
        ("100.0", 100, True),
        ("100000000000000000000000", 1e23, True),
        ("1" + "0" * 400, 10**400, True),
        ("1" + "0" * 400, 1e300, False),
        ("0.0", -0.0, True),
        ("100", 101.0, False),
        ("1", True, False),
        ("9007199254740993", 9007199254740992, False),
        ("null", 0, False),
    ],
    ids=lambda value: str(value)[:24],
)
def test_numbers_of_rows_from_elsewhere_count_by_value(stored: str, asked: object, same: bool) -> None:
    payload = Payload(1, f'{{"n": [{stored}]}}', "null")
    run = recorded([RecordedStep(1, "tool_call", "a", None, None, payload)])
    found = Matcher(run).ask(Question(Key("tool_call", "a", None, None), {"n": [asked]}), 0)
    assert isinstance(found, RecordedStep) is same


def test_what_the_recorder_wrote_is_compared_to_the_last_bit() -> None:
    run = recorded([step_of(1, Call("a", 100), None, 0)])
    assert isinstance(Matcher(run).ask(Question(Key("tool_call", "a", None, None), 100.0), 0), Divergence)


def test_what_was_left_out_of_a_recording_may_be_anything_and_the_rest_may_not() -> None:
    call = Call("[redacted]", {"key": Redacted(), "model": Redacted(), "n": [1, Redacted("****")]})
    run = recorded([step_of(1, call, None, 0)])

    def ask(n: int) -> object:
        given = {"key": "secret", "model": "gpt-x", "n": [n, "1234"]}
        return Matcher(run).ask(Question(Key("tool_call", "gpt-x", None, None), given), 0)

    assert isinstance(ask(1), RecordedStep)
    assert isinstance(ask(2), Divergence)


def test_rows_that_name_no_thread_have_an_order_where_they_did_not_overlap() -> None:
    def rows(seconds: int) -> list[RecordedStep]:
        return [
            step_of(
                n,
                Call("a", n),
                None,
                None,
                started=START + timedelta(seconds=n),
                finished=START + timedelta(seconds=n + seconds),
            )
            for n in (1, 2)
        ]

    second = Question(Key("tool_call", "a", None, None), 2)
    found = Matcher(recorded(rows(1))).ask(second, 0)
    assert isinstance(found, Divergence)
    assert (found.kind, found.step) == (Kind.ORDER, 1)
    assert isinstance(Matcher(recorded(rows(5))).ask(second, 0), RecordedStep)


def test_a_step_of_a_thread_that_a_tool_started_says_what_may_be_the_cause() -> None:
    times = {"started": START, "finished": START + timedelta(seconds=2)}
    inner = {"started": START + timedelta(seconds=1), "finished": START + timedelta(seconds=1)}
    run = recorded(
        [step_of(1, Call("tool", 0), None, 0, **times), step_of(2, Call("inner", 0), None, 1, **inner)]
    )
    matcher = Matcher(run)
    matcher.ask(Question(Key("tool_call", "tool", None, None), 0), 0)
    found = matcher.left()
    assert found is not None
    assert "copy_context" in sentence(found)


def calls_made(lanes: Sequence[Lane], now: Sequence[Lane]) -> int:
    """How many functions are called for a replay, those written in C included."""
    matcher = Matcher(record(lanes, Random(1))[0])
    asked = [
        (Question(Key("tool_call", call.name, None, None), call.value), lane)
        for lane, call, _ in interleaved(now, Random(2))
    ]
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        found = [matcher.ask(question, lane) for question, lane in asked]
    finally:
        sys.setprofile(None)
    assert all(isinstance(step, RecordedStep) for step in found)
    return count


@pytest.mark.parametrize(
    "shape",
    [
        lambda n: [[Call("a", place) for place in range(n)]],
        lambda n: [[Call("a", 0)] for _ in range(n)],
        lambda n: [[Call("a", lane)] for lane in range(n)],
        lambda n: [[Call("a", 0) for _ in range(n // 10)] for _ in range(10)],
    ],
    ids=["sequential", "parallel and alike", "parallel", "ten that do the same"],
)
def test_each_of_many_steps_costs_what_one_of_few_does(shape: Any) -> None:
    assert calls_made(shape(1000), shape(1000)) < 11 * calls_made(shape(100), shape(100))


def test_each_of_many_steps_that_one_task_does_for_ten_costs_what_one_of_few_does() -> None:
    def made(n: int) -> int:
        lanes = [[Call("a", [lane, place]) for place in range(n // 10)] for lane in range(10)]
        return calls_made(lanes, [[call for calls in zip(*lanes, strict=True) for call in calls]])

    assert made(1000) < 11 * made(100)


def test_rows_from_elsewhere_that_have_no_names_are_found_by_their_input() -> None:
    rows = [step_of(n, Call("", {"query": n}), None, None) for n in (1, 2)]
    run = recorded([replace(row, name=None) for row in rows])
    matcher = Matcher(run)
    key = Key("tool_call", "search", None, None)
    first = matcher.ask(Question(key, {"query": 1}), 0)
    assert isinstance(first, RecordedStep)
    assert first.number == 1
    found = matcher.ask(Question(key, {"query": 3}), 0)
    assert isinstance(found, Divergence)
    assert (found.kind, found.step, found.path) == (Kind.INPUT, 2, "$.query")


def test_a_block_that_was_recorded_without_a_name_has_none() -> None:
    run = recorded([replace(step_of(1, Call("", {}), None, 0), name=None)])
    found = Matcher(run).ask(Question(Key("tool_call", "search", None, None), {}), 0)
    assert isinstance(found, Divergence)
    assert found.kind is Kind.OTHER
