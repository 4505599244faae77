"""However the debugger ends, the terminal is as before and the database has forgotten it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.e2e.conftest import STEPWELL, backends
from tests.e2e.terminal import Begins, RawTerminal, Terminal, is_running, wait_until

ENTERS_SCREEN, LEAVES_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
HIDES_CURSOR, SHOWS_CURSOR = b"\x1b[?25l", b"\x1b[?25h"
ENDINGS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def debugger(raw: Callable[..., RawTerminal], recorded: str) -> RawTerminal:
    opened = raw(*STEPWELL, "--dsn", recorded, "@failed")
    opened.wait_for(b"1/52 2% after")
    return opened


def assert_restored(terminal: RawTerminal) -> None:
    written = terminal.written
    assert written.rindex(LEAVES_SCREEN) > written.rindex(ENTERS_SCREEN)
    assert written.rindex(SHOWS_CURSOR) > written.rindex(HIDES_CURSOR)
    assert terminal.settings_now() == terminal.settings


def process_state(pid: int) -> str:
    """`R`, `S`, `T` for stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_q_goes_back_to_the_list_and_out_of_it(shell: Terminal) -> None:
    shell.line("stty -a > before")
    shell.wait_for_prompt()
    shell.line('stepwell --dsn "$DSN"')
    short = shell.wait_until_still("newest first", "> !failed")[2].split()[3]
    assert shell.state("alternate_on") == "1"
    shell.type("Enter")
    shell.wait_for("1/52 2% after")
    shell.type("q")
    shell.wait_for("newest first")
    shell.type("q")
    shell.wait_for_prompt()
    assert (shell.state("alternate_on"), shell.state("cursor_flag")) == ("0", "1")
    shell.line("echo left with $?; stty -a | cmp - before && echo same settings")
    shell.wait_for("left with 0", "same settings", 'stepwell --dsn "$DSN"')
    shell.line(f'stepwell --dsn "$DSN" {short}:17')
    shell.wait_for("17/52 33% after", f"refund-triage {short}")
    shell.type("q")
    shell.wait_for_prompt()


def test_q_leaves_at_once_what_was_opened_at_an_address(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed:17")
    debugger.wait_for(b"17/52 33% after")
    debugger.send(b"q")
    assert debugger.wait() == 0
    assert_restored(debugger)


@pytest.mark.parametrize("address", ["00000000:17", "@failed:@99:99"])
def test_the_terminal_is_not_touched_where_there_is_nothing_to_open(
    raw: Callable[..., RawTerminal], recorded: str, address: str
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, address)
    assert debugger.wait() in (1, 2)
    assert debugger.written.startswith(b"stepwell: ")
    assert debugger.written.count(b"\n") == 1
    assert b"\x1b" not in debugger.written


def test_it_suspends_and_comes_back_as_it_was(shell: Terminal) -> None:
    shell.line('stepwell --dsn "$DSN" @failed:17')
    before = shell.wait_until_still("17/52 33% after")
    shell.type("C-z")
    shell.wait_for("Stopped", "$")
    shell.wait_for_prompt()
    assert (shell.state("alternate_on"), shell.state("cursor_flag")) == ("0", "1")
    shell.line("stty -a | tr ' ' '\\n' | grep -cx -e echo -e icanon -e icrnl -e opost")
    shell.wait_for("4")
    shell.line("fg")
    shell.wait_for("17/52 33% after", Begins(before[:22]))
    shell.type("n")
    shell.wait_for("18/52 35% after")
    shell.type("q")
    shell.wait_for_prompt()
    shell.line("echo left with $?")
    shell.wait_for("left with 0")


def test_it_suspends_without_tmux_too(raw: Callable[..., RawTerminal], recorded: str) -> None:
    shell = raw("bash", "--norc", "--noprofile", "-i", DSN=recorded)
    shell.wait_for_prompt()
    shell.send(b'stepwell --dsn "$DSN" @failed\r')
    shell.wait_for(b"1/52 2% after")
    shell.send(b"\x1a")
    shell.wait_for(LEAVES_SCREEN, b"Stopped")
    shell.wait_for_prompt()
    shell.written = b""
    shell.send(b"fg\r")
    shell.wait_for(ENTERS_SCREEN, b"1/52 2% after")
    shell.send(b"nq")
    shell.wait_for(LEAVES_SCREEN, SHOWS_CURSOR)
    shell.wait_for_prompt()
    shell.send(b"echo left with $?; exit\r")
    shell.wait_for(b"left with 0")
    assert shell.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP, signal.SIGCONT])
