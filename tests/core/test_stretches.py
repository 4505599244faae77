"""Where a fold begins that has stretches behind it."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.stretches import BEGINNING, FEW, Mark, Scope, Stretch, Totals, number_of, start

OWN: Scope = (False, None)


def stretch(
    last: int,
    *,
    loose: tuple[int, ...] = (),
    states: Mapping[Scope, tuple[int, ...]] | None = None,
    wholes: Mapping[Scope, int] | None = None,
) -> Stretch:
    agents: dict[str | None, Totals] = {None: Totals(2, tokens_in=last)}
    return Stretch(last, 3, 7, Mark("8:8:", 8), False, agents, loose, states or {}, wholes or {})


def test_nothing_behind_it_is_the_beginning() -> None:
    assert start([]).after == BEGINNING


def test_what_finished_is_summed_up_and_the_rest_named() -> None:
    found = start([stretch(3, loose=(2,)), stretch(6), stretch(9, loose=(8,))])
    assert (found.after, found.agents) == (9, {None: Totals(6, tokens_in=18)})
    assert (found.loose, found.lasts, found.states) == ((2, 8), (3, 9), (2, 8))


def test_states_before_one_that_is_whole_are_left_out() -> None:
    states = [stretch(3, states={OWN: (1,)}), stretch(6, states={OWN: (4, 5)}, wholes={OWN: 5})]
    assert start(states).states == (4, 5)
    assert start([*states, stretch(9, states={(True, None): (7,)}, wholes={(True, None): 7})]).states == (
        4,
        5,
        7,
    )


def test_a_state_may_have_finished_after_a_whole_one_with_a_higher_number() -> None:
    states = [stretch(3, states={OWN: (1,)}), stretch(6, states={OWN: (4,)}, wholes={OWN: 3})]
    assert start(states).states == (1, 4)


def test_of_states_that_are_too_many_to_name_all_are_looked_at() -> None:
    found = start([stretch(FEW + 5, states={OWN: tuple(range(FEW + 1))})])
    assert (found.after, found.states_after, found.states) == (FEW + 5, BEGINNING, ())


def test_it_begins_before_the_stretch_with_which_the_loose_steps_are_too_many() -> None:
    found = start([stretch(FEW, loose=tuple(range(FEW))), stretch(FEW + 9, loose=(FEW + 1,))])
    assert (found.after, len(found.loose)) == (FEW, FEW)


@given(place=st.integers(-(2**31), 2**31 - 1), number=st.integers(-(2**31), 2**31 - 1))
def test_a_number_is_told_from_a_packed_place(place: int, number: int) -> None:
    assert number_of(place * 2**32 + number) == number


@pytest.mark.parametrize("totals", [Totals(), Totals(3, 5, None, 0, None)])
def test_no_steps_add_nothing(totals: Totals) -> None:
    assert totals.plus(Totals()) == totals == Totals().plus(totals)
