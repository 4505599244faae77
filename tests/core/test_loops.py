"""A loop is the same cycle of calls with the same arguments and the same results."""

import sys
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.heads import Heads
from stepwell.core.laps import find_loops
from stepwell.core.loops import LOOPING_LAPS, MAX_PERIOD, LoopTracker, cycle_name
from stepwell.core.outline import Outline
from stepwell.core.steps import TOOL_CALL, Loop, StepHead

from .heads import calls, model, script, tool

letters = st.text("abc", max_size=40)
cycles = st.lists(st.tuples(st.text("abcdefgh", min_size=1, max_size=8), st.integers(1, 4)), max_size=6).map(
    lambda parts: "".join(cycle * laps for cycle, laps in parts)
)


def repeats_at(text: str, at: int) -> list[tuple[int, int]]:
    """(period, laps) of every period at one call, by comparing slices."""
    found = []
    for period in range(1, MAX_PERIOD + 1):
        laps = 1
        while text[at : at + period] == text[at + laps * period : at + (laps + 1) * period] != "":
            laps += 1
        found.append((period, laps))
    return found


def naive_loops(text: str) -> list[tuple[int, int, int]]:
    """(first, period, laps), by trying every period at every call."""
    found, at = [], 0
    while at < len(text):
        repeats = [(period, laps) for period, laps in repeats_at(text, at) if laps > 1]
        period, laps = max(repeats, key=lambda best: best[0] * best[1], default=(1, 1))
        if laps > 1:
            found.append((at + 1, period, laps))
        at += period * laps
    return found


def most_laps(text: str) -> int:
    """The laps of the longest loop that begins anywhere."""
    return max((laps for at in range(len(text)) for _, laps in repeats_at(text, at)), default=1)


@given(letters | cycles)
def test_finds_what_trying_every_period_at_every_call_finds(text: str) -> None:
    found = find_loops(calls(text))
    assert [(loop.first, loop.period, loop.laps) for loop in found] == naive_loops(text)
    assert all(loop.last == loop.first + loop.period * loop.laps - 1 for loop in found)


@given(letters | cycles)
def test_loops_of_one_agent_do_not_overlap(text: str) -> None:
    found = find_loops(calls(text))
    assert all(a.last < b.first for a, b in pairwise(found))


@given(letters | cycles)
def test_the_tracker_ends_with_the_loop_of_most_laps(text: str) -> None:
    tracker, best = LoopTracker(), None
    for head in calls(text):
        best = tracker.add(None, head.number, head.name, ord(text[head.number - 1])) or best
    most = most_laps(text)
    assert (best.laps if best else 0) == (most if most >= LOOPING_LAPS else 0)


def test_a_call_repeated_is_one_loop_of_period_one() -> None:
    assert find_loops(script("LaLaLaL")) == (Loop("tool_a", 2, 6, 1, 3),)


def test_a_cycle_of_two_is_one_loop_of_period_two() -> None:
    assert find_loops(calls("xababab")) == (Loop("tool_a, tool_b", 2, 7, 2, 3),)


def test_a_lap_begun_and_not_completed_is_not_counted() -> None:
    assert find_loops(calls("ababa")) == (Loop("tool_a, tool_b", 1, 4, 2, 2),)


def test_the_outer_cycle_wins_over_a_repetition_inside_it() -> None:
    assert find_loops(calls("aabaabaab")) == (Loop("tool_a, tool_b", 1, 9, 3, 3),)


def test_a_cycle_longer_than_eight_calls_is_no_loop() -> None:
    assert find_loops(calls("abcdefghi" * 3)) == ()
    assert find_loops(calls("abcdefgh" * 3))[0].period == 8


def test_a_poll_whose_result_progresses_is_no_loop() -> None:
    polls = [StepHead(n, TOOL_CALL, True, name="poll", call_hash=1000 + n) for n in range(1, 9)]
    assert find_loops(polls) == ()


def test_agents_are_looked_at_apart() -> None:
    swarm = [tool(n, "a" if n % 2 else "b", agent="x" if n % 2 else "y") for n in range(1, 9)]
    assert [(loop.name, loop.first, loop.last, loop.laps) for loop in find_loops(swarm)] == [
        ("tool_a", 1, 7, 4),
        ("tool_b", 2, 8, 4),
    ]
    shared = [tool(n, "a", agent="x" if n % 2 else "y") for n in range(1, 3)]
    assert find_loops(shared) == ()


def test_unfinished_calls_and_model_calls_are_not_part_of_a_cycle() -> None:
    assert find_loops(script("L?L?L?")) == ()
    assert find_loops([]) == ()


def laps_of(steps: list[StepHead]) -> dict[int, int]:
    """Step number to lap, for the steps that are in a loop."""
    outline = Outline(Heads.of(steps))
    places = {step.number: outline.place(index) for index, step in enumerate(steps)}
    return {number: place.lap for number, place in places.items() if place is not None}


def test_steps_between_two_calls_belong_to_the_lap_of_the_call_before() -> None:
    steps = script("LaLSaLaL")
    assert laps_of(steps) == {2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3}


def test_other_agents_in_between_are_in_no_lap() -> None:
    steps = [tool(1, agent="x"), model(2, agent="y"), model(3, agent="x"), tool(4, agent="x")]
    assert laps_of(steps) == {1: 1, 3: 1, 4: 2}


def test_the_tracker_speaks_up_at_three_laps_and_at_each_more() -> None:
    tracker = LoopTracker()
    told = [tracker.add("x", number, "search", 5) for number in (2, 4, 6, 8)]
    assert told == [None, None, Loop("search", 2, 6, 1, 3), Loop("search", 2, 8, 1, 4)]
    assert tracker.add("y", 9, "search", 5) is None


def test_the_tracker_keeps_the_worst_loop_of_the_run() -> None:
    tracker = LoopTracker()
    for number in range(1, 6):
        tracker.add("x", number, "search", 5)
    told = [tracker.add("y", number, "open", number % 2) for number in range(6, 18)]
    assert [loop.laps for loop in told if loop] == [6]


def test_the_tracker_remembers_a_bounded_number_of_calls() -> None:
    tracker = LoopTracker()

    def size() -> int:
        return sum(sys.getsizeof(agent.history) + len(agent.history) for agent in tracker._agents.values())

    for number in range(20):
        tracker.add(None, number, "a", number % 3)
    before = size()
    for number in range(20, 2000):
        tracker.add(None, number, "a", number % 3)
    assert size() == before


def test_a_long_cycle_is_named_by_its_first_tools() -> None:
    assert cycle_name(["a", "b", "a", None]) == "a, b, unnamed"
    assert cycle_name(["a", "b", "c", "d"]) == "a, b, c, ..."
