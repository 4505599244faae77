"""Who keeps a move waiting: looked up while it waits, and never a reason to wait longer."""

import contextlib
import random
import threading
from collections.abc import Callable

import psycopg

from stepwell.errors import DatabaseError
from stepwell.store.bounded import glance
from stepwell.store.connect import hang_up
from stepwell.store.queries import query


class Look:
    """Names, from a second connection, the backend that a deferrable transaction waits for.

    That transaction has `token` in its statement. `observer` opens the second connection; it is closed again.
    """

    def __init__(self, observer: Callable[[], psycopg.Connection], seconds: float) -> None:
        self.token = f"stepwell {random.getrandbits(64):016x}"
        self.blocker = ""
        """` behind shop (pid 4711)`, empty where nobody could be named. The pid is the server's own."""
        self._observer = observer
        self._other: psycopg.Connection | None = None
        self._over = False
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True

    def __enter__(self) -> "Look":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give it up. A look that has come too late may wait itself: for the connection of a pool that we hold."""
        self._over = True
        self._timer.cancel()
        if self._timer.is_alive() and (other := self._other) is not None:
            hang_up(other)

    def _look(self) -> None:
        with contextlib.suppress(psycopg.Error, DatabaseError), self._observer() as other:
            self._other = other
            if self._over:
                return
            ask = query("read_blockers"), {"token": self.token}
            if found := glance(other, lambda c: c.execute(*ask, prepare=False).fetchone()):
                self.blocker = f" behind {found[1]} (pid {found[0]})"


def locker(connection: psycopg.Connection) -> str:
    """Who keeps readers out of the tables, in one line; empty where that is over or cannot be found out."""
    if connection.closed:
        return ""
    try:
        found = glance(connection, lambda c: c.execute(query("read_lockers"), prepare=False).fetchone())
    except psycopg.Error:
        return ""
    return f"{found[2]} is locked by {found[1]} (pid {found[0]}): waited 1 s" if found else ""
