"""What leaves the debugger for a pager, a clipboard, a file."""

import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.cases import FAILED, fill
from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import Begins, RawTerminal, Terminal, wait_until


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A program that keeps what it is given beside itself, in `seen`, and ends."""
    script = tmp_path / "pager"
    script.write_text(
        f'#!/bin/sh\necho paging\ncat > "{tmp_path}/unfinished"\nmv "{tmp_path}/unfinished" "{tmp_path}/seen"\n'
    )
    script.chmod(0o755)
    return script


def test_the_pager_gets_the_whole_value(
    terminal: Callable[..., Terminal], recorded: str, pager: Path
) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed:5", PAGER=str(pager))
    before = debugger.wait_until_still("5/52 10% after", "[OUTPUT] 12.4 KB")
    debugger.type("v")
    seen = pager.with_name("seen")
    wait_until(seen.exists, "the pager was not run")
    debugger.wait_for(Begins(before[:9]))
    text = seen.read_text()
    assert text.startswith("x prompt 6 holds 2,048 characters of this output\n")
    assert text.count('"id": ') == 50
    assert (
        '  "note": "Customer writes that the shade arrived broken; photo of the carton' in text.splitlines()
    )
    debugger.type("n")
    debugger.wait_for("6/52 12% after")


def test_the_pager_gets_nothing_raw(terminal: Callable[..., Terminal], schema_dsn: str, pager: Path) -> None:
    fill(schema_dsn)
    debugger = terminal(*STEPWELL, "--dsn", schema_dsn, f"{FAILED}:3", PAGER=str(pager))
    debugger.wait_for("3/4 75% after")
    debugger.type("v")
    seen = pager.with_name("seen")
    wait_until(seen.exists, "the pager was not run")
    text = seen.read_text()
    assert "8177" in text
    assert not [character for character in text if character != "\n" and not character.isprintable()]


def test_nothing_recorded_reaches_the_terminal_raw(raw: Callable[..., RawTerminal], schema_dsn: str) -> None:
    fill(schema_dsn, name="\x1b]52;c;cm0=\x07\x1b[31mred\r")
    debugger = raw(*STEPWELL, "--dsn", schema_dsn)
    debugger.wait_for(b"newest first")
    debugger.send(b"\r")
    debugger.wait_for(b"1/4 25% after")
    debugger.send(b"nnx\tx\tx/red\r")
    debugger.wait_for(b"hit ")
    debugger.send(b"qq")
    assert debugger.wait() == 0
    for sequence in (b"\x1b]52", b"\x1b[31mred", "\u202e".encode(), "\u009b".encode()):
        assert sequence not in debugger.written


def test_what_is_copied_in_tmux_can_be_pasted_there(terminal: Callable[..., Terminal], recorded: str) -> None:
    debugger = terminal(*STEPWELL, "--dsn", recorded, "@failed:5")
    debugger.wait_for("5/52 10% after", "[OUTPUT] 12.4 KB")
    debugger.type("Y")
    debugger.wait_for("copied 12,")
    assert debugger.tmux("show-buffer").startswith('[{"id": 8102')


def test_elsewhere_it_goes_to_the_clipboard_of_the_terminal(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed:5")
    debugger.wait_for(b"5/52 10% after")
    debugger.send(b"y")
    debugger.wait_for(b"copied 6 characters: ")
    address = debugger.written.partition(b"copied 6 characters: ")[2][:6]
    assert address.endswith(b":5")
    assert b"\x1b]52;c;" + base64.b64encode(address) + b"\x07" in debugger.written


def test_where_there_is_no_clipboard_it_goes_to_a_file_and_says_so(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed:5", TERM="linux")
    debugger.wait_for(b"5/52 10% after")
    debugger.send(b"y")
    debugger.wait_for(b":5  SERIALIZABLE")
    assert re.search(rb"the terminal has no clipboard: [0-9a-f]{4,}:5", debugger.written)
    debugger.send(b"Y")
    debugger.wait_for(b"the terminal has no clipboard: written to ~/.local/state/stepwell/copied.txt")
