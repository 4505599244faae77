"""One data folder of the embedded Postgres: made, started, asked whether it answers."""

import hashlib
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from stepwell.errors import DatabaseError
from stepwell.store.account import NAME_ONE, Account
from stepwell.store.binaries import MAJOR
from stepwell.store.keeper import server_pid

DATABASE = "stepwell"
SUPERUSER = "postgres"
START_TIMEOUT = 120
"""Seconds; recovery after a crash of the machine counts in."""
_SOCKET_PATH_LIMIT = 103
"""Bytes a Unix socket's path may have: 103 on macOS, 107 on Linux."""
_LOG_LIMIT = 8 << 20
_NO_PROCESS = 2**31 - 1
_ORPHANS_TIMEOUT = 15.0
"""Seconds in which the processes of a killed server notice and end."""


@dataclass(frozen=True)
class Cluster:
    """The folder `postgres-18` and what lies in it. A value; only its methods touch the disk."""

    folder: Path

    @classmethod
    def under(cls, home: Path) -> "Cluster":
        """The cluster of a home folder. Symbolic links are resolved, so that all processes name it alike."""
        return cls(Path(os.path.realpath(home)) / f"postgres-{MAJOR}")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The server's own log, in a folder that the server's user may write."""
        return self.run_folder / "server.log"

    @property
    def run_folder(self) -> Path:
        return self.folder / "run"

    @property
    def socket_folder(self) -> Path:
        """Where the socket is: beside the data if that path is short enough, else a private folder in /tmp.

        Not the runtime folder of the login: that one is removed when the user logs out, server or no server.
        """
        if len(os.fsencode(self.run_folder / ".s.PGSQL.5432")) <= _SOCKET_PATH_LIMIT:
            return self.run_folder
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return Path(f"/tmp/stepwell-{os.geteuid()}") / digest

    def conninfo(self, dbname: str = DATABASE) -> str:
        """How to connect to it as its superuser."""
        return make_conninfo(host=str(self.socket_folder), port=5432, user=SUPERUSER, dbname=dbname)

    def make_folders(self, account: Account) -> None:
        """Make what is missing; root's own may be passed, not read, by the server's user. Raises OSError."""
        home = self.folder.parent
        home.parent.mkdir(parents=True, exist_ok=True)
        account.make_folder(home, 0o755 if account.foreign else 0o700, owned=False)
        account.make_folder(self.folder, 0o711 if account.foreign else 0o700, owned=False)
        account.make_folder(self.run_folder, 0o700)
        if self.socket_folder != self.run_folder:
            shared = self.socket_folder.parent
            account.make_folder(shared, 0o711 if account.foreign else 0o700, owned=False)
            check_private(shared, os.geteuid())
            account.make_folder(self.socket_folder, 0o700)
            check_private(self.socket_folder, account.uid)

    def is_made(self) -> bool:
        """Whether the data folder is there, whole."""
        return (self.data / "PG_VERSION").exists()

    def initialise(self, binaries: Path, account: Account, holding: Sequence[int] = ()) -> None:
        """Make the data folder, whole or not at all, unless it is there. Raises DatabaseError.

        `holding` is the file whose lock keeps others from doing so: initdb outlives a starter that is killed.
        """
        if self.is_made():
            return
        unfinished = self.folder / "data.new"
        if unfinished.exists():
            shutil.rmtree(unfinished)
        account.make_folder(unfinished, 0o700)
        # The builtin provider sorts alike on every system, whatever locales it has installed.
        locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8")
        auth = ("--auth-local=trust", "--auth-host=reject", "-U", SUPERUSER)
        try:
            done = account.run([binaries / "initdb", "-D", unfinished, *locale, *auth], holding=holding)
            if done.returncode != 0:
                why = f"cannot make the embedded Postgres in {self.folder}: {cause(done.stderr)}"
                raise DatabaseError(f"{why}; set STEPWELL_HOME to another folder, {NAME_ONE}")
            unfinished.rename(self.data)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def answers(self) -> bool:
        """Whether a server listens on the socket; it may still be starting, or run in another container."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket_folder / ".s.PGSQL.5432")) == 0

    def started_on(self) -> str | None:
        """The machine that started the server last, or None."""
        try:
            return (self.folder / "host").read_text()
        except FileNotFoundError:
            return None

    def ensure_running(self, binaries: Path, account: Account, options: Mapping[str, str]) -> None:
        """Start the server unless it runs, wait until it takes connections. Raises DatabaseError."""
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            if not self.answers() and server_pid(str(self.data)) is None:
                self._start(binaries, account, options)
            said = self._try_database(binaries, account)
            if said is None:
                return
            # Starting up and shutting down pass; the rest does not.
            if time.monotonic() > deadline or not re.search("the database system is|No such file", said):
                raise DatabaseError(f"the embedded Postgres does not answer: {cause(said)}; {NAME_ONE}")
            time.sleep(0.05)

    def _start(self, binaries: Path, account: Account, options: Mapping[str, str]) -> None:
        for file in (self.data / "postmaster.pid", self.socket_folder / ".s.PGSQL.5432.lock"):
            _disown(file)
        (self.folder / "host").write_text(socket.gethostname())
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.unlink()
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self.socket_folder}"',
            "unix_socket_permissions": "0700",
            "port": "5432",
            **options,
        }
        words = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        command = ["start", "-D", self.data, "-l", self.log, "-o", words, "-w", "-s", "-t", START_TIMEOUT]
        deadline = time.monotonic() + _ORPHANS_TIMEOUT
        while (why := self._run_server([binaries / "pg_ctl", *command], account)) is not None:
            if "shared memory block" not in why or time.monotonic() > deadline:
                raise DatabaseError(
                    f"the embedded Postgres does not start: {why}; see {self.log}, {NAME_ONE}"
                )
            time.sleep(0.1)

    def _run_server(self, command: Sequence[object], account: Account) -> str | None:
        """Start the server and wait until it is ready; returns what it died of, or None."""
        before = self.log.stat().st_size if self.log.exists() else 0
        try:
            done = account.run([str(word) for word in command], timeout=START_TIMEOUT + 10)
        except subprocess.TimeoutExpired:
            return f"no answer in {START_TIMEOUT} s"
        return None if done.returncode == 0 else cause(self._logged_since(before) or done.stderr)

    def _logged_since(self, offset: int) -> str:
        if not self.log.exists():
            return ""
        with self.log.open(errors="replace") as log:
            log.seek(offset)
            return log.read()

    def _try_database(self, binaries: Path, account: Account) -> str | None:
        """Connect, making the database where it is missing; what the server said against it, or None."""
        try:
            psycopg.connect(self.conninfo(), connect_timeout=10).close()
        except psycopg.OperationalError as error:
            if f'database "{DATABASE}" does not exist' not in str(error):
                return str(error)
            words = ("-h", self.socket_folder, "-p", "5432", "-U", SUPERUSER, DATABASE)
            done = account.run([binaries / "createdb", *words])
            return done.stderr if done.returncode != 0 else None
        return None


def cause(text: str) -> str:
    """The line of a program's output that says what went wrong, without its prefix."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"(FATAL|PANIC|ERROR|error):", line)]
    line = [*telling, *lines[-1:], "no reason given"][0]
    return re.sub(r"^.*?(FATAL|PANIC|ERROR|error):\s+", "", line)


def _disown(file: Path) -> None:
    """Put a number that no process has into a stale lock file whose number belongs to a process again.

    Postgres would take that process (a zombie, or one that got the number later) for a running server. The
    rest of the file stays: it tells Postgres whether orphans of a killed server still hold the data.
    """
    try:
        text = file.read_text()
        number, _, rest = text.partition("\n")
        os.kill(int(number), 0)
    except (FileNotFoundError, ValueError, ProcessLookupError, PermissionError):
        return
    # Not through a link: the folder belongs to the server's user, and root may be writing.
    with open(os.open(file, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW), "w") as stale:
        stale.write(f"{_NO_PROCESS}\n{rest}")


def check_private(folder: Path, owner: int) -> None:
    """A name in /tmp can be taken by anyone first. Raises DatabaseError where someone did."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o022:
        raise DatabaseError(f"{folder} belongs to someone else or is open to others; remove it, {NAME_ONE}")
