"""The database that re-executed code gets: watched tables as they were where it is in the recording.

Between two steps that is as its own connection saw it just before the next one, where that is recorded and the
connection had written nothing since the last; else as it was after the step that was answered last, or when the run
began. Within a step whose body is executed it is as it was when that began. It is so for each thread or task.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from stepwell.core.past import Certainty, Instant, Origin
from stepwell.core.recorded import RecordedStep
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError
from stepwell.rerun.admitting import UnfitError, Way, begins_block, locks_rows, upserts, way_of, written_by
from stepwell.rerun.connections import AsyncReplayConnection, ReplayConnection, is_awaited
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.moments import Moments, Stand
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.stops import BeginAgain, Refused
from stepwell.store.bounded import STATEMENT_TIMEOUT_MS
from stepwell.store.connect import Target, connect, hang_up
from stepwell.store.held import Held, is_known
from stepwell.store.instants import Instants, read_all_instants, read_begin
from stepwell.store.trouble import lost, overran, said

READ_ONLY = "25006"
TAKES_NO_WRITES = frozenset({"55000", "42809"})
"""What Postgres says of a write to a view that takes none."""
NOT_INTO_A_VIEW = TAKES_NO_WRITES | {"0A000", "42P10"}
"""What it says of ways of writing that no view takes."""
BY_OTHERS = frozenset({"55P03", "40001", "40P01"})
"""What it says where others were in the way: a lock, or on a standby what it had to apply."""
TAKEN = "23505"
OURS = "\nCONTEXT:  PL/pgSQL function pg_temp"
"""Where an error of an overlay's tells of that."""
A_VIEW = (
    "in a replay a watched table is a view: it takes INSERT, UPDATE, DELETE, no ON CONFLICT,"
    " and MERGE from Postgres 17 on"
)
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

    def __init__(self, database: Database, dialogue: Dialogue) -> None:
        self._database, self._dialogue = database, dialogue
        self._moments = Moments(dialogue.run)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._held: Held | None = None
        self._sync: ReplayConnection | None = None
        self._async: AsyncReplayConnection | None = None
        self._instants: dict[int, Instants] = {}
        self._begin: Instant | None = None
        """When the run began."""
        self._stand: Stand | None = None
        self._doubts: dict[tuple[str, str], str] = {}
        """What is to be said of a table whose past is not exact, if it is read."""
        self._text = ""
        """What is sent, of the agent's."""
        self.begun = False
        """Whether the agent is in a transaction of its own."""

    def asked(self, step: RecordedStep) -> None:
        """The step has begun."""
        self._moments.asked(step, self._dialogue.lanes.number())

    def answered(self, step: RecordedStep) -> None:
        """The agent has what the step gave."""
        self._moments.answered(step)

    def connection(self, given: object) -> Any:
        """A connection of the kind of `given`; where that is none of psycopg's, one to be awaited where a loop runs.

        Raises Stop where there is none to be had.
        """
        with self._lock:
            held = self._open()
            if is_awaited(given):
                self._async = self._async or AsyncReplayConnection(held.raw.pgconn, self)
                return self._async
            self._sync = self._sync or ReplayConnection(held.raw.pgconn, self)
            return self._sync

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
                self._instants = read_all_instants(held.raw, self._dialogue.run.head.run_id)
                self._begin = read_begin(held.raw, self._dialogue.run.head.run_id)
            if held.note:
                self._dialogue.note(f"the agent's database was {held.note}")
        return self._held

    def before(self, *, apart: bool) -> None:
        """Have names mean what they meant where the agent is. Raises Stop."""
        with self._lock:
            held = self._held
            if held is None or held.raw.closed or held.status == TransactionStatus.ACTIVE:
                return
            if self._dialogue.stop is not None:
                raise self._dialogue.stop
            if held.status == TransactionStatus.IDLE:
                raise self._dialogue.end(Refused(ENDED))
            with self._watched():
                if apart and not self.begun:
                    held.commit()
                self.begun = self.begun or not apart
                if held.status == TransactionStatus.INTRANS:
                    self._turn(held)

    def _turn(self, held: Held) -> None:
        stand = self._moments.of(self._dialogue.lanes.number())
        if held.is_turned() and stand == self._stand:
            return
        instant, origin = self._instant(held, stand)
        for otherwise in held.turn(instant, origin):
            self._dialogue.note(f"by {stand.title} the agent {otherwise}")
        self._stand = stand
        if instant is None:
            self._dialogue.note(
                f"{stand.title} was recorded without a snapshot: run.connection showed today's rows"
            )
            return
        for table in held.found.tables:
            if (verdict := table.verdict).certainty is not Certainty.EXACT:
                doubt = f"{table.name} as of {stand.title}: {verdict.certainty}, {verdict.why}"
                self._doubts.setdefault((table.schema, table.name), doubt)

    def _instant(self, held: Held, stand: Stand) -> tuple[Instant | None, Origin | None]:
        following = self._instants.get(stand.following or -1)
        coming = None if following is None else following.before
        if stand.step is None:
            origin = None if following is None else following.origin
            return None if coming is None else self._before_first(held, coming, origin), origin
        at = self._instants.get(stand.step)
        if at is None:
            return None, None
        if stand.begun:
            return at.before, at.origin
        after = at.at(Moment.AFTER)
        if after is None or coming is None:
            return after, at.origin
        own = {instant.backend for instant in (after, coming)} - {None}
        is_after = len(own) != 1 or held.wrote(after, replace(coming, backend=own.pop()), at.origin)
        return after if is_after else coming, at.origin

    def _before_first(self, held: Held, coming: Instant, origin: Origin | None) -> Instant:
        """As its connection saw it just before the first step, without what it had written by then: it is about to."""
        if coming.own is not None:
            coming = replace(coming, position=0)
        if self._begin is None:
            return coming
        if coming.backend is None:  # what was written meanwhile may be its own
            return self._begin if held.overlays else coming
        begin = replace(self._begin, backend=coming.backend)
        return begin if held.wrote(begin, coming, origin) else coming

    def admit(self, text: str) -> str:
        """What is sent for a text of the agent's. Raises psycopg's error where the replay does not send it."""
        self._text = text
        try:
            way = way_of(text)
        except UnfitError as unfit:
            self._refused(str(unfit))
            raise psycopg.errors.ReadOnlySqlTransaction(str(unfit)) from unfit
        if begins_block(text) and not self.begun:
            self.commit()
            self.begun = True
        elif way is Way.COMMIT:
            self.commit()
        elif way is Way.ROLLBACK:
            self.rollback()
        return text if way is Way.SENT else NOTHING

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """For what the replay sends by itself."""
        try:
            yield
        except psycopg.Error as problem:
            self.met(problem)
            raise

    def met(self, problem: psycopg.Error) -> None:
        """The database has refused something. Raises Stop where the agent cannot go on as it did.

        That is BeginAgain where overlays are what it takes.
        """
        held = self._held
        if held is None:
            return
        if held.raw.closed:
            why = f"the connection to the agent's database was lost: {lost(problem)}"
            raise self._dialogue.end(Refused(why)) from problem
        if problem.sqlstate in BY_OTHERS:
            why = f"somebody else was in the way in the agent's database: {said(problem)}"
            raise self._dialogue.end(Refused(why)) from problem
        if overran(problem):
            most = f"a statement of a replay has {STATEMENT_TIMEOUT_MS // 1000} seconds at most"
            self._refused(said(problem), most)
        if OURS in str(problem):  # which no table of the agent's would have said
            problem.args = (str(problem).partition(OURS)[0], *problem.args[1:])
        table = written_by(self._text)
        is_new = not self._database.writing and any(map(is_known, held.found.tables))
        is_locking = problem.sqlstate == READ_ONLY and locks_rows(self._text)
        if is_new and (is_locking or problem.sqlstate in TAKES_NO_WRITES):
            raise self._dialogue.end(BeginAgain("the agent writes to a watched table"))
        if problem.sqlstate == READ_ONLY:
            self._refused(said(problem), self._remedy(held, table))
        elif table in {each.name for each in held.found.tables} and (
            problem.sqlstate in NOT_INTO_A_VIEW or (problem.sqlstate == TAKEN and upserts(self._text))
        ):
            self._refused(said(problem), A_VIEW)

    def _remedy(self, held: Held, table: str | None) -> str:
        if table is None:
            return ""
        _, dot, name = table.rpartition(".")
        if any(each.name == name for each in held.found.tables):
            return f"{name} is watched: name it without its schema" if dot else A_VIEW
        return f"{table} is not watched: stepwell watch {table}"

    def _refused(self, why: str, remedy: str = "") -> None:
        place = Places(libraries()).of_caller()
        where = "" if place is None else f"{place.file}:{place.line}: "
        self._dialogue.note(f"{where}{why}{remedy and f' ({remedy})'}")

    def commit(self) -> None:
        """End the agent's transaction."""
        with self._lock:
            self.begun = False
            if self._held is not None:
                with self._watched():
                    self._held.commit()

    def rollback(self) -> None:
        """End it, and undo what was written in it."""
        with self._lock:
            self.begun = False
            if self._held is not None:
                with self._watched():
                    self._held.rollback()

    def close(self) -> None:
        """Say what is to be known of what was read, and roll back."""
        with self._lock:
            held, self._held = self._held, None
            if held is None or self._process != os.getpid():
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
        if self._sync is not None and self._sync.lock.acquire(timeout=PATIENCE):
            held.close()
            self._sync.lock.release()

    def _is_in_use(self) -> bool:
        return any(each is not None and each.lock.locked() for each in (self._sync, self._async))

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
        for table in held.judged():
            if not is_known(table):
                doubt = f"{table.name}: {table.verdict.certainty}, {table.verdict.why}"
                self._doubts.setdefault((table.schema, table.name), doubt)
        watched = {(table.schema, table.name) for table in held.found.tables}
        for read in sorted(held.read):
            if read in self._doubts:
                self._dialogue.note(self._doubts[read])
            elif read not in watched:
                name = ".".join(read)
                self._dialogue.note(
                    f"{name} is not watched, and was read as it is today: stepwell watch {name}"
                )
