"""Both sides of a divergence as lines, whatever they hold."""

from typing import Any

from stepwell.core.divergence import Asked, Divergence, Kind
from stepwell.core.explaining import COLUMNS, LINES, MOST, explained


def told(recorded: Any, now: Any, name: str = "f") -> list[str]:
    then, today = (Asked("tool_call", name, None, value) for value in (recorded, now))
    return explained(Divergence(Kind.INPUT, 1, "$", recorded, now, then, today)).split("\n")


def test_of_two_long_texts_it_is_shown_where_they_part_in_the_first_columns() -> None:
    same = "a" * 5_000
    then, now = told(f"{same} then {same}", f"{same} now {same}")[3:]
    assert then.startswith("-… 4,982 characters … aaa")
    assert now.startswith("+… 4,982 characters … aaa")
    assert (" then a" in then[:80], " now a" in now[:80]) == (True, True)
    assert then.endswith("… 4,826 more")
    assert len(now) < COLUMNS + 50


def test_the_order_of_keys_is_no_difference() -> None:
    assert told({"a": 1, "b": 2}, {"b": 3, "a": 1})[3:] == ['-{"a": 1, "b": 2}', '+{"a": 1, "b": 3}']


def test_nothing_is_more_than_a_line_or_what_a_terminal_obeys() -> None:
    lines = told("a\u2028b\r\x1b[2J", "\0\ud800", "two\nlines\x1b")
    assert lines[0] == "--- recorded: tool_call two\\nlines\\u001b"
    assert lines[3:] == ['-"a\\u2028b\\r\\u001b[2J"', '+"\\u0000\\ud800"']


def test_no_value_is_too_large_to_be_compared() -> None:
    recorded = [f"line {n}" for n in range(MOST * 20)]
    lines = told(recorded, ["other", *(f"{text}!" if n % 7 else text for n, text in enumerate(recorded))])
    assert len(lines) == LINES + 3
    assert lines[-1].endswith(" more lines")
