"""The embedded Postgres: started by its first user, shared by all, stopped after its last.

One server per home folder. `start.lock` lets one process at a time start or stop it; every user holds a
shared lock on `users.lock` until it ends; the keeper, which waits for that (keeper.py), holds `keeper.lock`.
"""

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from stepwell.errors import DatabaseError
from stepwell.settings import Paths
from stepwell.store import keeper
from stepwell.store.account import NAME_ONE, Account, first_closed, server_account
from stepwell.store.binaries import installed, within_reach
from stepwell.store.cluster import Cluster

LINGER = 1.0
"""Seconds that the server outlives its last user, so that commands in a row share one server."""

__all__ = ["Embedded", "answers", "conninfo", "installed", "start"]


class Embedded:
    """A running server and this process's part in keeping it up. Ends with the process at the latest."""

    def __init__(self, conninfo: str, users_lock: int) -> None:
        self.conninfo = conninfo
        self._users_lock: int | None = users_lock

    def release(self) -> None:
        """Need the server no longer. Closes, not unlocks: forked children may go on holding the lock."""
        if self._users_lock is not None:
            os.close(self._users_lock)
            self._users_lock = None

    def __enter__(self) -> "Embedded":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def conninfo(paths: Paths) -> str:
    """How to reach the server, running or not."""
    return Cluster.under(paths.server).conninfo()


def answers(paths: Paths) -> bool:
    """Whether the server runs."""
    return Cluster.under(paths.server).answers()


def start(paths: Paths, *, options: Mapping[str, str] | None = None) -> Embedded:
    """Use the embedded server under `paths.server`, making and starting it where needed.

    `options` are server settings, taken only if this call starts it. Raises DatabaseError with one line.
    """
    cluster = Cluster.under(paths.server)
    try:
        account = server_account()
        cluster.make_folders(account)
        _check_reach(cluster.folder, account)
        with _lock(cluster.folder / "start.lock", fcntl.LOCK_EX) as lock:
            return _start_locked(cluster, account, options or {}, lock)
    except OSError as error:
        where = error.filename or cluster.folder
        raise DatabaseError(
            f"the embedded Postgres cannot use {where}: {error.strerror}; "
            f"set STEPWELL_HOME to a folder that can be written, {NAME_ONE}"
        ) from error


def _start_locked(cluster: Cluster, account: Account, options: Mapping[str, str], lock: int) -> Embedded:
    if not cluster.is_made():
        _tell(f"making the embedded Postgres in {cluster.folder}")
    binaries = within_reach(cluster.folder.parent, account)
    users_lock = _open_lock(cluster.folder / "users.lock")
    try:
        fcntl.flock(users_lock, fcntl.LOCK_SH)
        cluster.initialise(binaries, account, [lock])
        # Before the server: killed in between, the starter leaves a keeper without a server, not the reverse.
        if not _ensure_keeper(cluster.folder, account):
            _refuse_elsewhere(cluster)
        cluster.ensure_running(binaries, account, options)
    except BaseException:  # an interrupt too must not leave the lock held
        os.close(users_lock)
        raise
    return Embedded(cluster.conninfo(), users_lock)


def _tell(words: str) -> None:
    """Some seconds go by without a sign of life; where nobody reads that, nothing is amiss."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()


def _refuse_elsewhere(cluster: Cluster) -> None:
    """A home on a network disk: a second server on data that another machine serves would ruin it."""
    host = cluster.started_on()
    if host not in (None, socket.gethostname()) and not cluster.answers():
        raise DatabaseError(
            f"the embedded Postgres in {cluster.folder} is in use on {host}; end Stepwell there, "
            f"set STEPWELL_HOME to a folder of this machine, {NAME_ONE}"
        )


def _ensure_keeper(folder: Path, account: Account) -> bool:
    """Run a keeper unless one runs; True if it did. The lock is inherited: at no instant could two start."""
    lock = _open_lock(folder / "keeper.lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        numbers = (str(number) for number in (account.uid, account.gid, lock))
        # Through a shell that leaves at once: the keeper outlives this process and is no child of its.
        command = [sys.executable, "-I", "-S", keeper.__file__, str(folder), str(LINGER), *numbers]
        subprocess.run(
            ["/bin/sh", "-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", *command],
            pass_fds=(lock,),
            cwd="/",
            env={},
            start_new_session=True,
            check=True,
        )
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _check_reach(folder: Path, account: Account) -> None:
    closed = first_closed(folder) if account.foreign else None
    if closed is not None:
        raise DatabaseError(
            f"the embedded Postgres runs as another user than root, who cannot pass {closed}; "
            f"set STEPWELL_HOME to a folder that everyone may pass, {NAME_ONE}"
        )


@contextmanager
def _lock(path: Path, how: int) -> Iterator[int]:
    lock = _open_lock(path)
    try:
        fcntl.flock(lock, how)
        yield lock
    finally:
        os.close(lock)


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
