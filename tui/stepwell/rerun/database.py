"""The database that re-executed code gets: watched tables as they were where each thread or task of it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from stepwell.core.omitted import Stand
from stepwell.core.past import Certainty
from stepwell.core.recorded import RecordedStep
from stepwell.core.sql_clock import Told, at_time
from stepwell.errors import DatabaseError, UsageError
from stepwell.rerun.admitting import Way, begins_block, named_with_schema
from stepwell.rerun.asof import Pasts
from stepwell.rerun.clock import Clock
from stepwell.rerun.connections import AsyncReplayConnection, ReplayConnection, is_awaited
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.leaving import LEFT_BEHIND
from stepwell.rerun.manner import set_alike
from stepwell.rerun.moments import Moments
from stepwell.rerun.omitting import Omissions
from stepwell.rerun.refusing import Refusals
from stepwell.rerun.stops import Refused
from stepwell.store.asof import are_watched
from stepwell.store.bounded import glance
from stepwell.store.connect import Target, connect, hang_up
from stepwell.store.held import Held, is_known
from stepwell.store.trouble import said

ENDED = "the agent has ended the transaction of the replay"
PATIENCE = 1.0
"""Seconds in which a thread should find that its connection is lost."""
NOTHING = "SET LOCAL jit = off"
"""Is sent for a statement that has been seen to."""


class Database:
    """Where the database of replays is, for all those that one process does.

    `writing` is whether the agent writes to watched tables. The first replay in which it does finds that out, and
    begins again with overlays, which the transaction of a replay has to be prepared for.
    """

    def __init__(self, target: Target, *, writing: bool = False) -> None:
        self.target, self.writing = target, writing

    @property
    def hosts(self) -> list[str]:
        """Those that have to be looked up to get there."""
        host = conninfo_to_dict(self.target.conninfo).get("host") or os.environ.get("PGHOST", "")
        return str(host).split(",")

    def hold(self) -> Held:
        """Begin the transaction of a replay. Raises DatabaseError."""
        return Held(self.target, lambda: connect(self.target), writing=self.writing)


class Visit:
    """One replay's use of it, opened with the first use. Usable from any thread."""

    def __init__(
        self, database: Database, dialogue: Dialogue, clock: Clock, stand_ins: Collection[str] = ()
    ) -> None:
        """`stand_ins` are the names of tools that are replaced."""
        self._database, self._dialogue, self._clock = database, dialogue, clock
        self._moments = Moments(dialogue.run)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._held: Held | None = None
        self._handed: dict[bool, tuple[object, ReplayConnection | AsyncReplayConnection]] = {}
        """What the agent was given for what, by whether it is to be awaited."""
        self._pasts: Pasts | None = None
        self._refusals = Refusals(dialogue, writing=database.writing)
        self._omissions = Omissions(dialogue, stand_ins)
        self._stand: Stand | None = None
        self._doubts: dict[tuple[str, str], str] = {}
        """What is to be said of a table whose past is not exact, if it is read."""
        self._named: set[tuple[str, str]] = set()
        """What the agent has named with a schema, or something before it."""
        self.begun = False
        """Whether the agent is in a transaction of its own."""
        self._began = clock.moment
        """When that began."""
        self._ended = False
        """Whether a tool that was not executed has ended that."""
        self._closed = False

    def asked(self, step: RecordedStep) -> None:
        """The step has begun."""
        self._moments.asked(step, self._dialogue.lanes.number())

    def answered(self, step: RecordedStep) -> None:
        """The agent has what the step gave."""
        self._moments.answered(step)
        if self._pasts is not None and step.number not in self._dialogue.executed:
            ended, open_ = self._pasts.leaves_open(step.number)
            if open_ and (ended or not self.begun):
                self._began = step.started or self._clock.moment
            self._ended = self._ended or (ended and self.begun)
            self.begun = open_ or (self.begun and not ended)

    def connection(self, given: object) -> Any:
        """A connection of the kind of `given`; where that is none of psycopg's, one to be awaited where a loop runs.

        Raises Stop where there is none to be had.
        """
        with self._lock:
            held, awaited = self._open(), is_awaited(given)
            before, found = self._handed.get(awaited, (None, None))
            if found is None or (found.closed and not (before is given and self._dialogue.run.connected)):
                kind = AsyncReplayConnection if awaited else ReplayConnection
                self._handed[awaited] = given, (found := kind(held.raw.pgconn, self))
                set_alike(found, given, self._dialogue.run.connection, self._dialogue.note)
            return found

    @property
    def is_used(self) -> bool:
        """Whether the agent has asked for a connection."""
        return bool(self._handed)

    def check(self) -> None:
        if self._closed and self._dialogue.live:
            raise UsageError(LEFT_BEHIND)

    def _open(self) -> Held:
        if self._dialogue.stop is not None:
            raise self._dialogue.stop
        if self._process != os.getpid():
            raise Refused("a forked process cannot use the connection of the replay")
        if self._held is None:
            try:
                self._held = held = self._database.hold()
            except DatabaseError as problem:
                raise self._dialogue.end(Refused(str(problem))) from problem
            with self._watched():
                self._pasts = Pasts(held.raw, self._dialogue.run.head.run_id)
            if held.note:
                self._dialogue.note(f"the agent's database was {held.note}")
        return self._held

    def before(self, *, apart: bool) -> None:
        """Have names mean what they meant where the agent is. Raises Stop."""
        with self._lock:
            held = self._held
            if held is None or held.raw.closed:
                return
            if held.status == TransactionStatus.ACTIVE:
                if self._moments.of(self._dialogue.lanes.number()) != self._stand:
                    self._omissions.untold = True
                return
            if self._dialogue.stop is not None:
                raise self._dialogue.stop
            if held.status == TransactionStatus.IDLE:
                raise self._dialogue.end(Refused(ENDED))
            with self._watched():
                if self._ended or (apart and not self.begun):
                    self._ended = False
                    held.commit()
                if not apart:
                    self.begin()
                if held.status == TransactionStatus.INTRANS:
                    self._turn(held)
                    held.tell(self._began)

    def _turn(self, held: Held) -> None:
        stand = self._moments.of(self._dialogue.lanes.number())
        if held.is_turned() and stand == self._stand:
            return
        assert self._pasts is not None
        instant, origin = self._pasts.of(held, stand)
        for each in held.turn(instant, origin):
            self._omissions.wrote(each, stand)
        self._stand = stand
        self._omissions.stands(held.mark, stand)
        if instant is None:
            self._dialogue.note(
                f"{stand.title} was recorded without a snapshot: run.connection showed today's rows"
            )
            return
        for table in held.found.tables:
            if (verdict := table.verdict).certainty is not Certainty.EXACT:
                doubt = f"{table.name} as of {stand.title}: {verdict.certainty}, {verdict.why}"
                self._doubts.setdefault((table.schema, table.name), doubt)

    def admit(self, text: str) -> Told:
        """What is sent for a text of the agent's. Raises psycopg's error where the replay does not send it."""
        way = self._refusals.way_of(text)
        self._note_time()
        self._named |= named_with_schema(text)
        if begins_block(text) and not self.begun:
            self.commit()
            self.begin()
        elif way is Way.COMMIT:
            self.commit()
        elif way is Way.ROLLBACK:
            self.rollback()
        return at_time(text, self._began, self._clock.moment) if way is Way.SENT else Told(NOTHING)

    def _note_time(self) -> None:
        """If whatever comes is the first of its transaction, it is when that begins."""
        if not self.begun:
            self._began = self._clock.moment

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """For what the replay sends by itself."""
        try:
            yield
        except psycopg.Error as problem:
            self.met(problem)
            raise

    def met(self, problem: psycopg.Error) -> None:
        """The database has refused something. Raises Stop where the agent cannot go on as it did."""
        if self._held is not None:
            self._refusals.met(problem, self._held)

    def begin(self) -> None:
        """The agent's transaction begins, in whichever way it says so."""
        self._note_time()
        self.begun = True

    def commit(self) -> None:
        """End the agent's transaction."""
        with self._lock:
            self.begun = False
            if self._held is not None:
                with self._watched():
                    self._held.commit()

    def rollback(self) -> None:
        """End it, and undo what was written in it: nothing where it is in none, as in autocommit."""
        with self._lock:
            begun, self.begun = self.begun and not self._ended, False
            self._ended = False
            if self._held is not None:
                with self._watched():
                    if begun:
                        self._held.rollback()
                    else:
                        self._held.commit()

    def close(self) -> None:
        """Say what is to be known of what was read, and roll back."""
        with self._lock:
            held, self._held = self._held, None
            was_closed, self._closed = self._closed, True
            if was_closed or self._process != os.getpid():
                return
            if held is None:
                _look_from_outside(self._database, self._dialogue, self._omissions)
                return
            if self._is_in_use():
                self._dialogue.note("the agent's database was still in use by another thread in the end")
                self._break_off(held)
                return
            try:
                if held.raw.closed and self._dialogue.stop is None:
                    self._dialogue.note("the connection to the agent's database was lost before the end")
                elif not held.raw.closed:
                    self._look_back(held)
            except psycopg.Error as problem:
                self._dialogue.note(f"the agent's database could not be asked in the end: {said(problem)}")
            finally:
                held.close()

    def _break_off(self, held: Held) -> None:
        """What a thread waits on is not to be freed, or it reads from whatever is opened next."""
        hang_up(held.raw)
        _, found = self._handed.get(False, (None, None))
        if isinstance(found, ReplayConnection) and found.lock.acquire(timeout=PATIENCE):
            held.close()
            found.lock.release()

    def _is_in_use(self) -> bool:
        return any(each.lock.locked() for _, each in self._handed.values())

    def _look_back(self, held: Held) -> None:
        if held.status == TransactionStatus.INERROR:
            held.rollback()
        if held.status == TransactionStatus.IDLE:
            self._dialogue.end(Refused(ENDED))
        if held.status != TransactionStatus.INTRANS:
            return
        if held.overlays and self._dialogue.stop is None:
            self._turn(held)
        held.look()
        assert self._pasts is not None
        self._omissions.say(held.raw, self._pasts, held.overlays)
        for table in held.judged():
            if not is_known(table):
                doubt = f"{table.name}: {table.verdict.certainty}, {table.verdict.why}"
                self._doubts.setdefault((table.schema, table.name), doubt)
        watched = {(table.schema, table.name) for table in held.found.tables}
        for schema, name in sorted(self._named & watched):
            self._dialogue.note(
                f"{schema}.{name} is the table of today: named without {schema}, it is the one of then"
            )
        for view in sorted(held.views):
            self._dialogue.note(f"{'.'.join(view)} is a view: what it shows is as it is today")
        for read in sorted(held.read):
            if read in self._doubts:
                self._dialogue.note(self._doubts[read])
            elif read not in watched:
                name = ".".join(read)
                self._dialogue.note(
                    f"{name} is not watched, and was read as it is today: stepwell watch {name}"
                )


def _look_from_outside(database: Database, dialogue: Dialogue, omissions: Omissions) -> None:
    """An agent that has not asked for its database at all may have left out what it wrote there."""
    if dialogue.stop is not None or dialogue.live or not dialogue.asked:
        return

    def look(connection: psycopg.Connection[Any]) -> None:
        if are_watched(connection):
            omissions.say(connection, Pasts(connection, dialogue.run.head.run_id))

    try:
        with closing(connect(database.target, read_only=True)) as raw:
            glance(raw, look)
    except (DatabaseError, psycopg.Error) as problem:
        why = said(problem) if isinstance(problem, psycopg.Error) else str(problem)
        dialogue.note(f"whether the agent left out what was written then could not be looked at: {why}")
