"""What a process finds around itself and in itself, and a replay elsewhere does not: whether it is that."""

from __future__ import annotations

import os
import socket
import sys
import traceback
from contextlib import suppress
from functools import cache
from typing import Any

from stepwell.rerun.places import callers

ENVIRONMENT = "the environment is that of here"
COMMAND_LINE = (
    'a replay has no command line: it goes under if __name__ == "__main__",'
    ' or is a step: run.value("args", …)'
)
TERMINAL = "a replay has no terminal: what is typed has to be a step: run.tool(input, …)"
_CACHED = type(cache(len))
_SHORTEST = 3
"""Characters of a value that is looked for within others."""


def here() -> dict[str, str]:
    """What is found here and is another elsewhere, with the words that ask for it; the longest first."""
    words = (
        (name, value) for name, value in os.environ.items() if not value.isdigit()
    )  # as of COLUMNS, by chance
    found = {value: f'os.environ["{name}"]' for name, value in words}
    found |= {sys.executable: "sys.executable", os.path.expanduser("~"): "the home folder"}
    found |= {socket.gethostname(): "socket.gethostname()", str(os.getpid()): "os.getpid()"}
    with suppress(OSError):  # it may be gone
        found[os.getcwd()] = "os.getcwd()"
    long = (value for value in found if len(value) >= _SHORTEST)
    return {value: found[value] for value in sorted(long, key=len, reverse=True)}


def why(error: BaseException) -> str | None:
    """What an agent has missed here, where that is what it raised."""
    frames = traceback.extract_tb(error.__traceback__)
    last = os.path.basename(frames[-1].filename) if frames else ""
    if isinstance(error, KeyError) and last in ("<frozen os>", "os.py"):
        return ENVIRONMENT
    if isinstance(error, SystemExit) and last == "argparse.py":
        return COMMAND_LINE
    return TERMINAL if isinstance(error, EOFError) and "reading a line" in str(error) else None


def cached(name: str | None) -> str | None:
    """Of a call that is not recorded: that a function which asks for it, or is `name`, keeps what it gave."""
    for frame in callers():
        for path in (frame.f_code.co_qualname, name or ""):
            if isinstance(_at(frame.f_globals, path), _CACHED):
                return (
                    f"{path} keeps what it gave, and may have had that from an earlier run of its process:"
                    f" {path}.cache_clear() where a run begins"
                )
    return None


def _at(names: dict[str, Any], path: str) -> object:
    first, *inner = path.split(".")
    found = names.get(first)
    for part in inner:
        found = getattr(found, part, None)
    return found
