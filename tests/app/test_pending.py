"""Counts, and keys that wait for another one."""

import pytest

from stepwell.app.pending import MOST_DIGITS, Answer, Pending
from tests.app.test_breakpoints import timeline


def typed(pending: Pending, keys: str) -> list[Answer | str | None]:
    return [pending.key(key, key) for key in keys]


def test_digits_are_a_count_and_are_shown() -> None:
    """And taken once."""
    pending = Pending()
    assert typed(pending, "12") == ["1", "12"]
    assert pending.take_count() == 12
    assert pending.take_count() is None


def test_other_keys_are_left_to_the_bindings() -> None:
    """A count does not begin with 0."""
    assert typed(Pending(), "n0x") == [None, None, None]
    assert typed(Pending(), "10")[-1] == "10"


@pytest.mark.parametrize("key", ["escape", "backspace"])
def test_a_count_can_be_dropped(key: str) -> None:
    """Without one the key is left to the bindings."""
    pending = Pending()
    typed(pending, "12")
    assert pending.key(key, None) == ""
    assert pending.take_count() is None
    assert pending.key(key, None) is None


def test_a_count_has_an_end() -> None:
    """Somebody may lean on the keyboard."""
    pending = Pending()
    typed(pending, "9" * 50)
    assert pending.take_count() == int("9" * MOST_DIGITS)


def test_a_count_that_was_for_nothing_is_dropped() -> None:
    """A chooser keeps what it asks for."""
    pending = Pending()
    typed(pending, "3")
    pending.drop_count()
    assert typed(pending, "9") == ["9"]
    pending.ask("break", timeline())
    pending.drop_count()
    assert typed(pending, "3") == ["break 3"]


def test_digits_of_other_scripts_are_no_counts() -> None:
    """`int` would take them."""
    assert typed(Pending(), "٣²") == [None, None]


def test_a_chooser_is_answered_by_the_next_key() -> None:
    """With the count typed between the two."""
    pending = Pending()
    assert pending.ask("break", timeline()).startswith("break: ")
    assert typed(pending, "3l") == ["break 3", Answer("break", "l", 3)]
    assert typed(pending, "l") == [None]


def test_a_count_before_a_chooser_is_not_its_own() -> None:
    """5b is b."""
    pending = Pending()
    typed(pending, "5")
    pending.ask("break", timeline())
    assert typed(pending, "n") == [Answer("break", "n", None)]


@pytest.mark.parametrize("kind", ["jump", "mark"])
def test_a_bookmark_may_be_asked_for_by_any_character(kind: str) -> None:
    """It says then that a bookmark is a letter."""
    pending = Pending()
    pending.ask(kind, timeline())
    assert typed(pending, "7") == [Answer(kind, "7", None)]


def test_escape_leaves_a_chooser() -> None:
    """And nothing else."""
    pending = Pending()
    pending.ask("mark", timeline())
    assert pending.key("escape", "\x1b") == ""
    assert typed(pending, "x") == [None]


def test_a_key_without_a_character_is_no_answer_that_means_anything() -> None:
    """F5, say."""
    pending = Pending()
    pending.ask("mark", timeline())
    assert pending.key("f5", None) == Answer("mark", "", None)
