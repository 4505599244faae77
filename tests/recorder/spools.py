"""The files that recorders of this test put runs into."""

import os
import time
from collections.abc import Callable
from pathlib import Path

Outage = Callable[[bool], None]


def files() -> list[Path]:
    return sorted(Path(os.environ["XDG_DATA_HOME"], "stepwell/spool").glob("*"))


def until_in_database() -> None:
    deadline = time.monotonic() + 30
    while files():
        assert time.monotonic() < deadline
        time.sleep(0.02)
