"""Where the tasks of a loop wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import FrameType
from typing import Any

from stepwell.core.rerun import Place
from stepwell.rerun.places import Places, libraries

MOST = 3
"""So many places are told."""


def waits_at() -> str:
    """The lines of the agent's code at which the tasks of the running loop wait, ` at a.py:3 in main`; or nothing."""
    places = Places(libraries())
    found: dict[tuple[str, int], Place] = {}
    for task in asyncio.all_tasks():
        users = [frame for frame in _frames(task.get_coro()) if places.is_users(frame.file)]
        if (place := places.pick(reversed(users))) is not None:
            found[place.file, place.line] = place
    told = [str(found[each]) for each in sorted(found)]
    more = f" and {len(told) - MOST} more" if len(told) > MOST else ""
    return f" at {', '.join(told[:MOST])}{more}" if told else ""


def _frames(waits: Any) -> Iterator[Place]:
    """Of what a task runs, and of what that waits for, and so on."""
    while waits is not None:
        frame: FrameType | None = _of(waits, "cr_frame", "gi_frame", "ag_frame")
        if frame is not None:
            yield Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
        waits = _of(waits, "cr_await", "gi_yieldfrom", "ag_await")


def _of(waits: Any, *names: str) -> Any:
    """What a coroutine or a generator has under one of these names."""
    return next((getattr(waits, name) for name in names if hasattr(waits, name)), None)
