"""Agents' code that is replayed: the recorder that its module makes connects to nothing, and begins no run.

Kept in a context variable, so that threads which record something meanwhile go on as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Replayed:
    """Code that is replayed. `refuse` makes what is raised where it begins a run of its own."""

    refuse: Callable[[], BaseException]
    over: bool = False
    """Whether it goes on for real, and may do all that a recorder does."""


_current: ContextVar[Replayed | None] = ContextVar("stepwell_replayed", default=None)


def is_replayed() -> bool:
    """Whether the code that runs now is."""
    current = _current.get()
    return current is not None and not current.over


def refuse_replayed() -> None:
    """Raises what the replay wants raised where the code that runs now is replayed."""
    current = _current.get()
    if current is not None and not current.over:
        raise current.refuse()


@contextmanager
def replayed(refuse: Callable[[], BaseException]) -> Iterator[Replayed]:
    """As long as this lasts, what runs here is replayed, and so are its tasks."""
    current = Replayed(refuse)
    token = _current.set(current)
    try:
        yield current
    finally:
        _current.reset(token)
