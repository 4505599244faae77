"""A step under way: written before it is made, and again when it has its outcome."""

from __future__ import annotations

import asyncio
import contextlib
from contextvars import Token
from typing import TYPE_CHECKING

from stepwell.core.codec import Encoded, canonical, digest, encode, encode_and_canonical
from stepwell.core.recording import storable
from stepwell.core.steps import LLM_CALL, TOOL_CALL
from stepwell.core.streamed import Streamed
from stepwell.core.usage import NOTHING, usage_of, usage_of_chunks
from stepwell.errors import EncodingError, RecordingError
from stepwell.recorder import clock
from stepwell.recorder.chance import Mark
from stepwell.recorder.context import Frame, enter, parent_in
from stepwell.recorder.failures import canonical_failure, failure, is_too_large
from stepwell.recorder.intents import FinishStep, StartStep
from stepwell.recorder.redaction import recorded_usage
from stepwell.store.rows import Finish, Start

if TYPE_CHECKING:
    from stepwell.recorder.run import Run
    from stepwell.recorder.trail import Trail

_SEEDS = range(-(2**63), 2**63)


def fitting(seed: object) -> int | None:
    """The seed as a column takes it, None for one that does not fit in."""
    return seed if type(seed) is int and seed in _SEEDS else None


class Step:
    """One step, from its intent to its outcome. The `a…` methods are the same for tasks."""

    replayed = False
    recorded: object = None

    __slots__ = (
        "_agent",
        "_asked",
        "_full",
        "_given",
        "_intent",
        "_mark",
        "_name",
        "_own",
        "_parent",
        "_run",
        "_seed",
        "_tick",
        "_trail",
        "form",
        "kind",
    )

    def __init__(
        self, trail: Trail, run: Run, kind: str, name: str | None, value: object, seed: object
    ) -> None:
        """Raises EncodingError for a value that cannot be kept. Nothing is submitted yet."""
        agent = run.agent_name
        if (redact := trail.redact) is not None:
            name, agent, value, seed = redact.call(name, agent, value, seed)
        self._asked: str | None = None
        if kind == TOOL_CALL:
            encoded, asked = encode_and_canonical(value)
            self._asked = asked if name is None else f"{name!a} {asked}"
        else:
            encoded = encode(value)
        self._trail, self._run, self.kind, self._agent = trail, run, kind, agent
        self._name = None if name is None else storable(name)
        self._own = run.options.connection
        self._parent = parent_in(trail.run_id)
        self._seed = fitting(seed)
        self._given = trail.prompts.given(kind, agent, value, encoded)
        self._full = None if self._given.base is None else encoded
        self._intent: StartStep | None = None
        self._tick = 0
        self._mark: Mark | None = None
        self.form: str | None = None
        """How the answer is handed out, where that is not as it is."""

    @classmethod
    def taken_up(
        cls, trail: Trail, run: Run, kind: str, name: str | None, number: int, started_at: int
    ) -> Step:
        """A step that is begun in the database already, to be given its outcome."""
        step = cls(trail, run, kind, name, None, None)
        step._intent = StartStep(
            Start(trail.run_id, kind, step._agent, step._name, None, None, started_at, "null", None)
        )
        step._intent.number = number
        return step

    @property
    def number(self) -> int | None:
        """Its step number, None before it has begun."""
        return None if self._intent is None else self._intent.number

    def _start(self, seen: str | None) -> StartStep:
        self._trail.refuse_if_ended(f"{self.kind} {self._name or ''}".rstrip())
        given, lane, dice = self._given, self._trail.lanes.number(), self._trail.dice
        self._mark = None if dice is None else dice.mark
        row = Start(
            self._trail.run_id,
            storable(self.kind),
            self._agent,
            self._name,
            self._parent,
            self._seed,
            clock.now(),
            given.plain,
            given.exact,
            lane,
            self._trail.draws.take(lane),
            input_base=given.base,
            input_keep=given.keep,
            input_list=given.list,
            input_removed=given.removed,
            seen=seen,
        )
        self._intent, self._full = StartStep(row, full=self._full), None
        return self._intent

    def _begun(self, intent: StartStep) -> None:
        if self._given.text is not None:
            self._trail.prompts.begun(self._given, intent.number)
        self._tick = clock.tick()

    def begin(self) -> None:
        """Commit the intent. Raises RecordingError, also after the run's end, and then the call must not be made."""
        writer = self._trail.writer
        intent = self._start(None if self._own is None else self._own.look(writer))
        writer.submit(intent, waiting=True)
        try:
            writer.wait(intent)
        except BaseException as error:  # an interrupt or a cancel too: the step stays, its call is not made
            if intent.error is None:  # interrupted while waiting: it is recorded, but will not be made
                with contextlib.suppress(RecordingError):
                    writer.wait(intent)
                    self.fail(error)
            raise
        self._begun(intent)

    async def abegin(self) -> None:
        writer = self._trail.writer
        intent = self._start(None if self._own is None else await self._own.alook(writer))
        writer.submit(intent)
        try:
            await intent.wait_async()
        except BaseException as error:  # an interrupt or a cancel too: the step stays, its call is not made
            if intent.error is None:
                with contextlib.suppress(RecordingError):
                    await intent.wait_async()
                    await self.afail(error)
            raise
        self._begun(intent)

    def enter(self, *, served: bool = True) -> Token[Frame | None]:
        """What runs until `leave(token)` is part of this step; `served`: of what a replay has the answer."""
        return enter(Frame(self._run, self.number, served))

    def finish(self, output: object, error: BaseException | None = None) -> None:
        """Commit the outcome. Raises RecordingError where it could not be."""
        intent, problem = self._outcome(output, error)
        writer = self._trail.writer
        try:
            if self._own is not None:
                intent.row = intent.row._replace(seen=self._own.look(writer))
            writer.do(intent)
        except RecordingError as refused:
            if is_too_large(refused):
                writer.do(self._outcome(None, error or refused, intent.row.seen)[0])
            raise
        except BaseException:  # an interrupt
            self._go_on_without(intent)
            raise
        if problem is not None:
            raise problem

    async def afinish(self, output: object, error: BaseException | None = None) -> None:
        intent, problem = self._outcome(output, error)
        writer = self._trail.writer
        try:
            if self._own is not None:
                intent.row = intent.row._replace(seen=await self._own.alook(writer))
            writer.submit(intent)
            await intent.wait_async()
        except RecordingError as refused:
            if is_too_large(refused):
                instead, _ = self._outcome(None, error or refused, intent.row.seen)
                writer.submit(instead)
                await instead.wait_async()
            raise
        except BaseException:  # an interrupt or a cancel
            self._go_on_without(intent)
            raise
        if problem is not None:
            raise problem

    def finish_unwatched(self, output: object) -> None:
        """Submit the outcome where nobody can wait for it; failing is logged."""
        intent, _ = self._outcome(output, None)
        intent.watched = False
        self._trail.writer.submit(intent)

    def _go_on_without(self, intent: FinishStep) -> None:
        """Nobody waits for the outcome any more; it may not even have been submitted."""
        intent.watched = False
        if not intent.submitted:
            with contextlib.suppress(RecordingError):  # the recorder is closed
                self._trail.writer.submit(intent)

    def fail(self, error: BaseException, output: object = None) -> None:
        """Commit that it raised; the caller raises it again. An interruption outranks the RecordingError."""
        try:
            self.finish(output, error)
        except RecordingError as problem:
            if isinstance(error, Exception):
                raise problem from error
            error.add_note(str(problem))

    async def afail(self, error: BaseException, output: object = None) -> None:
        try:
            await self.afinish(output, error)
        except RecordingError as problem:
            if isinstance(error, Exception):
                raise problem from error
            error.add_note(str(problem))
        except asyncio.CancelledError:
            if not isinstance(error, asyncio.CancelledError):
                raise  # cancelled while waiting; the outcome is on its way all the same

    def _outcome(
        self, output: object, error: BaseException | None, seen: str | None = None
    ) -> tuple[FinishStep, EncodingError | None]:
        """The intent; and where the output cannot be kept, the error that is recorded and raised in its place."""
        start = self._intent
        assert start is not None
        assert start.number is not None
        finished_at = start.row.started_at + clock.since(self._tick or clock.tick())
        encoded: Encoded | None = None
        problem: EncodingError | None = None
        redact, streamed = self._trail.redact, isinstance(output, Streamed)
        if error is None or output is not None:
            try:
                output = output if redact is None else redact(output)
                encoded = encode(output)
            except EncodingError as raised:
                problem = raised
                error = error or raised
        usage = NOTHING
        if self.kind == LLM_CALL and redact is not None:
            usage = recorded_usage(encoded, streamed)
        elif self.kind == LLM_CALL:
            usage = usage_of_chunks(output.chunks) if isinstance(output, Streamed) else usage_of(output)
        row = Finish(
            start.row.run_id,
            start.number,
            None if encoded is None else encoded.plain,
            None if encoded is None else encoded.exact,
            None if error is None else failure(error, redact),
            finished_at,
            usage.tokens_in,
            usage.tokens_out,
            None if usage.finish_reason is None else storable(usage.finish_reason),
            self._hash(output, encoded, error),
            None if self.form is None else storable(self.form),
            None if self._trail.dice is None else self._trail.dice.note(self._mark),
            seen=seen,
        )
        return FinishStep(row, self._agent, self._name), problem

    def _hash(self, output: object, encoded: Encoded | None, error: BaseException | None) -> int | None:
        if self._asked is None:
            return None
        if error is not None:
            result = canonical_failure(error, self._trail.redact)
        elif encoded is None or encoded.opaque:
            result = canonical(output)
        else:  # its texts tell it from any other as well, and are there already
            result = f"{encoded.plain} {encoded.exact}"
        return digest(f"{self._asked} {result}")
