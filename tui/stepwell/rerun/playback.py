"""A recorded run that answers an agent's own code: the book behind the `Run` that a replay hands out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from stepwell.core.forms import is_awaited
from stepwell.core.steps import STATE_UPDATE
from stepwell.core.streamed import Streamed
from stepwell.core.world import MISSING
from stepwell.recorder.calls import in_loop, question
from stepwell.recorder.describe import shape_of, undecorated
from stepwell.rerun.answering import Answering
from stepwell.rerun.chance import Chance
from stepwell.rerun.clock import Clock
from stepwell.rerun.dialogue import Dialogue, caller
from stepwell.rerun.executing import Block, Execution, Instead
from stepwell.rerun.streams import AsyncStream, hand_out

if TYPE_CHECKING:
    from stepwell.recorder.run import Run
    from stepwell.rerun.database import Visit


class Playback(Answering):
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
        super().__init__(dialogue, clock, chance, visit)
        self._instead, self._connection = instead, connection
        self.given: object = MISSING
        """What `Run.result` was given last."""

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
        asked = self.question_of(run, kind, name, given)
        if (other := self._instead.of(name, fn)) is not None:
            return Execution(self, run, asked, other, is_async=shape.is_async).start(args, kwargs)
        if shape.is_async_generator:
            return AsyncStream(lambda: self.begun(asked))
        if shape.is_async or (shape.wraps_async and in_loop()):
            return self.answer_async(asked, partial(fn, *args, **kwargs), caller())
        step = self.ask(asked)
        found = self.outcome(step)
        if is_awaited(step.form):
            return self.wait_for(step, found, partial(fn, *args, **kwargs))
        if isinstance(found.value, Streamed):
            return hand_out(step.form, self.reader(step, found), partial(fn, *args, **kwargs))
        return self.give(step, found)

    def block(self, run: Run, kind: str, name: str | None, given: object, seed: int | None) -> Block:  # noqa: ARG002 a seed is no part of what is asked
        return Block(self, run, self.question_of(run, kind, name, given))

    def state(self, run: Run, value: object, shared: bool) -> None:
        self.over(self.ask(self.question_of(run, STATE_UPDATE, "shared" if shared else None, value)))

    async def astate(self, run: Run, value: object, shared: bool) -> None:
        self.state(run, value, shared)

    def connection(self, given: object) -> Any:
        if self.visit is not None:
            return self.visit.connection(given)
        return given if self._connection is None else self._connection()

    @property
    def connected(self) -> bool:
        """Whether the agent has asked for that."""
        return self.visit is not None and self.visit.is_used

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
