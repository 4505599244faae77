"""Over SSH, on a slow line that breaks: the way the debugger is used on a server."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import STEPWELL, backends
from tests.e2e.remote import Line, Sshd
from tests.e2e.terminal import Begins, Terminal, is_running, wait_until

DELAY = 0.05
"""Seconds each way."""
LOOP = "FAILED MaxTurns  loop 24 laps from 5"


@pytest.fixture(scope="module")
def sshd(short_folder: Path) -> Iterator[Sshd]:
    folder = short_folder / "ssh"
    folder.mkdir(mode=0o700)
    server = Sshd(folder)
    yield server
    server.close()


@pytest.fixture
def line(sshd: Sshd) -> Iterator[Line]:
    with Line(sshd.port, DELAY) as slow:
        yield slow


class Remote:
    """Runs words at the other end of a line."""

    def __init__(
        self, terminal: Callable[..., Terminal], sshd: Sshd, env: dict[str, str], folder: Path
    ) -> None:
        self._terminal, self._sshd, self._file = terminal, sshd, folder / "pid"
        self._env = {name: value for name, value in env.items() if name != "TERM"}

    def run(self, port: int, *words: str) -> Terminal:
        """A terminal at this end of it."""
        told = ["sh", "-c", f"echo $$ >{shlex.quote(str(self._file))}; exec {shlex.join(words)}"]
        return self._terminal(*self._sshd.command(port, told, self._env))

    @property
    def pid(self) -> int:
        return int(self._file.read_text())


@pytest.fixture
def remote(terminal: Callable[..., Terminal], sshd: Sshd, env: dict[str, str], tmp_path: Path) -> Remote:
    return Remote(terminal, sshd, env, tmp_path)


def test_a_burst_of_keys_is_few_bytes_and_a_broken_line_leaves_nothing(
    remote: Remote, line: Line, sshd: Sshd, terminal: Callable[..., Terminal], recorded: str
) -> None:
    words = (*STEPWELL, "--dsn", recorded, "@failed")
    here = terminal(*words).wait_until_still("1/52 2% after", LOOP)
    debugger = remote.run(line.port, *words)
    debugger.wait_for(Begins(here[:22]), here[23])
    before = line.came_back
    for number in (2, 3, 4):
        debugger.type("n")
        debugger.wait_for(f"{number}/52")
    three, before = line.came_back - before, line.came_back
    debugger.type("n" * 30 + "p" * 5 + "5n" * 5 + "p" * 5)
    debugger.wait_for("47/52", ">   47 T")
    assert line.came_back - before < 5 * three
    pid = remote.pid
    assert is_running(pid)
    assert {state for _, state, _ in backends(recorded)} == {"idle"}
    line.cut()
    wait_until(lambda: not is_running(pid), "the debugger outlives its connection")
    wait_until(lambda: not sshd.sessions(), lambda: f"left behind: {sshd.sessions()}")
    assert not [state for _, state, _ in backends(recorded) if state != "idle"]


@pytest.mark.long
def test_in_tmux_at_the_other_end_it_outlives_the_connection(
    remote: Remote, line: Line, sshd: Sshd, recorded: str, terminal_folder: Path
) -> None:
    config = terminal_folder / "there.conf"
    config.write_text("set -g status off\nset -s escape-time 0\n")
    tmux = ["tmux", "-S", str(terminal_folder / "there"), "-f", str(config)]
    first = remote.run(line.port, *tmux, "new-session", *STEPWELL, "--dsn", recorded, "@failed")
    first.wait_for("1/52 2% after")
    first.type("nnn")
    seen = first.wait_until_still("4/52")
    line.cut()
    wait_until(lambda: not sshd.sessions(), lambda: f"left behind: {sshd.sessions()}")
    wait_until(lambda: {state for _, state, _ in backends(recorded)} == {"idle"}, "it is not idle")
    with Line(sshd.port, DELAY) as other:
        again = remote.run(other.port, *tmux, "attach")
        again.wait_for(Begins(seen))
        again.type("n")
        again.wait_for("5/52")
        again.type("q")
        assert again.wait() == 0
