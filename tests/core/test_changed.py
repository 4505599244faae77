"""The steps during which something was written are those that a look at every entry for every step finds."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.changed import Between, changed_steps, end_of, outermost, owns
from stepwell.core.past import Instant
from stepwell.core.verdicts import xmin_of

XIDS = st.integers(3, 14)
POSITIONS = st.integers(0, 8)


@st.composite
def instants(draw: st.DrawFn) -> Instant:
    """Whatever a snapshot can see, also within a transaction that had written by then."""
    end = draw(st.integers(3, 15))
    running = sorted(draw(st.sets(st.integers(3, end - 1), max_size=4))) if end > 3 else []
    snapshot = f"{min([end, *running])}:{end}:{','.join(map(str, running))}"
    own = draw(st.none() | XIDS)
    return Instant(snapshot) if own is None else Instant(snapshot, own, draw(POSITIONS), 1)


STEPS = st.lists(st.builds(Between, st.integers(1, 9), instants(), instants()), max_size=6)
ENTRIES = st.lists(st.tuples(XIDS, st.integers(1, 8)), max_size=6)


def sees(instant: Instant, xid: int, position: int) -> bool:
    if xid == instant.own:
        return position <= (instant.position or 0)
    start, end, running = instant.snapshot.split(":")
    return xid < int(start) or (xid < int(end) and str(xid) not in running.split(","))


@given(STEPS, ENTRIES)
def test_a_step_changed_something_where_its_end_saw_an_entry_that_its_beginning_did_not(
    steps: list[Between], entries: list[tuple[int, int]]
) -> None:
    """Also where steps overlap, and where the order of their instants is no order of time."""
    positions: defaultdict[int, list[int]] = defaultdict(list)
    for xid, position in entries:
        if xid in owns(steps):
            positions[xid].append(position)
    wanted = {
        step.number
        for step in steps
        if any(not sees(step.before, *entry) and sees(step.after, *entry) for entry in entries)
    }
    assert changed_steps(steps, [xid for xid, _ in entries], positions) == tuple(sorted(wanted))


@given(STEPS.filter(bool), ENTRIES)
def test_what_is_not_within_the_bounds_came_in_no_step_but_as_its_own(
    steps: list[Between], entries: list[tuple[int, int]]
) -> None:
    first, last = outermost(steps)
    start, end = xmin_of(first.before), end_of(last.after)
    for step in steps:
        for xid, position in entries:
            if not sees(step.before, xid, position) and sees(step.after, xid, position):
                assert start <= xid < end or xid in owns(steps)


def test_many_steps_and_transactions_cost_a_look_at_each_and_not_at_each_pair() -> None:
    class Counted(int):
        looks = 0

        def __lt__(self, other: int) -> bool:
            Counted.looks += 1
            return int(self) < other

        __hash__ = int.__hash__

    long = [Between(n, Instant(f"{n}:{n}:"), Instant(f"{n + 5000}:{n + 5000}:")) for n in range(3, 5003)]
    xids = [Counted(xid) for xid in range(3, 10_003)]
    assert len(changed_steps(long, xids, {})) == len(long)
    assert Counted.looks < 500_000
