"""Spool files that nobody writes any more: who has one open holds a lock on it, which ends with its process.

The number of the process in a file's name does not tell: in a container the next process mostly gets the same.
"""

import contextlib
import os
import shlex
import sys
from pathlib import Path
from uuid import UUID

if sys.platform != "win32":
    import fcntl

_RUN_ID = len(str(UUID(int=0)))
"""A file's name begins with the run that it is of; what a forked child recorded has a file of its own."""


def hold(file: int) -> None:
    """Have an open file known as being written, until it is closed, where the system and its disk can do that."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)  # at most as long as somebody looks


def is_left(path: Path) -> bool:
    """Whether it is there and certainly nobody writes it any more."""
    if sys.platform == "win32":
        return False
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def warning(folder: Path) -> str | None:
    """What to say of the files in a spool folder that no recorder will put into a database any more, if there are."""
    runs = {path.name[:_RUN_ID] for path in folder.glob("*.jsonl") if is_left(path)}
    if not runs:
        return None
    waits, them = ("run waits", "it") if len(runs) == 1 else ("runs wait", "them")
    files = f"{shlex.quote(str(folder))}/*.jsonl"
    return f"{len(runs)} spooled {waits} in {folder}; put {them} into the database: stepwell import {files}"
