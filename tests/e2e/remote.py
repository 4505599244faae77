"""An SSH server of the test's own on the loopback, and a slow line to it that can break."""

import contextlib
import getpass
import grp
import os
import pty
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Self

import pytest

from tests.e2e.terminal import wait_until

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
PrintMotd no
ClientAliveInterval 1
ClientAliveCountMax 1
"""
"""As on servers that mind their connections: one that says nothing for two seconds is closed."""


class Sshd:
    """Runs sshd as whoever runs the tests; only they, with a key of the test's, get in.

    It logs to standard error, which pytest shows where a test fails.
    """

    def __init__(self, folder: Path) -> None:
        if SSHD is None or shutil.which("ssh") is None:
            pytest.skip("no sshd: apt-get install openssh-server openssh-client")
        if not _can_give_terminals():
            pytest.skip("only root's sshd can give terminals here: /dev/pts is mounted without gid=tty")
        self._folder = folder
        for name in ("host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        self.port = _free_port()
        config = folder / "sshd_config"
        config.write_text(CONFIG.format(port=self.port, folder=folder))
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # it will not start as root without
        self._process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)])
        wait_until(self._answers, "sshd does not answer")

    def _answers(self) -> bool:
        assert self._process.poll() is None, "sshd has ended"
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=5) as one,
        ):
            return one.recv(4) == b"SSH-"
        return False

    def command(self, port: int, words: list[str], env: Mapping[str, str]) -> list[str]:
        """What to run at this end so that `words` run at the other, on a terminal, in `env`."""
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
        there = ["env", *(f"{name}={value}" for name, value in env.items()), *words]
        return [
            *("ssh", "-tt", "-F", "none", "-i", str(self._folder / "user"), "-o", "IdentitiesOnly=yes"),
            *(word for option in options for word in ("-o", option)),
            *("-p", str(port), f"{getpass.getuser()}@127.0.0.1", f"exec {shlex.join(there)}"),
        ]

    def sessions(self) -> list[str]:
        """The processes of connections that are open."""
        path = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return path.read_text().split()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def _can_give_terminals() -> bool:
    """Whether sshd will: it wants a terminal to belong to the group tty, and only root can give it to that."""
    master, slave = pty.openpty()
    try:
        return os.geteuid() == 0 or os.fstat(slave).st_gid == grp.getgrnam("tty").gr_gid
    except KeyError:
        return True  # without such a group it leaves it to the user's own
    finally:
        os.close(master)
        os.close(slave)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Line:
    """Passes on to `port` what arrives at its own, late, and counts what comes back."""

    def __init__(self, port: int, delay: float) -> None:
        self._to, self._delay = port, delay
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.came_back = 0
        """Bytes."""
        self._cut = threading.Event()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [near, far]
                self._pass_on(near, far, lambda _: None)
                self._pass_on(far, near, self._count)

    def _count(self, size: int) -> None:
        self.came_back += size

    def _pass_on(self, source: socket.socket, target: socket.socket, tell: Callable[[int], None]) -> None:
        under_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()

        def read() -> None:
            data = b"."
            while data:
                try:
                    data = source.recv(65536)
                except OSError:
                    data = b""  # closed here
                tell(len(data))
                under_way.put((time.monotonic() + self._delay, data))

        def write() -> None:
            while True:
                due, data = under_way.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if self._cut.is_set():
                    return  # and nobody is told: the other end hears nothing any more
                with contextlib.suppress(OSError):
                    target.sendall(data) if data else target.shutdown(socket.SHUT_WR)
                if not data:
                    return

        for work in (read, write):
            threading.Thread(target=work, daemon=True).start()

    def cut(self) -> None:
        """From now on nothing arrives at either end, as when a cable is pulled out."""
        self._cut.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._server, *self._sockets):
            one.close()
