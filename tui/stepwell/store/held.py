"""A read-only transaction that is held while re-executed code goes through a run: names mean the past there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import Any

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus

from stepwell.core.changed import is_earlier
from stepwell.core.past import Certainty, Instant, Origin, Table
from stepwell.errors import DatabaseError
from stepwell.store.asof import Survey, judge_again, survey, turn
from stepwell.store.bounded import REPEATABLE_READ, glance, narrower
from stepwell.store.capture import SHADOW
from stepwell.store.connect import GUARD, Target, connect, is_standby
from stepwell.store.overlays import TEMP, Overlay, make, overlaid
from stepwell.store.queries import query
from stepwell.store.session import read_session
from stepwell.store.settling import Otherwise, number, settle, wrote
from stepwell.store.transaction import SAFE_WAIT_MS, Transaction
from stepwell.store.trouble import said

IDLE_SECONDS = 120
"""How long the server lets it stand still: an agent may think, and its process may be stopped or cut off."""
_NAME = '"stepwell agent"'
_COMMIT = f"RELEASE SAVEPOINT {_NAME}; SAVEPOINT {_NAME}"
"""What stands for the end of a transaction of the agent's and the beginning of the next."""
_ROLLBACK = f"ROLLBACK TO SAVEPOINT {_NAME}"


