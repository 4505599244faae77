"""Handing out what a recorded step gave, when it gave it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from stepwell.core.divergence import Divergence, Kind
from stepwell.core.identity import Key, Question
from stepwell.core.recorded import RecordedStep
from stepwell.core.recording import storable
from stepwell.core.rerun import Place
from stepwell.core.streamed import Streamed
from stepwell.core.world import MISSING
from stepwell.recorder.context import parent_in
from stepwell.recorder.failures import has_ended
from stepwell.rerun.answers import Outcome, outcome
from stepwell.rerun.chance import Chance
from stepwell.rerun.clock import Clock, microseconds
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.stops import Diverged, Refused
from stepwell.rerun.streams import Reader, Ways, hand_out

if TYPE_CHECKING:
    from stepwell.recorder.run import Run
    from stepwell.rerun.database import Visit

CANCEL_SECONDS = 1.0
"""So long after the recorded end a task that was cancelled then waits for it."""


class Answering:
    """Asks for the steps of one recorded run and answers them. Usable from any thread and task."""

    def __init__(self, dialogue: Dialogue, clock: Clock, chance: Chance, visit: Visit | None) -> None:
        self.dialogue, self.visit = dialogue, visit
        self._clock, self.chance = clock, chance
        self.ending: object = MISSING
        """What the agent itself has ended the run with, if it has: an error, or None."""

    @property
    def run_id(self) -> UUID:
        return self.dialogue.run.head.run_id

    def ask(self, asked: Question, place: Place | None = None) -> RecordedStep:
        """The step that is asked for, at `place` if that is not where the call comes from.

        Raises Stop, and RecordingError where the agent has ended the run.
        """
        if self.ending is not MISSING:
            raise has_ended(self.run_id, f"{asked.key.type} {asked.key.name or ''}".rstrip())
        step = self.dialogue.ask(asked, place)
        if self.visit is not None:
            self.visit.asked(step)
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
        if self.visit is not None:
            self.visit.answered(step)
        self.dialogue.answered(step)

    def question_of(self, run: Run, kind: str, name: str | None, value: object) -> Question:
        """What the agent asks for, where it is now."""
        key = Key(kind, None if name is None else storable(name), run.agent_name, parent_in(self.run_id))
        return Question(key, value)

    async def answer_async(self, asked: Question, call: partial[Any], place: Place | None) -> Any:
        """The answer of a call that is awaited. Raises what the call raised, and Stop."""
        step = self.ask(asked, place)  # a task of its own does not know who made the call
        return await self.wait_for(step, self.outcome(step), call)

    async def wait_for(self, step: RecordedStep, found: Outcome, call: partial[Any]) -> Any:
        """The answer when it came."""
        if isinstance(found.value, Streamed):
            return hand_out(step.form, self.reader(step, found), call)
        await self._until_over(step, found)
        return self.give(step, found)

    async def _until_over(self, step: RecordedStep, found: Outcome) -> None:
        """Wait for the end of the step. Where the task was cancelled then, that is waited for."""
        finished, asked = self._end_of(step), self._clock.now
        await self._clock.until(finished)
        if isinstance(found.error, asyncio.CancelledError) and finished is not None:
            took = finished - (microseconds(step.started) or finished)
            if not await self._clock.until(max(finished, asked + took) + round(CANCEL_SECONDS * 1_000_000)):
                await asyncio.sleep(took / 1_000_000 + CANCEL_SECONDS)

    def give(self, step: RecordedStep, found: Outcome) -> Any:
        """What the step gave, at its end. Raises what it raised, and Stop."""
        self._say(step, found)
        self.over(step)
        if found.error is not None:
            raise found.error
        return found.value

    def begun(self, asked: Question) -> Reader:
        """Ask for a step that gave a stream; what reads that."""
        step = self.ask(asked)
        return self.reader(step, self.outcome(step))

    def reader(self, step: RecordedStep, found: Outcome) -> Reader:
        """What reads the stream that a step gave, as far as the agent read it then."""
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
