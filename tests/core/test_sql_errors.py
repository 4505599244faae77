"""An error that points into a statement points into the agent's own."""

import pytest

from stepwell.core.sql_errors import in_own_words, shown

MADE = "(SELECT CAST(TIMESTAMPTZ '2026-03-01T12:00:00+00:00' AS timestamptz) AS \"now\")"
INSTEAD = ((MADE, "now()"),)


@pytest.mark.parametrize("own", ["SELECT now(), nosuch", "SELECT nosuch, now()", "SELECT\n now() -\n nosuch"])
def test_a_place_beside_what_was_put_in_is_that_of_the_agents_own_text(own: str) -> None:
    sent = own.replace("now()", MADE)
    found, place = (text.index("nosuch") for text in (sent, own))
    message = f'column "nosuch" does not exist\n{shown(sent, found)}\nHINT:  none'
    expected = f'column "nosuch" does not exist\n{shown(own, place)}\nHINT:  none'
    assert in_own_words(message, found + 1, sent, INSTEAD) == expected


def test_a_place_within_it_is_where_that_of_the_agents_begins() -> None:
    sent = f"SELECT 1 + {MADE}"
    message = in_own_words(f"no\n{shown(sent, 20)}", 21, sent, INSTEAD)
    assert message == f"no\n{shown('SELECT 1 + now()', 11)}"


def test_a_message_that_shows_no_place_stays() -> None:
    assert in_own_words("division by zero", 3, f"SELECT {MADE}", INSTEAD) == "division by zero"
    assert (
        in_own_words("of another\nLINE 1: x\n        ^", 1, "x", INSTEAD)
        == "of another\nLINE 1: x\n        ^"
    )
