"""Outcomes that are committed and need not be on the server's disk yet.

What has to be there before a call is made is its intent. An outcome may go there with the next intent of any run, at
the latest when the server's WAL writer comes round: nothing that follows from it can be recorded before it is there
itself. Until then it is kept here too, so that it is committed again should the server fail meanwhile.
"""

import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg import Connection

from stepwell.recorder.failures import cause
from stepwell.recorder.intents import FinishStep
from stepwell.store.pooled import is_pooled
from stepwell.store.rows import NOT_NOW
from stepwell.store.spooled import concerns_row
from stepwell.store.writing import finish_step

log = logging.getLogger("stepwell")

MOST_BYTES = 16 * 1024 * 1024
"""So much is kept; what would be more waits for the disk."""


class Outcomes:
    """Those since the last commit that waited for the disk. For one thread at a time."""

    def __init__(self, *, lazy: bool) -> None:
        """`lazy`: whether an outcome may go without waiting for the disk at all."""
        self._lazy = lazy
        self._connection: Connection[Any] | None = None
        self._kept: deque[FinishStep] = deque()
        self._size = 0

    def may_wait(self, connection: Connection[Any], finishes: Iterable[FinishStep]) -> bool:
        """Whether these, about to be committed alone, may go to the disk later; they are to be kept then.

        Behind a pooler they may not: there a server may fail and come back without this connection breaking.
        """
        if not self._lazy or is_pooled(connection):
            return False
        return not self.are_lost(connection) and self._size + _size(finishes) <= MOST_BYTES

    def keep(self, connection: Connection[Any], finishes: Iterable[FinishStep]) -> None:
        """These have been committed over the connection, and nobody has waited for the disk."""
        self._connection = connection
        self._size += _size(finishes)
        self._kept.extend(finishes)

    def are_on_disk(self, connection: Connection[Any]) -> None:
        """A later commit over the connection has waited for the disk."""
        if self._kept and self._connection is connection:
            self.forget()

    def are_lost(self, connection: Connection[Any] | None) -> bool:
        """Whether some were committed over another connection: its server may have failed before the disk had them."""
        return bool(self._kept) and self._connection is not connection

    def repeat(self, connection: Connection[Any]) -> None:
        """Commit again what is lost, if it is; what the server has all the same stays as it is.

        Raises what psycopg raises, unless it is about one outcome, which is logged then.
        """
        while self.are_lost(connection):
            outcome = self._kept[0]
            try:
                finish_step(connection, outcome.row._replace(seen=NOT_NOW))  # its agent has long gone on
            except psycopg.Error as error:
                if not concerns_row(error):
                    raise
                log.error("%s", outcome.problem(cause(error)))
            self._size -= self._kept.popleft().size

    def take(self) -> list[FinishStep]:
        """All of them; they are kept elsewhere now."""
        kept = list(self._kept)
        self.forget()
        return kept

    def forget(self) -> None:
        """They are of no interest any more."""
        self._kept.clear()
        self._connection, self._size = None, 0


def _size(finishes: Iterable[FinishStep]) -> int:
    return sum(finish.size for finish in finishes)
