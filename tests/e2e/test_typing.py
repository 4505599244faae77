"""Keys that arrive at once, as over a slow connection, do what they do one by one."""

from collections.abc import Callable
from random import Random

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


def test_bytes_that_are_no_utf8_do_no_harm(raw: Callable[..., RawTerminal], recorded: str) -> None:
    """Of a terminal in Latin-1, of a broken line."""
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.wait_for(b"1/52 2% after")
    debugger.send(b"\xff\x80n\xc3(n\xfe")
    debugger.wait_for("3/52 6% after  no key \ufffd".encode())
    debugger.send(b"/\xfclamp\r")
    debugger.wait_for("not found: \ufffdlamp".encode())
    debugger.send(b"q")
    assert debugger.wait() == 0


def test_flow_control_keys_do_not_leave(raw: Callable[..., RawTerminal], recorded: str) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.wait_for(b"1/52 2% after")
    debugger.send(b"\x13\x11n")
    debugger.wait_for(b"2/52")
    debugger.send(b"q")
    assert debugger.wait() == 0


def test_keys_pressed_while_the_window_changes_its_size(
    terminal: Callable[..., Terminal], recorded: str
) -> None:
    rng = Random(7)
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed:17")
    before = debugger.wait_until_still("17/52 33% after")
    for _ in range(12):
        debugger.resize(rng.randint(20, 300), rng.randint(5, 100))
        debugger.type(rng.choice(["n", "p", "zn", "nz", "Tab", "dd", "?q", "Bq", "/a", ":", "G"]), "C-c")
    debugger.resize(80, 24)
    debugger.type("17g")
    debugger.wait_for(lambda screen: screen[1] == before[1] and screen[22][:9] == "17/52 33%")
    debugger.type("q")
    assert debugger.wait() == 0
