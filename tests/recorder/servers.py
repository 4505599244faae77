"""A Postgres of a test's own, to restart, kill, promote and fill up."""

import os
import shlex
import shutil
import signal
import time
from pathlib import Path

from psycopg.conninfo import make_conninfo

from stepwell.store import keeper
from stepwell.store.account import server_account
from stepwell.store.binaries import locate, within_reach
from stepwell.store.cluster import Cluster
from stepwell.store.migrate import migrate

# A killed process loses nothing that it has handed to the system, flushed or not; a commit has to be handed over.
OPTIONS = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "on", "listen_addresses": ""}


class Server:
    """One server, in a folder of its own below a short one."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.cluster = Cluster.under(folder / name)
        self._account = server_account()
        self._binaries = within_reach(folder, self._account) if self._account.foreign else locate()
        self.cluster.make_folders(self._account)

    @property
    def host(self) -> str:
        return str(self.cluster.socket_folder)

    @property
    def dsn(self) -> str:
        return self.cluster.conninfo("postgres")

    def make(self) -> None:
        """Initialise and start it, with Stepwell's tables."""
        self.cluster.initialise(self._binaries, self._account)
        self.start()
        migrate(self.dsn)

    def follow(self, primary: "Server") -> None:
        """Start it as a standby of `primary`."""
        self._account.make_folder(self.cluster.data, 0o700)
        self._run("pg_basebackup", "-d", primary.dsn, "-D", self.cluster.data, "-R", "-c", "fast")
        self.start()

    def start(self, **settings: str) -> None:
        options = {**OPTIONS, "unix_socket_directories": self.host, **settings}
        words = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in options.items())
        self._control("start", "-w", "-l", self.cluster.log, "-o", words)

    def start_again(self) -> None:
        """Start it after a crash: a killed server's children take a moment to leave its memory to the next one."""
        deadline = time.monotonic() + 30
        while True:
            try:
                return self.start()
            except AssertionError:
                assert time.monotonic() < deadline
                time.sleep(0.1)

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; `immediate` is as if it had crashed."""
        self._control("stop", "-w", "-m", mode)

    def kill(self) -> None:
        """`kill -9` on the postmaster: its children notice and end."""
        pid = keeper.server_pid(str(self.cluster.data))
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def promote(self) -> None:
        self._control("promote", "-w")

    def remove(self) -> None:
        keeper.stop(str(self.cluster.data))
        shutil.rmtree(self.cluster.folder.parent, ignore_errors=True)

    def _control(self, *words: str | Path) -> None:
        self._run("pg_ctl", *words, "-s", "-D", self.cluster.data)

    def _run(self, program: str, *words: str | Path) -> None:
        done = self._account.run([self._binaries / program, *words])
        assert done.returncode == 0, done.stderr


def either(*servers: Server) -> str:
    """Conninfo of whichever of the servers may be written to."""
    return make_conninfo(
        host=",".join(server.host for server in servers),
        port=",".join("5432" for _ in servers),
        user="postgres",
        dbname="postgres",
        target_session_attrs="read-write",
    )