def test_it_goes_on_after_being_stopped_by_somebody_else(
    debugger: RawTerminal, number: signal.Signals
) -> None:
    """Also where it was not: the terminal is taken once, and given back as it was before the first time."""
    debugger.signal(number)
    if number != signal.SIGCONT:
        wait_until(lambda: process_state(debugger.pid) == "T", "it does not stop")
    debugger.read()
    debugger.written = b""
    debugger.signal(signal.SIGCONT)
    debugger.wait_for(ENTERS_SCREEN, b"1/52 2% after")
    debugger.send(b"nn")
    debugger.wait_for(b"3/52 6% after")
    debugger.send(b"q")
    assert debugger.wait() == 0
    assert_restored(debugger)


@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_at_any_moment_of_the_start_leaves_the_terminal_as_it_was(
    raw: Callable[..., RawTerminal], recorded: str, number: signal.Signals
) -> None:
    """Where nothing is shown yet, it just ends."""
    for moment in (0.1, 0.4, None):
        starting = raw(*STEPWELL, "--dsn", recorded, "@failed")
        if moment is None:
            starting.wait_for(ENTERS_SCREEN)
        else:
            time.sleep(moment)
        starting.signal(number)
        assert starting.wait() in (-number, 128 + number)
        assert b"Traceback" not in starting.read()
        assert starting.settings_now() == starting.settings
        if ENTERS_SCREEN in starting.written:
            assert_restored(starting)


def test_it_ends_with_its_terminal_at_any_moment(raw: Callable[..., RawTerminal], recorded: str) -> None:
    """While it starts, in a prompt, in the help; told by SIGHUP, and not told."""
    for controls, keys in ((True, None), (True, b"/abc"), (False, None), (False, b":"), (False, b"?")):
        debugger = raw(*STEPWELL, "--dsn", recorded, "@failed", controls=controls)
        if keys is not None:
            debugger.wait_for(b"1/52 2% after")
            debugger.send(keys)
        debugger.vanish()
        debugger.wait()


