"""A recorded run that answers an agent's own code: the book behind the `Run` that a replay hands out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from stepwell.core.divergence import Divergence, Kind
from stepwell.core.forms import is_awaited
from stepwell.core.identity import Key, Question
from stepwell.core.recorded import RecordedStep
from stepwell.core.recording import storable
from stepwell.core.rerun import Place
from stepwell.core.steps import STATE_UPDATE
from stepwell.core.streamed import Streamed
from stepwell.core.world import MISSING
from stepwell.recorder.calls import in_loop, question
from stepwell.recorder.context import parent_in
from stepwell.recorder.describe import shape_of, undecorated
from stepwell.recorder.failures import has_ended
from stepwell.rerun.answers import Outcome, outcome
from stepwell.rerun.chance import Chance
from stepwell.rerun.clock import Clock, microseconds
from stepwell.rerun.dialogue import Dialogue, caller
from stepwell.rerun.executing import Block, Execution, Instead
from stepwell.rerun.stops import Diverged, Refused
from stepwell.rerun.streams import AsyncStream, Reader, Ways, hand_out

if TYPE_CHECKING:
    from stepwell.recorder.run import Run
    from stepwell.rerun.database import Visit

CANCEL_SECONDS = 1.0
"""So long after the recorded end a task that was cancelled then waits for it."""


class Playback:
    """Answers the steps of one recorded run. Usable from any thread and task."""

    def __init__(
        self,
        dialogue: Dialogue,
        clock: Clock,
        chance: Chance,
        instead: Instead = Instead(),  # noqa: B008 it is a constant
        connection: Callable[[], Any] | None = None,
        visit: Visit | None = None,
    ) -> None:
        self.dialogue, self._visit = dialogue, visit
        self._clock, self.chance, self._instead, self._connection = clock, chance, instead, connection
        self.given: object = MISSING
        """What `Run.result` was given last."""
        self.ending: object = MISSING
        """What the agent itself has ended the run with, if it has: an error, or None."""

    @property
    def run_id(self) -> UUID:
        return self.dialogue.run.head.run_id

    @property
    def ended(self) -> bool:
        """Whoever replays it says how it ends."""
        return True

    def call(
        self, run: Run, kind: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        fn, args, kwargs = undecorated(fn, args, kwargs)
        shape = shape_of(fn)
        name, given, _ = question(run, kind, shape, args, kwargs)
        asked = self._question(run, kind, name, given)
        if (other := self._instead.of(name, fn)) is not None:
            return Execution(self, run, asked, other, is_async=shape.is_async).start(args, kwargs)
        if shape.is_async_generator:
            return AsyncStream(lambda: self._begun(asked))
        if shape.is_async or (shape.wraps_async and in_loop()):
            return self._answer(asked, partial(fn, *args, **kwargs), caller())
        step = self.ask(asked)
        found = self.outcome(step)
        if is_awaited(step.form):
            return self._wait_for(step, found, partial(fn, *args, **kwargs))
        if isinstance(found.value, Streamed):
            return hand_out(step.form, self._reader(step, found), partial(fn, *args, **kwargs))
        return self._give(step, found)

    def block(self, run: Run, kind: str, name: str | None, given: object, seed: int | None) -> Block:  # noqa: ARG002 a seed is no part of what is asked
        return Block(self, run, self._question(run, kind, name, given))

    def state(self, run: Run, value: object, shared: bool) -> None:
        self.over(self.ask(self._question(run, STATE_UPDATE, "shared" if shared else None, value)))

    async def astate(self, run: Run, value: object, shared: bool) -> None:
        self.state(run, value, shared)

    def connection(self, given: object) -> Any:
        if self._visit is not None:
            return self._visit.connection(given)
        return given if self._connection is None else self._connection()

    @property
    def connected(self) -> bool:
        """Whether the agent has asked for that."""
        return self._visit is not None and self._visit.is_used

    def result(self, value: object) -> None:
        self.given = value

    def drew(self, given: bytes) -> None:
        """That is for a recording."""

    def finish(self, error: BaseException | None) -> None:
        """End the run for the agent, which gets no further answers."""
        self.ending = error

    async def afinish(self, error: BaseException | None) -> None:
        self.finish(error)

    def keep(self, why: str) -> None:
        """That is for a recording."""

    def ask(self, asked: Question, place: Place | None = None) -> RecordedStep:
        """The step that is asked for, at `place` if that is not where the call comes from.

        Raises Stop, and RecordingError where the agent has ended the run.
        """
        if self.ending is not MISSING:
            raise has_ended(self.run_id, f"{asked.key.type} {asked.key.name or ''}".rstrip())
        step = self.dialogue.ask(asked, place)
        if self._visit is not None:
            self._visit.asked(step)
        self._clock.begin(microseconds(step.started))
        return step

    def outcome(self, step: RecordedStep) -> Outcome:
        """What the step gave. Raises Stop."""
        try:
            return outcome(self.run_id, step, lambda why: self.dialogue.end(Refused(why)))
        except Refused as refused:
            raise self.dialogue.end(refused) from refused

    def over(self, step: RecordedStep) -> None:
        """The agent gets what the step gave."""
        self._clock.move_to(self._end_of(step))
        self.chance.after(step)
        if self._visit is not None:
            self._visit.answered(step)
        self.dialogue.answered(step)

    def _question(self, run: Run, kind: str, name: str | None, value: object) -> Question:
        key = Key(kind, None if name is None else storable(name), run.agent_name, parent_in(self.run_id))
        return Question(key, value)

    async def _answer(self, asked: Question, call: partial[Any], place: Place | None) -> Any:
        step = self.ask(asked, place)  # a task of its own does not know who made the call
        return await self._wait_for(step, self.outcome(step), call)

    async def _wait_for(self, step: RecordedStep, found: Outcome, call: partial[Any]) -> Any:
        """The answer when it came."""
        if isinstance(found.value, Streamed):
            return hand_out(step.form, self._reader(step, found), call)
        await self._until_over(step, found)
        return self._give(step, found)

    async def _until_over(self, step: RecordedStep, found: Outcome) -> None:
        """Wait for the end of the step. Where the task was cancelled then, that is waited for."""
        finished, asked = self._end_of(step), self._clock.now
        await self._clock.until(finished)
        if isinstance(found.error, asyncio.CancelledError) and finished is not None:
            took = finished - (microseconds(step.started) or finished)
            await self._clock.until(max(finished, asked + took) + round(CANCEL_SECONDS * 1_000_000))

    def _give(self, step: RecordedStep, found: Outcome) -> Any:
        self._say(step, found)
        self.over(step)
        if found.error is not None:
            raise found.error
        return found.value

    def _begun(self, asked: Question) -> Reader:
        step = self.ask(asked)
        return self._reader(step, self.outcome(step))

    def _reader(self, step: RecordedStep, found: Outcome) -> Reader:
        self._say(step, found)
        streamed = found.value if isinstance(found.value, Streamed) else Streamed([], "failed")

        def too_far(count: int) -> BaseException:
            what = f"closed after {count} chunks"
            return self.dialogue.end(
                Diverged(Divergence(Kind.OUTCOME, step.number, f"$.chunks[{count}]", what, "read on"))
            )

        def refuse(what: str) -> BaseException:
            where = f"{str(self.run_id)[:8]}:{step.number}"
            return self.dialogue.end(Refused(f"{where}: {what} is asked for, which was not recorded"))

        ways = Ways(lambda: self.over(step), too_far, refuse, lambda: self._until_over(step, found))
        return Reader(streamed, found.error, ways)

    def _end_of(self, step: RecordedStep) -> int | None:
        return microseconds(self.dialogue.run.ends.get(step.number))

    def _say(self, step: RecordedStep, found: Outcome) -> None:
        for path in found.redacted:
            self.dialogue.note(f"step {step.number} gave what was redacted: {path}")
