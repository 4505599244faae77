"""What has to begin anew in the child of a fork: threads, locks and connections do not survive there."""

import os
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    def after_fork(self) -> None:
        """Called in the child, in its only thread."""


_objects: "WeakSet[Forked]" = WeakSet()


def register(thing: Forked) -> None:
    """Have `thing.after_fork()` called in every child from now on, as long as it exists."""
    _objects.add(thing)


def _after_fork() -> None:
    for thing in list(_objects):
        thing.after_fork()


if hasattr(os, "register_at_fork"):  # only where there is fork
    os.register_at_fork(after_in_child=_after_fork)
