"""The jobs of the SQL screen's worker: what a statement gives, in a replay transaction at one step."""

import os
import threading
from collections.abc import Iterable
from uuid import UUID

from textual.message import Message

from stepwell.app.clipboard import copy_to_file
from stepwell.app.messages import Answered, Copied, Refused
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError, StatementError
from stepwell.replay import Replayer
from stepwell.settings import paths
from stepwell.store.connect import Target

NOTHING = "SELECT"
"""Reads no row: for what is known of the step and of its tables before anything is asked."""


class Asker:
    """Asks at one step and moment. Used by one worker thread only, except `cancel` and `leave`."""

    def __init__(self, target: Target, run_id: UUID, number: int, moment: Moment) -> None:
        self.number = number
        self.moment = moment
        self._replayer = Replayer(target, run_id)
        self._left = threading.Event()
        self._cancelled = threading.Event()

    def open(self) -> Answered:
        """What there is to ask about, and whether that is possible at all."""
        return Answered("", self._replayer.query(self.number, self.moment, NOTHING, limit=1), 1)

    def ask(self, text: str, limit: int) -> Message:
        """At most `limit` rows of what a statement gives, or what the database has against it."""
        self._cancelled.clear()
        if self._left.is_set():
            raise DatabaseError("cancelled")
        try:
            return Answered(text, self._replayer.query(self.number, self.moment, text, limit=limit), limit)
        except StatementError as problem:
            return Refused(text, problem)

    def copy(self, pieces: Iterable[str]) -> Copied:
        """What is too large for a clipboard, into a file. `cancel` ends that."""
        self._cancelled.clear()
        return Copied(copy_to_file(pieces, os.environ, paths().state, self._cancelled.is_set, stored=False))

    def cancel(self) -> None:
        self._cancelled.set()
        self._replayer.cancel()

    def leave(self) -> None:
        """Cancel what runs, and begin nothing more."""
        self._left.set()
        self.cancel()

    def close(self) -> None:
        self._replayer.close()
