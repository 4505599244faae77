"""Terminals to run the app in: one that draws the screen (a tmux of its own), and one that keeps the bytes."""

import contextlib
import fcntl
import os
import pty
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PATIENCE = 60.0
"""Seconds that the slowest machine may take for anything."""
STILL = 0.5
"""Seconds without a change after which a screen counts as drawn."""
CONFIG = """\
set -g status off
set -g remain-on-exit on
set -g default-size {columns}x{lines}
set -s escape-time 0
"""


def wait_until(condition: Callable[[], bool], why: Callable[[], str] | str) -> None:
    """Return once `condition` holds; fail with `why` where it never does."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(why if isinstance(why, str) else why(), pytrace=True)
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process is there; one that only waits to be reaped is not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


@dataclass(frozen=True)
class Begins:
    """A condition for `Terminal.wait_for`: the screen begins with these lines."""

    lines: Sequence[str]

    def __call__(self, screen: Sequence[str]) -> bool:
        return screen[: len(self.lines)] == self.lines

    def __repr__(self) -> str:
        return "\n".join(["first of all", *(f"| {line}" for line in self.lines)])


class Terminal:
    """A command in a pane of a tmux server of its own.

    `user` runs the server, and with it the command, as another user than root.
    """

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        size: tuple[int, int] = (80, 24),
        user: int | None = None,
    ) -> None:
        if shutil.which("tmux") is None:
            pytest.fail("these tests need tmux: apt-get install tmux", pytrace=False)
        self._env = {name: value for name, value in env.items() if name not in ("TMUX", "TMUX_PANE")}
        self._user = user
        self._folder = folder
        config = folder / "tmux.conf"
        config.write_text(CONFIG.format(columns=size[0], lines=size[1]))
        columns, lines = (str(number) for number in size)
        self.tmux("-f", str(config), "new-session", "-d", "-x", columns, "-y", lines, shlex.join(command))

    def tmux(self, *words: str) -> str:
        """What a tmux command prints. Fails where tmux does."""
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self._folder / "tmux"), *words],
            env=self._env,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
        )
        assert done.returncode == 0, f"tmux {words[0]}: {done.stderr}"
        return done.stdout

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names (`Enter`, `C-z`); any other text is typed as it is."""
        self.tmux("send-keys", "--", *keys)

    def line(self, text: str) -> None:
        """Type a line of a shell."""
        self.tmux("send-keys", "-l", "--", text)
        self.type("Enter")

    def screen(self) -> list[str]:
        return self.tmux("capture-pane", "-p").splitlines()

    def wait_for(self, *wanted: str | Callable[[list[str]], bool]) -> list[str]:
        """The screen, once it has all these texts, fulfils all these conditions, and stays so for a moment."""
        screen: list[str] = []

        def is_there(text: str | Callable[[list[str]], bool]) -> bool:
            return any(text in line for line in screen) if isinstance(text, str) else text(screen)

        def look() -> bool:
            before, screen[:] = list(screen), self.screen()
            return screen == before and all(is_there(text) for text in wanted)

        wait_until(look, lambda: self._missing([text for text in wanted if not is_there(text)], screen))
        return screen

    def wait_until_still(self, *wanted: str | Callable[[list[str]], bool]) -> list[str]:
        """The screen as `wait_for` has it, once nothing was drawn for a while: what to compare others with.

        Between the app and it other programs pass on a screen in parts, with pauses where the machine is busy.
        """
        screen: list[str] = []

        def is_still() -> bool:
            screen[:] = self.wait_for(*wanted)
            time.sleep(STILL)
            return self.screen() == screen

        wait_until(is_still, lambda: self._missing(["an end of drawing"], screen))
        return screen

    def wait_for_prompt(self) -> list[str]:
        """The screen, once a shell waits for a line."""
        return self.wait_for(lambda screen: "".join(screen).rstrip().endswith("$"))

    @staticmethod
    def _missing(wanted: Sequence[object], screen: Sequence[str]) -> str:
        return "\n".join([f"not on the screen: {wanted!r}", "but:", *(f"| {line}" for line in screen)])

    def resize(self, columns: int, lines: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def state(self, variable: str) -> str:
        """One of tmux's variables of the pane, such as `cursor_flag`."""
        return self.tmux("display-message", "-p", f"#{{{variable}}}").strip()

    @property
    def pid(self) -> int:
        return int(self.state("pane_pid"))

    def wait(self) -> int:
        """The exit status of the command, once it has ended."""
        wait_until(lambda: self.state("pane_dead") == "1", lambda: self._missing(["the end"], self.screen()))
        return int(self.state("pane_dead_status") or -int(self.state("pane_dead_signal") or 0))

    def close(self) -> None:
        with contextlib.suppress(AssertionError):
            self.tmux("kill-server")


class RawTerminal:
    """A command on a bare pseudo-terminal: no screen, but every byte that was written, and its end in our hand.

    Without `controls` it is not the controlling terminal of the command, which is sent no SIGHUP then.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        size: tuple[int, int] = (80, 24),
        controls: bool = True,
    ) -> None:
        self.written = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.settings = termios.tcgetattr(slave)
        self._process = subprocess.Popen(
            command,
            env=dict(env),
            cwd="/",
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if controls else None,
        )
        self._slave: int | None = slave
        self.pid = self._process.pid

    def send(self, data: bytes) -> None:
        os.write(self._master, data)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait_for(self, *texts: bytes) -> None:
        """Return once these bytes have been written, in any order."""

        def look() -> bool:
            return all(text in self.read() for text in texts)

        wait_until(look, lambda: f"not written: {texts!r}; but {self.written[-2000:]!r}")

    def wait_for_prompt(self) -> None:
        """Return once a shell waits for a line: what is typed before may be thrown away with the settings."""
        wait_until(lambda: self.read().endswith(b"$ "), lambda: f"no prompt: {self.written[-2000:]!r}")

    def settings_now(self) -> list[object]:
        """The terminal's settings as `tcgetattr` has them."""
        assert self._slave is not None
        return termios.tcgetattr(self._slave)

    def vanish(self) -> None:
        """Close the other end, as when an SSH connection breaks."""
        self._close_slave()
        os.close(self._master)
        self._master = -1

    def wait(self) -> int:
        """The exit status, once the command has ended; negative for a signal."""

        def ended() -> bool:
            if self._master >= 0:
                self.read()
            return self._process.poll() is not None

        wait_until(ended, lambda: f"it does not end; last written: {self.written[-2000:]!r}")
        return self._process.returncode

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close_slave()
        if self._master >= 0:
            os.close(self._master)

    def _close_slave(self) -> None:
        if self._slave is not None:
            os.close(self._slave)
            self._slave = None

    def read(self) -> bytes:
        """All that has been written so far."""
        while select.select([self._master], [], [], 0)[0]:
            try:
                self.written += os.read(self._master, 65536)
            except OSError:  # how a pseudo-terminal says on Linux that nobody has it open
                break
        return self.written
