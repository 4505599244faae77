"""A value in the user's pager: all of it, clean, and the terminal back afterwards."""

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from stepwell.app.pager import page, pager_command, pipe
from tests.app.listed import ScreenApp, drive

APP = """
import os
from textual.app import App
from stepwell.app.pager import page

class Paged(App):
    def on_key(self, event):
        if event.key == "v":
            self.title = page(self, ["\\x1b[31mred"], os.environ) or "none"
            self.exit(self.title)

print("said:", Paged().run())
"""


def keeper(folder: Path, body: str = "cat > {file}") -> tuple[list[str], Path]:
    """A pager that keeps what it is given."""
    file = folder / "paged.txt"
    return ["sh", "-c", body.format(file=shlex.quote(str(file)))], file


def test_everything_is_cleaned_and_handed_over(tmp_path: Path) -> None:
    command, file = keeper(tmp_path)
    assert pipe(command, ["\x1b[31mred", "[/b] ümlaut", "\r\x00"], os.environ) == ""
    assert file.read_text().splitlines() == [r"\x1b[31mred", "[/b] ümlaut", r"\r\x00"]


def test_ten_megabytes_reach_it_to_the_last_character(tmp_path: Path) -> None:
    command, file = keeper(tmp_path)
    pipe(command, ("x" * 99 for _ in range(100_000)), os.environ)
    assert file.stat().st_size == 10_000_000


def test_a_pager_that_is_left_early_is_no_error(tmp_path: Path) -> None:
    command, _ = keeper(tmp_path, "head -n 1 > {file}")
    assert pipe(command, ("x" * 99 for _ in range(100_000)), os.environ) == ""


def test_a_pager_that_fails_is_told_of(tmp_path: Path) -> None:
    command, _ = keeper(tmp_path, "exit 3")
    assert pipe(command, [], os.environ) == "sh ended with status 3"


def test_ctrl_c_in_the_pager_does_not_end_the_app(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    command, file = keeper(tmp_path, f"kill -INT {os.getpid()}; cat > {{file}}")
    assert pipe(command, ["all"], os.environ) == ""
    assert file.read_text() == "all\n"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("pager", "command"),
    [
        ("", ["less", "-+F"]),
        ("less -S", ["less", "-+F", "-S"]),
        ("cat -n", ["cat", "-n"]),
        ("'no such'", "no pager no such: set PAGER, or install less"),
        ("less '", "PAGER cannot be read: No closing quotation"),
    ],
)
def test_the_users_own_pager_is_taken(pager: str, command: list[str] | str, tmp_path: Path) -> None:
    for name in ("less", "cat"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert pager_command({"PAGER": pager, "PATH": str(tmp_path)}) == command


def test_without_a_pager_the_app_stays_and_says_so() -> None:
    assert page(ScreenApp(Screen()), ["x"], {"PATH": "/nowhere"}) == (
        "no pager less: set PAGER, or install less"
    )


def test_a_terminal_that_cannot_be_handed_over_is_told_of() -> None:
    app = ScreenApp(Screen())
    said: list[str] = []

    async def act(_: Pilot[object]) -> None:
        said.append(page(app, ["x"], {"PAGER": "cat", "PATH": os.environ["PATH"]}))

    drive(app, act)
    assert said == ["no pager here: this terminal cannot be handed over"]


def test_the_app_stands_aside_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    main, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "app.py")],
        stdin=child, stdout=child, stderr=child, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "PAGER": "cat"},
    )  # fmt: skip
    os.close(child)
    output, sent = b"", False
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([main], [], [], 0.1)[0]:
            try:
                output += os.read(main, 65536)
            except OSError:  # the other end is closed
                break
        elif b"\x1b[?1049h" in output and not sent:
            os.write(main, b"v")
            sent = True
    os.close(main)
    assert process.wait(10) == 0
    left, back = output.index(b"\x1b[?1049l"), output.rindex(b"\x1b[?1049h")
    assert left < output.index(rb"\x1b[31mred") < back
    assert b"\x1b[31mred" not in output
    assert b"said: none" in output
