"""Whose turn it is at the connection.

A lock would not do: a signal may interrupt its owner between taking it and noting that it has been taken. Here one
step in C both takes the turn and names its owner, so that whatever is interrupted, it can be told whose turn it is,
and whether its owner is still at it.
"""

import sys
from threading import get_ident

from stepwell.recorder.intents import Intent


class Turn:
    """One thread's turn, with the intents that it is about to commit."""

    __slots__ = ("backend", "batch", "lasts", "thread")

    def __init__(self, *, lasts: bool = False) -> None:
        self.batch: list[Intent] = []
        self.backend = 0
        """The server's process that they are sent to."""
        self.thread = get_ident()
        self.lasts = lasts
        """Nothing interrupts it, and whoever has it looks for more when it has ended."""

    @property
    def is_of_this_thread(self) -> bool:
        """Whether this thread has the turn: the code that took it was interrupted, for good or by this code."""
        return self.thread == get_ident()

    @property
    def is_alive(self) -> bool:
        """Whether some function that this turn is a variable of is still running in its thread."""
        frame = sys._current_frames().get(self.thread)
        while frame is not None:
            if frame.f_locals.get("turn") is self:
                return True
            frame = frame.f_back
        return False


class Turns:
    """Gives the turn to one at a time."""

    __slots__ = ("_holder",)

    def __init__(self) -> None:
        self._holder: dict[str, Turn] = {}

    @property
    def current(self) -> Turn | None:
        """Whose turn it is, if anybody's."""
        return self._holder.get("turn")

    def begin(self, turn: Turn) -> bool:
        """Take the turn. Returns whether it was free."""
        return self._holder.setdefault("turn", turn) is turn

    def end(self, turn: Turn) -> None:
        """Give the turn back, if it is this one's."""
        if self._holder.get("turn") is turn:
            del self._holder["turn"]
