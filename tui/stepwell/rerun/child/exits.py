"""Where the agent's code ends the process with `os._exit`, which leaves no trace of itself."""

from __future__ import annotations

import faulthandler
import os
from contextlib import suppress
from os import _exit as leave
from typing import NoReturn

__all__ = ["leave", "trace_exits"]


def trace_exits(file: int) -> None:
    """From now on code of this process that does so leaves in a file where it was; what it has forked does not."""
    process = os.getpid()

    def traced(status: int) -> NoReturn:
        if os.getpid() == process:
            with suppress(OSError, ValueError):  # the agent may have closed it
                faulthandler.dump_traceback(file, all_threads=False)
        leave(status)

    vars(os)["_exit"] = traced
