"""The process that stops the embedded Postgres once its last user is gone.

Every user holds a shared lock on `users.lock`, which the kernel drops however the user ends. The keeper waits
for the exclusive lock. It is run by its file name, so that it loads nothing but the standard library.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time

STOP_TIMEOUT = 60.0


def main(folder: str, linger: float, uid: int, gid: int, keeper_lock: int) -> None:
    """Wait for the last user of the server in `folder`, and `linger` seconds for a next; stop the server; leave.

    `keeper_lock` is a file descriptor whose lock is held already.
    As root the process becomes the server's user first, so that it can signal nothing but the server.
    """
    start = os.open(os.path.join(folder, "start.lock"), os.O_RDWR)
    users = os.open(os.path.join(folder, "users.lock"), os.O_RDWR)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    while True:
        # Never wait for one lock while holding the other: a starter takes them in the opposite order.
        fcntl.flock(users, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_UN)
        time.sleep(linger)
        fcntl.flock(start, fcntl.LOCK_EX)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(start, fcntl.LOCK_UN)
            continue
        stop(os.path.join(folder, "data"))
        # Before the start lock: the next starter must not take this process for its keeper.
        os.close(keeper_lock)
        return


def server_pid(data: str) -> int | None:
    """The process that serves the folder `data`, or None.

    A crash of the machine leaves the number of a process that is gone, and that number may since belong to
    another (in a container it usually does), so the process must also be one told to serve this folder.
    """
    try:
        with open(os.path.join(data, "postmaster.pid")) as file:
            pid = int(file.readline())
    except (FileNotFoundError, ValueError):
        return None
    return pid if os.fsencode(data) in _arguments(pid) else None


def stop(data: str) -> None:
    """Stop the server of `data` (clients are disconnected, nothing is lost) and wait until it is gone."""
    pid = server_pid(data)
    if pid is None:
        return
    os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + STOP_TIMEOUT
    while server_pid(data) is not None and time.monotonic() < deadline:
        time.sleep(0.02)


def _arguments(pid: int) -> list[bytes]:
    """The words of a process's command line; none where there is no such process."""
    if os.path.exists("/proc/self/cmdline"):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return []
    # macOS: one string, in which a folder with blanks cannot be told from two words; ours ends before " -c ".
    done = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, check=False)
    _, _, rest = done.stdout.strip().partition(b" -D ")
    return [rest.partition(b" -c ")[0].strip(b'"')]


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), *map(int, sys.argv[3:]))
