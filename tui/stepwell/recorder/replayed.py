"""Agents' code that is replayed: the recorder that its module makes connects when it is used, and begins no run.

Kept in a context variable, so that threads which record something meanwhile go on as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Replayed:
    """Code that is replayed. `refuse` makes what is raised where it begins a run of its own; None where it may."""

    refuse: Callable[[], BaseException] | None
    over: bool = False
    """Whether it goes on for real, and may do all that a recorder does."""


_current: ContextVar[Replayed | None] = ContextVar("stepwell_replayed", default=None)


def connects_late() -> bool:
    """Whether a recorder that is made here connects when it is used: what is replayed needs no database."""
    current = _current.get()
    return current is not None and not current.over


def refuse_replayed() -> None:
    """Raises what the replay wants raised where the code that runs now is replayed."""
    current = _current.get()
    if current is not None and current.refuse is not None and not current.over:
        raise current.refuse()


@contextmanager
def replayed(refuse: Callable[[], BaseException] | None = None) -> Iterator[Replayed]:
    """As long as this lasts, what runs here is replayed, or loaded for that; and so are its tasks."""
    current = Replayed(refuse)
    token = _current.set(current)
    try:
        yield current
    finally:
        _current.reset(token)