def test_it_ends_with_its_terminal_in_the_middle_of_a_move(debugger: RawTerminal, recorded: str) -> None:
    with psycopg.connect(recorded) as other:
        other.execute("LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
        debugger.send(b"n")
        wait_until(lambda: any(state == "active" for _, state, _ in backends(recorded)), "no move")
        debugger.vanish()
        assert debugger.wait() == 128 + signal.SIGHUP
        wait_until(lambda: not backends(recorded), lambda: f"still connected: {backends(recorded)}")


def test_it_goes_on_however_often_it_is_continued_in_the_middle_of_its_writes(debugger: RawTerminal) -> None:
    """And no key that was typed meanwhile is lost."""
    for _ in range(30):
        debugger.send(b"n")
        debugger.signal(signal.SIGCONT)
        time.sleep(0.004)
        debugger.read()
    debugger.wait_for(b"31/52 60%")
    debugger.send(b"G")
    debugger.wait_for(b"52/52 100%")
    debugger.vanish()
    assert debugger.wait() == 128 + signal.SIGHUP


def test_its_embedded_postgres_goes_with_a_terminal_that_goes_while_it_starts(
    raw: Callable[..., RawTerminal], stepwell_home: Path
) -> None:
    """Whatever it had got to; the next one starts it again."""
    starting = raw(*STEPWELL)
    wait_until(stepwell_home.exists, "nothing is started")
    starting.vanish()
    starting.wait()
    wait_until(lambda: not list(stepwell_home.glob("*/data/postmaster.pid")), "the server runs on")
    again = raw(*STEPWELL)
    again.wait_for(b"no runs are recorded here yet")
    again.send(b"q")
    assert again.wait() == 0


@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_ends_it_in_order(debugger: RawTerminal, number: signal.Signals) -> None:
    debugger.signal(number)
    assert debugger.wait() == 128 + number
    assert_restored(debugger)


def test_a_signal_ends_it_on_the_list_too(raw: Callable[..., RawTerminal], recorded: str) -> None:
    runs = raw(*STEPWELL, "--dsn", recorded)
    runs.wait_for(b"newest first")
    runs.signal(signal.SIGTERM)
    assert runs.wait() == 128 + signal.SIGTERM
    assert_restored(runs)


def test_a_signal_ends_a_move_that_waits_for_a_lock(debugger: RawTerminal, recorded: str) -> None:
    with psycopg.connect(recorded) as other:
        other.execute("LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
        debugger.send(b"n")
        wait_until(lambda: any(state == "active" for _, state, _ in backends(recorded)), "no move")
        debugger.signal(signal.SIGTERM)
        assert debugger.wait() == 128 + signal.SIGTERM
        wait_until(lambda: not backends(recorded), lambda: f"still connected: {backends(recorded)}")
    assert_restored(debugger)


def test_it_ends_with_its_pane(terminal: Callable[..., Terminal], recorded: str) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.wait_for("1/52 2% after")
    pid = debugger.pid
    debugger.tmux("kill-pane")
    wait_until(lambda: not is_running(pid), "the debugger outlives its pane")


@pytest.mark.parametrize("address", [(), ("@failed",)], ids=["list", "debugger"])
def test_it_ends_with_its_terminal(
    raw: Callable[..., RawTerminal], recorded: str, address: tuple[str, ...]
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, *address)
    debugger.wait_for(b"newest first" if not address else b"1/52 2% after")
    debugger.vanish()
    debugger.wait()


def test_it_ends_with_its_terminal_where_no_signal_says_so(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed", controls=False)
    debugger.wait_for(b"1/52 2% after")
    debugger.vanish()
    debugger.wait()


def test_it_ends_with_its_terminal_while_a_pager_has_it(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed", PAGER="sh -c 'echo paging; exec sleep 600'")
    debugger.wait_for(b"1/52 2% after")
    debugger.send(b"v")
    debugger.wait_for(b"paging")
    debugger.vanish()
    debugger.wait()


def test_a_signal_ends_its_pager_too(raw: Callable[..., RawTerminal], recorded: str) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed", PAGER="sh -c 'echo paging; exec sleep 600'")
    debugger.wait_for(b"1/52 2% after")
    debugger.send(b"v")
    debugger.wait_for(b"paging")
    debugger.signal(signal.SIGTERM)
    assert debugger.wait() == 128 + signal.SIGTERM
    assert_restored(debugger)


def test_the_database_forgets_a_debugger_that_was_killed(debugger: RawTerminal, recorded: str) -> None:
    assert backends(recorded)
    os.kill(debugger.pid, signal.SIGKILL)
    assert debugger.wait() == -signal.SIGKILL
    wait_until(lambda: not backends(recorded), lambda: f"still connected: {backends(recorded)}")


def test_nothing_is_left_in_a_transaction_while_it_waits_for_a_key(
    debugger: RawTerminal, recorded: str
) -> None:
    for key in (b"n", b"G", b"C", b"/lamp\r"):
        debugger.send(key)
    debugger.wait_for(b"hit ")
    wait_until(
        lambda: {state for _, state, _ in backends(recorded)} == {"idle"}, lambda: f"{backends(recorded)}"
    )
