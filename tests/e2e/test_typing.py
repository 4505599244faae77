"""Keys that arrive at once, as over a slow connection, do what they do one by one."""

from collections.abc import Callable

from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import RawTerminal, Terminal


def test_a_line_and_the_keys_around_it(raw: Callable[..., RawTerminal], recorded: str) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.wait_for(b"1/52")
    debugger.send(b"nbtc/8840\x7f1\r")
    debugger.wait_for(b"5/52 10% after  hit 3 of 26")
    debugger.send(b":17\rnn")
    debugger.wait_for(b"19/52")
    debugger.send(b"qq")
    assert debugger.wait() == 0


def test_keys_that_come_before_the_run_are_played_when_it_is_there(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    """From the moment on that the command is typed, while the terminal is still as the shell has it."""
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.send(b"/8841\rn3n:17\rn")
    debugger.wait_for(b"18/52")
    debugger.send(b"q")
    assert debugger.wait() == 0


def test_a_burst_ends_where_it_would_one_by_one(terminal: Callable[..., Terminal], recorded: str) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.wait_for("1/52 2% after")
    debugger.type("n" * 30 + "p" * 10 + "5n" + "aa")
    debugger.wait_for("26/52 50% after", ">   26 L")
