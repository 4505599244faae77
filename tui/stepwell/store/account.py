"""Whose processes the embedded Postgres's are: the user's own, or a service user's when root starts it.

Postgres refuses to run as root. Root therefore starts it as the system user `stepwell`, and the folders that
this user needs are made for it; the permissions of a folder that was there before are never changed.
"""

import errno
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepwell.errors import DatabaseError

SERVICE_USER = "stepwell"
NAME_ONE = "or name a database with --dsn or DATABASE_URL"


@dataclass(frozen=True)
class Account:
    """The system user that runs the server."""

    uid: int
    gid: int
    foreign: bool
    """True where this is not the user of this process, which then is root."""

    def run(
        self, argv: Sequence[str | Path], *, timeout: float = 120.0, holding: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this user, in its own session, with none of the caller's environment or files.

        `holding` are files that it has open all the same: their locks last until it ends, though the caller is
        killed.
        Raises OSError where it cannot be run, TimeoutExpired after `timeout` seconds.
        """
        return subprocess.run(
            [str(word) for word in argv],
            cwd="/",
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            start_new_session=True,
            pass_fds=holding,
            check=False,
            user=self.uid if self.foreign else None,
            group=self.gid if self.foreign else None,
            extra_groups=[] if self.foreign else None,
        )

    def make_folder(self, path: Path, mode: int, *, owned: bool = True) -> None:
        """Make `path` with this very `mode`, for this user if `owned`; one that exists is left alone."""
        if path.is_dir():
            return
        # Complete before it has its name: another starter may look at it, and this one may be killed.
        try:
            unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error
        try:
            if owned and self.foreign:
                os.chown(unfinished, self.uid, self.gid)
            unfinished.chmod(mode)
            unfinished.rename(path)
        except OSError as error:
            unfinished.rmdir()
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise


def server_account() -> Account:
    """The user to run the server as: this one, or for root the service user, which is made if missing."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), foreign=False)
    try:
        entry = pwd.getpwnam(SERVICE_USER)
    except KeyError:
        _add_service_user()
        entry = pwd.getpwnam(SERVICE_USER)
    if entry.pw_uid == 0:
        raise DatabaseError(f"the user {SERVICE_USER} is root, as which Postgres does not run; {NAME_ONE}")
    return Account(entry.pw_uid, entry.pw_gid, foreign=True)


def first_closed(path: Path) -> Path | None:
    """The first folder on the way to `path` that not everyone may pass, or None where all are open."""
    steps = [*reversed(path.parents), path]
    return next((step for step in steps if step.is_dir() and not step.stat().st_mode & 0o001), None)


def _add_service_user() -> None:
    remedy = f"add it (useradd --system {SERVICE_USER}), run as an ordinary user, {NAME_ONE}"
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        raise DatabaseError(f"root needs a system user {SERVICE_USER} to run Postgres; {remedy}")
    shell = shutil.which("nologin", path="/usr/sbin:/sbin:/usr/bin:/bin") or "/bin/false"
    command = [useradd, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    done = subprocess.run(
        [*command, "--shell", shell, SERVICE_USER], capture_output=True, text=True, check=False, cwd="/"
    )
    # Two starters at once: the one that came second finds the user there.
    if done.returncode != 0 and not _exists(SERVICE_USER):
        cause = (done.stderr.strip().splitlines() or ["useradd failed"])[-1]
        raise DatabaseError(f"cannot add the system user {SERVICE_USER}: {cause}; {remedy}")


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _environment() -> dict[str, str]:
    """What a server needs of the environment; the starter's secrets and PG variables are not among it."""
    kept = {name: os.environ[name] for name in ("TZ", "LD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", **kept}
