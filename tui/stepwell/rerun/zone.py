"""The local time of a replay: that of the process which was recorded."""

import os
import re
import time
import zoneinfo
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stepwell.recorder.zone import local_zone

_RULES = re.compile(r"(<[^>]+>|[A-Za-z]{3,})[-+]?\d")
"""How rules begin that need no file, as POSIX writes them: `CET-1`, `<+0530>-5:30`."""


@contextmanager
def in_zone(zone: str | None) -> Iterator[None]:
    """As long as this lasts the process has that local time, UTC where it is not known.

    It has its own for None, and where that is the same.
    """
    if zone is None or zone == local_zone():
        yield
        return
    before = os.environ.get("TZ")
    _set(zone if is_known(zone) else "UTC0")
    try:
        yield
    finally:
        _set(before)


def is_known(zone: str) -> bool:
    """Whether this machine has its rules; without them the C library takes UTC, and says nothing."""
    name = zone.removeprefix(":")
    if not name.isprintable():  # which no process's TZ is, but a file may say so
        return False
    places = [Path(place, name) for place in zoneinfo.TZPATH]
    return name == "" or _RULES.match(name) is not None or any(place.is_file() for place in places)


def _set(zone: str | None) -> None:
    if zone is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = zone
    time.tzset()
