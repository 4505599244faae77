"""How a terminal is divided, whatever its size."""

from itertools import product

import pytest

from stepwell.app.geometry import NARROW, Geometry, Pane, divide, places


def at(
    width: int, height: int, *, lanes: int = 1, pane: Pane = Pane.OUTPUT, zoomed: bool = False
) -> Geometry:
    instead = pane if pane in (Pane.TABLES, Pane.AGENT) else None
    return divide(width, height, lanes=lanes, pane=pane, zoomed=zoomed, state=True, instead=instead)


def test_eighty_by_twenty_four_is_as_drawn() -> None:
    """Title 1, strip 1, INPUT 7, OUTPUT 8, STATE 5, status 1, keys 1; 30 columns, a bar and 49."""
    found = at(80, 24)
    assert (found.title, found.strip, found.input, found.output, found.state, found.keys) == (
        1,
        1,
        7,
        8,
        5,
        1,
    )
    assert (found.timeline_width, found.bar, found.pane_width) == (30, 1, 49)


@pytest.mark.parametrize("zoomed", [False, True])
@pytest.mark.parametrize("pane", Pane)
def test_every_row_and_column_is_given_away_once(pane: Pane, zoomed: bool) -> None:
    """From one cell to a wall of screens."""
    for width, height, lanes in product((1, 26, 59, 60, 79, 80, 120, 300), range(3, 101), (1, 4)):
        found = at(width, height, lanes=lanes, pane=pane, zoomed=zoomed)
        rows = found.title + found.strip + found.body + found.status + found.keys
        assert rows == height, (width, height)
        beside = found.input + found.output + found.state + found.tables + found.agent
        assert beside == found.body or (beside == 0 and found.timeline_width == width)
        assert 0 <= found.timeline_width <= width


@pytest.mark.parametrize("zoomed", [False, True])
@pytest.mark.parametrize("pane", Pane)
def test_the_parts_lie_side_by_side_and_fill_the_screen(pane: Pane, zoomed: bool) -> None:
    """Whatever is left out."""
    for width, height, lanes in product((26, 59, 60, 80, 120), (3, 10, 13, 24, 40), (1, 4)):
        found = places(at(width, height, lanes=lanes, pane=pane, zoomed=zoomed)).values()
        cells = [
            (x, y)
            for left, top, columns, rows in found
            for x, y in product(range(left, left + columns), range(top, top + rows))
        ]
        assert sorted(cells) == list(product(range(width), range(height))), (width, height)


def test_tables_stand_in_place_of_the_state_and_where_that_has_no_room_of_the_output() -> None:
    tall, low = at(80, 24, pane=Pane.TABLES), at(80, 15, pane=Pane.TABLES)
    assert (tall.state, tall.tables) == (0, at(80, 24).state)
    assert (low.output, low.tables) == (0, at(80, 15).output)


def test_what_matters_least_goes_first() -> None:
    """STATE, then the keys, then the title; the strip and the status stay to the end."""
    shown = [
        (bool(found.state), bool(found.keys), bool(found.title), bool(found.strip), bool(found.status))
        for height in range(24, 2, -1)
        for found in [at(80, height)]
    ]
    assert sorted(set(shown), reverse=True) == list(dict.fromkeys(shown))
    assert shown[0] == (True, True, True, True, True)
    assert shown[-1] == (False, False, False, True, True)


def test_durations_go_before_the_timeline_does() -> None:
    """Below 80 columns."""
    assert at(80, 24).durations
    assert not at(79, 24).durations


@pytest.mark.parametrize(("width", "zoomed"), [(NARROW - 1, False), (80, True)])
@pytest.mark.parametrize("pane", Pane)
def test_one_pane_has_all_the_room(width: int, zoomed: bool, pane: Pane) -> None:
    """Where there is no room beside it, and when it is zoomed."""
    found = at(width, 24, pane=pane, zoomed=zoomed)
    sizes = {
        Pane.TIMELINE: found.body if found.timeline_width else 0,
        Pane.INPUT: found.input,
        Pane.OUTPUT: found.output,
        Pane.STATE: found.state,
        Pane.TABLES: found.tables,
        Pane.AGENT: found.agent,
    }
    assert sizes.pop(pane) == found.body
    if pane is not Pane.TIMELINE:
        assert set(sizes.values()) == {0}


def test_lanes_never_take_more_than_a_sixth() -> None:
    """Four agents in 24 rows, in 12, in 6."""
    assert [at(80, height, lanes=4).strip for height in (24, 12, 6)] == [4, 2, 1]
