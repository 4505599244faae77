"""What the bytes of a terminal become, whatever they are."""

import pytest
from textual import events

from stepwell.app.driver import Keys


def pressed(*data: bytes) -> list[str]:
    """The names of keys that arrive in these pieces."""
    keys = Keys()
    return [event.key for piece in data for event in keys.feed(piece) if isinstance(event, events.Key)]


@pytest.mark.parametrize(
    "noise",
    [
        b"\x1b[1114112u",
        b"\x1b[97;1:1;99999999999u",
        b"\x1b[48;0;0;0;0t\x1b[<0;1;1M",
        b"\x1b[18446744073709551616u",
    ],
)
def test_a_number_that_is_no_key_is_nothing_and_the_next_key_is_one(noise: bytes) -> None:
    assert pressed(noise, b"n") == ["n"]


def test_what_is_no_utf8_is_a_key_that_nobody_uses() -> None:
    assert pressed(b"a\xff", b"\x80n") == ["a", *["replacement_character"] * 2, "n"]


def test_a_character_may_come_in_pieces() -> None:
    assert pressed(b"\xe6\xbc", b"\xa2") == pressed("漢".encode()) == ["漢"]


def test_a_paste_is_no_keys() -> None:
    found = list(Keys().feed(b"\x1b[200~q\xffq\x1b[201~"))
    assert [event.text for event in found if isinstance(event, events.Paste)] == ["q\ufffdq"]
