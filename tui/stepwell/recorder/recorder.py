"""The recorder: where runs are written to."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg import Connection

from stepwell.core.codec import encode, parse
from stepwell.core.codec.text import clean
from stepwell.core.redaction import Redactor
from stepwell.errors import DatabaseError, EncodingError, NotFoundError, StepwellError, UsageError
from stepwell.recorder import clock, waiting
from stepwell.recorder.chance import Dice, own_uuid, watch
from stepwell.recorder.failures import cause, failure
from stepwell.recorder.intents import EndRun, Errand, OpenRun, ResumeRun
from stepwell.recorder.keeping import Keep, checked
from stepwell.recorder.named import Options
from stepwell.recorder.own import Own
from stepwell.recorder.prompts import Prompts
from stepwell.recorder.redaction import Redact, redactor
from stepwell.recorder.replayed import connects_late, refuse_replayed
from stepwell.recorder.run import Run
from stepwell.recorder.spool import Spool
from stepwell.recorder.step import fitting
from stepwell.recorder.trail import Trail
from stepwell.recorder.writer import Writer
from stepwell.recorder.zone import local_zone
from stepwell.settings import paths
from stepwell.store import writing
from stepwell.store.connect import Target, connect, resolve
from stepwell.store.migrate import migrate
from stepwell.store.reading import find_run
from stepwell.store.rows import Ended, Opened, Resumed
from stepwell.store.writing import LOCK_TIMEOUT, SPOOL_LOCK_TIMEOUT

log = logging.getLogger("stepwell")

Durability = Literal["ahead", "sync", "async"]
Storing = Literal["delta", "full"]
OnFailure = Literal["error", "spool"]


class Recorder:
    """Writes runs to Postgres, over one connection of its own.

    `dsn` is a conninfo or URI; without one `DATABASE_URL`, libpq's own variables, or the embedded Postgres.
    `durability` is what a step waits for. Always that its intent is committed before the call, and its outcome before
    the agent gets it. "ahead" waits for the server's disk before the call, with which all earlier outcomes are there
    too: a power cut of the server leaves the last step of a caller in doubt at most. "sync" waits for the disk
    after the call as well. "async" never does: a step survives the death of this process, and not the server's.
    `prompts="full"` stores long prompts whole, instead of what is new in each.
    `redact` says what is not to be recorded, though the agent gets and gives it: shell patterns of the names of
    arguments, keys and fields at any depth (`"*password*"`, in any case, with `_` and `-` or without), functions that
    get a name and a text and return the text to record, or a list of these. Text is not looked into for names.
    `keep` decides at the end of a run whether it is worth keeping: `stepwell.keep(…)`, or a function of a
    `stepwell.Summary`; what is not, `stepwell prune` deletes.
    `on_failure="spool"` writes to a file what the database does not take, and from there to the database as soon as it
    does; `stepwell import` takes such a file as well. "error" has the step fail, and so its call not be made.
    `chance` notes, for a replay to draw the same, what `random` stands at and what `uuid4` gives within `with run:`.
    `redact` does not apply to that: where such an id is a secret, give False.
    Usable from any thread, and in forked children. Close it, or use it as `with`; the end of the interpreter
    closes it too. Raises UsageError for an option; DatabaseError where the database cannot be reached or has no
    tables yet (`stepwell init` makes them; in the embedded Postgres they are made here).
    Where pytest collects tests it connects when it is used; in code that is replayed it does not, and begins no run.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        durability: Durability = "ahead",
        prompts: Storing = "delta",
        redact: Redact | None = None,
        keep: Keep | None = None,
        on_failure: OnFailure = "error",
        chance: bool = True,
    ) -> None:
        if durability not in ("ahead", "sync", "async"):
            raise UsageError(f"durability is 'ahead', 'sync' or 'async', not {durability!r}")
        if prompts not in ("delta", "full"):
            raise UsageError(f"prompts is 'delta' or 'full', not {prompts!r}")
        if on_failure not in ("error", "spool"):
            raise UsageError(f"on_failure is 'error' or 'spool', not {on_failure!r}")
        self._dsn = dsn
        self._durable = durability != "async"
        self._deltas = prompts == "delta"
        self._redact = redactor(redact)
        self._keep = checked(keep)
        folder = paths().data / "spool"
        self._spool = Spool(folder) if on_failure == "spool" else None
        self._ready = False
        first = None if connects_late() else self._begin(folder)
        self._chance = chance
        if chance:
            watch()
        self._writer = Writer(self._connect, first, self._spool, lazy=durability == "ahead")

    def __repr__(self) -> str:
        """`<stepwell.Recorder agents@db1>`: the database without a password."""
        return f"<stepwell.Recorder {self._target.describe()}>"

    @cached_property
    def _target(self) -> Target:
        return resolve(self._dsn)

    def _begin(self, folder: Path) -> Connection[Any] | None:
        """Say what there is to say of where it records to; the connection, where steps are not to go on without."""
        if self._target.notice:
            log.warning("%s", self._target.notice)
        if self._spool is None:
            return self._connect()
        if told := waiting.warning(folder):
            log.warning("%s", told)
        return None

    def _connect(self) -> Connection[Any]:
        if self._target.server is not None and not self._ready:
            connect(self._target).close()  # starts it
            migrate(self._target.conninfo)
            self._ready = True
        return _open(self._target, self._durable, LOCK_TIMEOUT if self._spool is None else SPOOL_LOCK_TIMEOUT)

    def run(
        self,
        name: str | None = None,
        *,
        tags: Mapping[str, object] | None = None,
        seed: int | None = None,
        connection: object = None,
    ) -> Opening:
        """A new run, for `with` and `async with`: begun on entry; on exit `ok`, or `failed` with what was raised.

        `tags` are JSON values to find the run by; `seed` is recorded with each step that has none of its own;
        `connection` is the agent's own, as for `Run.named`. Raises UsageError, EncodingError.
        """
        dice = Dice() if self._chance else None
        own = None if connection is None else Own(connection)
        intent = _opening(name, tags, seed, self._redact, None if dice is None else dice.note(), own)
        options = Options(
            run_seed=seed,
            run_name=name,
            run_tags=None if tags is None else dict(tags),
            connection=own,
        )
        return Opening(self._trail(intent.run_id, intent.row.started_at, dice), intent, options)

    def start(
        self,
        name: str | None = None,
        *,
        tags: Mapping[str, object] | None = None,
        seed: int | None = None,
        connection: object = None,
    ) -> Run:
        """A new run where no `with` fits; end it with `Run.finish`. One that never ends shows as died later.

        Raises RecordingError.
        """
        return self.run(name, tags=tags, seed=seed, connection=connection).open()

    def resume(self, run_id: UUID | str, *, connection: object = None) -> Run:
        """Take up a run that is there: of another process, alive or dead, or an earlier one of this.

        `run_id` may be the beginning of one, if no other run's id begins so, `@failed` or `@last`. Its steps get the
        next numbers. It is running again, and whoever calls `Run.finish` (or leaves `with run:`) ends it for all.
        Its name, tags and seed are those that it was begun with, as recorded; none where a file takes its steps until
        the database is back. `connection` is the agent's own, as for `Run.named`.
        Raises NotFoundError for no such run, UsageError for several or for what is no id, RecordingError.
        """
        refuse_replayed()
        own = None if connection is None else Own(connection)
        intent = ResumeRun(run_id if isinstance(run_id, UUID) else self._find(run_id))
        self._writer.do(intent)
        if not intent.found:
            raise NotFoundError(f"no run {run_id} to resume; list them: stepwell runs")
        trail = self._trail(intent.run_id, clock.now(), Dice() if self._chance else None)
        trail.known = False
        row = intent.row or Resumed(0, None, {}, None)
        return Run(
            trail, Options(run_seed=row.seed, run_name=row.name, run_tags=row.tags or None, connection=own)
        )

    def _find(self, text: str) -> UUID:
        """The run whose id begins so, `@failed` or `@last`; a whole id is not looked for."""
        with suppress(ValueError):
            return UUID(text)

        def look(connection: Connection[Any]) -> UUID | StepwellError:
            try:
                return find_run(connection, text).run_id
            except (NotFoundError, UsageError) as problem:
                return problem

        errand = Errand(f"run {text} was not looked for, of which the whole id is not given", look)
        self._writer.do(errand)
        if isinstance(errand.result, StepwellError):
            raise errand.result
        assert isinstance(errand.result, UUID)
        return errand.result

    def _trail(self, run_id: UUID, started_at: int, dice: Dice | None) -> Trail:
        prompts = Prompts(self._deltas)
        return Trail(self._writer, run_id, started_at, prompts, self._redact, self._keep, dice=dice)

    def close(self) -> None:
        """Commit what is under way and let go of the connection. Runs still open show as died."""
        self._writer.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Opening:
    """A run that begins when its `with` block is entered."""

    def __init__(self, trail: Trail, intent: OpenRun, options: Options) -> None:
        self._trail, self._intent, self._options = trail, intent, options
        self._run: Run | None = None

    def __getattr__(self, name: str) -> object:
        """Raises AttributeError, which for what a run has says that there is none yet."""
        begun = (
            hasattr(Run, name)
            and ": it is not begun; use `with recorder.run(…) as run`, or recorder.start(…)"
        )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{begun or ''}")

    def open(self) -> Run:
        """Begin it. Raises RecordingError, UsageError the second time."""
        refuse_replayed()
        self._submit(waiting=True)
        try:
            self._trail.writer.wait(self._intent)
        except BaseException as error:  # an interrupt or a cancel too: no run is left running
            self._take_back(error)
            raise
        return self._opened()

    def __enter__(self) -> Run:
        return self.open().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._run is not None
        self._run.__exit__(kind, error, trace)

    async def __aenter__(self) -> Run:
        refuse_replayed()
        self._submit()
        try:
            await self._intent.wait_async()
        except BaseException as error:  # an interrupt or a cancel too: no run is left running
            self._take_back(error)
            raise
        return await self._opened().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._run is not None
        await self._run.__aexit__(kind, error, trace)

    def _submit(self, *, waiting: bool = False) -> None:
        if self._intent.settled:
            raise UsageError("this run was begun already; each `with` needs a `recorder.run(…)` of its own")
        self._trail.writer.submit(self._intent, waiting=waiting)

    def _take_back(self, error: BaseException) -> None:
        """Interrupted while the run was being begun: it ends with that, and nobody waits for it."""
        if self._intent.error is None:
            ending = EndRun(
                Ended(self._intent.run_id, "failed", clock.now(), failure(error, self._trail.redact))
            )
            ending.watched = False
            self._trail.writer.submit(ending)

    def _opened(self) -> Run:
        self._run = Run(self._trail, self._options)
        return self._run