class Held:
    """Not for several threads at once. Whoever else uses its `raw.pgconn` keeps to a transaction within this one."""

    def __init__(self, target: Target, observer: Callable[[], psycopg.Connection], *, writing: bool) -> None:
        """Begin it, with overlays where the agent is to write. Raises DatabaseError.

        `observer` opens a second connection, to name whom this one waits for.
        """
        self.raw: psycopg.Connection[Any] = connect(target, read_only=True, guarded=True)
        self.note = ""
        """Where the snapshot is a weaker one than promised, which and why."""
        self.overlays: tuple[Overlay, ...] = ()
        self.found = Survey()
        """The watched tables as of where it is."""
        self.read: set[tuple[str, str]] = set()
        """Schema and name of the tables that are known to have been read."""
        self.views: set[tuple[str, str]] = set()
        """Those of the owners' views."""
        self._path: tuple[str, ...] = ()
        """That of the session itself, or one that the agent has set."""
        self._paths: dict[str, tuple[str, ...]] = {}
        """For each path that was set here, what was that of the session then."""
        self._marks: dict[str | None, Instant | None] = {}
        """For each mark that was set here, the last instant that names had meant by then."""
        self._told: datetime | None = None
        """What time overlays have been told last."""
        self._settled: Instant | None = None
        """That of the mark found last, up to which overlays are settled."""
        with ExitStack() as unless_begun:
            unless_begun.callback(self.close)
            try:
                self._begin(observer, writing)
            except psycopg.Error as problem:
                raise DatabaseError(f"the database of the replay: {said(problem)}") from problem
            unless_begun.pop_all()

    def _begin(self, observer: Callable[[], psycopg.Connection], writing: bool) -> None:
        is_follower = is_standby(self.raw)
        session = glance(self.raw, read_session)
        if writing:
            self.overlays = self._make_overlays()
        transaction = Transaction(self.raw, session, observer, SAFE_WAIT_MS)
        if is_follower:
            transaction.on_standby()
        transaction.begin()
        self.note = transaction.why and f"read with {REPEATABLE_READ}: {transaction.why}"
        idle_ms = narrower(IDLE_SECONDS * 1000, session.idle_ms)
        idle = {"names": ["idle_in_transaction_session_timeout"], "values": [str(idle_ms)]}
        self.raw.execute(query("set_locally"), idle, prepare=False)
        self.raw.execute(f"SAVEPOINT {_NAME}")

    def _make_overlays(self) -> tuple[Overlay, ...]:
        if GUARD not in self.raw.info.options:
            raise DatabaseError(
                "the agent writes, and a pooler, as a service may lead to one, would lend the temporary tables of that"
                " to others: name the server itself with --dsn"
            )
        found = glance(self.raw, _surveyed_now)
        return make(self.raw, overlaid(found.standings, found.path))

    @property
    def status(self) -> TransactionStatus:
        """ACTIVE as long as nothing can be sent but what the agent sends."""
        if self.raw.pgconn.pipeline_status != PipelineStatus.OFF:
            return TransactionStatus.ACTIVE
        return TransactionStatus(self.raw.pgconn.transaction_status)

    def commit(self) -> None:
        """End the agent's transaction: one that has failed is rolled back, as the server would."""
        if self.status == TransactionStatus.INERROR:
            self.rollback()
        elif self.status == TransactionStatus.INTRANS:
            self.raw.execute(_COMMIT, prepare=False)

    def rollback(self) -> None:
        """End the agent's transaction, and undo what it did."""
        if self.status == TransactionStatus.INTRANS:
            self.look()  # what was locked in it is not any more
        if self.status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            self.raw.execute(_ROLLBACK, prepare=False)

    @property
    def mark(self) -> str:
        """Set when names were last made to mean something, for as long as the agent does not roll that back."""
        return str(len(self._marks))

    def is_turned(self) -> bool:
        """Whether names mean what they were made to: the agent may have rolled that back, or set a path of its own."""
        path, mark, schemas = self.raw.execute(query("read_place"), prepare=False).fetchone() or ("", "", [])
        self._settled = self._marks.get(mark)
        base = self._paths.get(path)
        self._path = base or tuple(name for name in schemas if not name.startswith((SHADOW, TEMP)))
        return base is not None and mark == self.mark

    def turn(self, instant: Instant | None, origin: Origin | None) -> list[Otherwise]:
        """Have names mean the past of that instant. Returns what the agent has written otherwise than was recorded."""
        path = (TEMP, *self._path) if self.overlays else self._path
        self.found = replace(survey(self.raw, instant, origin), path=path)
        turn(self.raw, self.found, {})
        found: list[Otherwise] = []
        for overlay in self.overlays:
            found += settle(self.raw, overlay, self._settled, instant)
            number(self.raw, overlay, self._settled, instant)
        mark = str(len(self._marks) + 1)
        is_behind = self._settled is not None and instant is not None and is_earlier(instant, self._settled)
        self._marks[mark] = self._settled if is_behind else instant
        (now,) = self.raw.execute(query("mark_place"), {"mark": mark}, prepare=False).fetchone() or ("",)
        self._paths[now] = self._path
        return found

    def tell(self, now: datetime) -> None:
        """Have overlays take this as the time."""
        if self.overlays and now != self._told:
            self.raw.execute(query("set_clock"), {"now": now}, prepare=False)
            self._told = now

    def wrote(self, before: Instant, after: Instant, origin: Origin | None) -> bool:
        """Whether the agent's connection, which both are of, wrote to a watched table between the two."""
        found = self.found.standings or survey(self.raw, after, origin).standings
        return before.snapshot != after.snapshot and wrote(self.raw, found, before, after)

    def look(self) -> None:
        """Note which tables and views have been read."""
        for schema, name, is_view in self.raw.execute(query("read_read"), prepare=False):
            (self.views if is_view else self.read).add((schema, name))

    def judged(self) -> tuple[Table, ...]:
        """The watched tables with their verdicts once they were read, if there was an instant."""
        return judge_again(self.raw, self.found)

    def close(self) -> None:
        """Roll back; overlays are gone with it."""
        self.raw.close()


def _surveyed_now(connection: psycopg.Connection[Any]) -> Survey:
    """The watched tables as they are."""
    found = survey(connection, None, None)
    return survey(connection, Instant(found.now), None) if found.now else found


def is_known(table: Table) -> bool:
    """Whether its name means its past."""
    return table.verdict.certainty is not Certainty.UNKNOWN
