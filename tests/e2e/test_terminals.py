"""Terminals of every kind, and what is no terminal."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import stepwell
from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import Begins, RawTerminal, Terminal

STYLE = re.compile(rb"\x1b\[([0-9;:]*)m")
MOUSE = re.compile(rb"\x1b\[\?(9|100[0-3]|1005|1006|1015|1016)h")
LOOP = "FAILED MaxTurns  loop 24 laps from 5"


def colours(written: bytes) -> set[int]:
    """The parameters of what was written that set a colour."""
    found = {int(number) for style in STYLE.findall(written) for number in re.split(b"[;:]", style) if number}
    return {number for number in found if 30 <= number <= 38 or 40 <= number <= 48 or 90 <= number <= 107}


@pytest.mark.parametrize("term", ["xterm", "screen", "linux", "vt100"])
def test_it_shows_in_a_terminal_called(terminal: Callable[..., Terminal], recorded: str, term: str) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed", TERM=term)
    debugger.wait_for("1/52 2% after", LOOP, "INPUT- gpt-5-mini", "n/p step")
    debugger.type("q")
    assert debugger.wait() == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "term", ["xterm-256color", "screen-256color", "tmux-256color", "rxvt", "st", "foot", "vt220"]
)
@pytest.mark.parametrize("size", [(20, 5), (40, 12), (80, 24), (300, 100)])
def test_it_shows_in_any_terminal_of_any_size(
    terminal: Callable[..., Terminal], recorded: str, term: str, size: tuple[int, int]
) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed", TERM=term, size=size)
    debugger.wait_for(lambda screen: any("#" in line for line in screen))
    debugger.type("n")
    debugger.wait_for("2/52")
    debugger.type("Gzddzq")
    assert debugger.wait() == 0


@pytest.mark.parametrize(
    "language", [{"LANG": "C"}, {"LANG": "C.UTF-8", "LC_ALL": "POSIX"}, {"LANG": "de_DE"}]
)
def test_without_a_utf8_language_all_that_is_written_is_ascii(
    raw: Callable[..., RawTerminal], schema_dsn: str, language: dict[str, str]
) -> None:
    """What was recorded in other letters takes as many cells as it would."""
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run("naïve 漢字 run") as run:
        run.state({"naïve": "漢字 and more than fits " * 20})
    debugger = raw(*STEPWELL, "--dsn", schema_dsn, **language)
    debugger.wait_for(b"newest first", b"na?ve ???? run ")
    debugger.send(b"\r")
    debugger.wait_for(b"1/1 100% after", b'"????')
    debugger.send("/ü漢\r".encode())
    debugger.wait_for(b"not found: ???")
    debugger.send(b"qq")
    assert debugger.wait() == 0
    assert debugger.written.isascii()


@pytest.fixture
def in_screen(terminal: Callable[..., Terminal]) -> Iterator[Terminal]:
    """A shell in which GNU screen keeps its sessions to itself, and none for longer than the test."""
    if shutil.which("screen") is None:
        pytest.skip("no GNU screen: apt-get install screen")
    folder = Path(os.environ["STEPWELL_HOME"])
    folder.mkdir(mode=0o700)
    config = folder / "screenrc"
    config.write_text("startup_message off\n")
    shell = terminal("bash", "--norc", "--noprofile", SCREENDIR=str(folder), SCREENRC=str(config))
    shell.wait_for("$")
    yield shell
    quitting = ["screen", "-S", "work", "-X", "quit"]
    subprocess.run(quitting, env=os.environ | {"SCREENDIR": str(folder)}, check=False, capture_output=True)


def test_gnu_screen_shows_it_and_takes_it_up_again(in_screen: Terminal, recorded: str) -> None:
    """Detached and attached anew, as after a broken connection."""
    in_screen.line(shlex.join(["screen", "-S", "work", *STEPWELL, "--dsn", recorded, "@failed"]))
    in_screen.wait_for("1/52 2% after", LOOP, "INPUT- gpt-5-mini", "n/p step")
    in_screen.type("n" * 10)
    there = in_screen.wait_until_still("11/52 21% after", ">   11 T", "[OUTPUT] 12.4 KB", "never seen")
    in_screen.type("C-a", "d")
    in_screen.wait_for("detached from")
    in_screen.line("screen -r work")
    in_screen.wait_for("11/52 21% after", Begins(there[:22]))
    in_screen.type("nq")
    in_screen.wait_for("[screen is terminating]")


def test_it_has_colours_but_never_the_mouse(raw: Callable[..., RawTerminal], recorded: str) -> None:
    """The sixteen that every terminal has, and that its user has chosen, though it may have millions."""
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed:5", COLORTERM="truecolor")
    debugger.wait_for(b"5/52 10% after", b"x prompt 6 holds")
    debugger.send(b"q")
    assert debugger.wait() == 0
    assert colours(debugger.written) <= {*range(30, 38), *range(40, 48), *range(90, 98), *range(100, 108)}
    assert 31 in colours(debugger.written)
    assert not MOUSE.search(debugger.written)


def test_no_color_is_heeded_on_every_screen(raw: Callable[..., RawTerminal], recorded: str) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, NO_COLOR="1")
    debugger.wait_for(b"newest first")
    debugger.send(b"/refund\r?q\r")
    debugger.wait_for(b"1/52 2% after")
    debugger.send(b"nbt?")
    debugger.wait_for(b"keys of the debugger")
    debugger.send(b"qB")
    debugger.wait_for(b"kept for runs named refund-triage")
    debugger.send(b"q:x\r5gzqqq")
    assert debugger.wait() == 0
    assert colours(debugger.written) == set()


def test_it_follows_the_size_of_the_window(terminal: Callable[..., Terminal], recorded: str) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed:5")
    small = debugger.wait_until_still("5/52 10% after", "x prompt 6 holds")
    debugger.resize(120, 40)
    debugger.wait_for(
        lambda screen: screen[38:39] != [] and screen[38].startswith("5/52 10%"), "36 L gpt-5-mini"
    )
    debugger.resize(40, 10)
    debugger.wait_for(lambda screen: len(screen) == 10 and screen[1].startswith("[OUTPUT] 12.4 KB"))
    debugger.resize(80, 24)
    debugger.wait_for("5/52 10% after", Begins(small[:22]))


def test_it_starts_in_a_window_of_no_use(terminal: Callable[..., Terminal], recorded: str) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, size=(10, 3))
    debugger.wait_for(lambda screen: "".join(screen).strip() != "")
    debugger.type("Enter")
    debugger.resize(20, 5)
    debugger.type("ng")
    debugger.wait_for("1/52 2%")
    debugger.resize(80, 24)
    debugger.wait_for("1/52 2% after", LOOP)


@pytest.mark.parametrize("redirection", ["</dev/null", "| cat"], ids=["input", "output"])
def test_half_a_terminal_is_refused(raw: Callable[..., RawTerminal], recorded: str, redirection: str) -> None:
    command = f"set -o pipefail; {shlex.join([*STEPWELL, '--dsn', recorded])} {redirection}"
    debugger = raw("bash", "-c", command)
    assert debugger.wait() == 2
    assert debugger.written == (
        b"stepwell: the debugger needs a terminal; without one: stepwell runs, steps, show, replay\r\n"
    )


@pytest.mark.parametrize("term", ["", "unknown"])
def test_a_terminal_that_is_not_known_is_refused(
    raw: Callable[..., RawTerminal], recorded: str, term: str
) -> None:
    setting = [f"TERM={term}"] if term else ["-u", "TERM"]
    debugger = raw("env", *setting, *STEPWELL, "--dsn", recorded)
    assert debugger.wait() == 2
    why = f"TERM={term} cannot show the debugger" if term else "the debugger has to know TERM"
    assert debugger.written.decode() == (
        f"stepwell: {why}; set TERM, or use stepwell runs, steps, show, replay\r\n"
    )


@pytest.mark.parametrize("words", [("@failed",), ("demo",)], ids=["address", "demo"])
def test_a_terminal_that_can_draw_nothing_is_refused(
    raw: Callable[..., RawTerminal], recorded: str, words: tuple[str, ...]
) -> None:
    debugger = raw(*STEPWELL, *words, "--dsn", recorded, TERM="dumb")
    assert debugger.wait() == 2
    assert debugger.written.endswith(
        b"stepwell: TERM=dumb cannot show the debugger; set TERM, or use stepwell runs, steps, show, replay\r\n"
    )
    assert b"\x1b" not in debugger.written