def _opening(
    name: str | None,
    tags: Mapping[str, object] | None,
    seed: int | None,
    redact: Redactor | None,
    random: str | None,
    own: Own | None,
) -> OpenRun:
    if name is not None and not clean(name):
        raise UsageError(f"{name!a} cannot be a name: it holds a NUL or half a surrogate pair")
    given = None
    if tags is not None:
        encoded = encode(dict(tags))
        if parse(encoded.plain) != tags:
            raise EncodingError("tags have to be plain JSON: strings, numbers, lists and objects")
        given = encoded.plain if redact is None else encode(redact(dict(tags))).plain
    if redact is not None:
        name = redact.label("name", name)
    manner = None if own is None else own.manner()
    return OpenRun(Opened(own_uuid(), name, given, clock.now(), fitting(seed), random, local_zone(), manner))


def _open(target: Target, durable: bool, lock_timeout: str) -> Connection[Any]:
    """A connection that is ready for a writer. Raises DatabaseError."""
    connection = connect(target)
    try:
        writing.prepare(connection, durable=durable, lock_timeout=lock_timeout)
    except psycopg.Error as error:
        connection.close()
        raise DatabaseError(f"cannot record to {target.describe()}: {cause(error)}") from error
    except BaseException:  # an interrupt too must not leave a connection open
        connection.close()
        raise
    return connection
