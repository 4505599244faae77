"""Going on for real where a recording has no answer any more: in a branch of the run, recorded as any run is."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, closing
from contextvars import Token
from typing import Any
from uuid import UUID

from stepwell.core.world import MISSING
from stepwell.errors import UsageError
from stepwell.recorder.book import BlockStep, Book
from stepwell.recorder.chance import Draws
from stepwell.recorder.context import Frame
from stepwell.recorder.lanes import Lanes
from stepwell.recorder.recorder import Recorder
from stepwell.recorder.run import Run
from stepwell.recorder.step import Step
from stepwell.recorder.trail import Trail
from stepwell.rerun.clock import microseconds
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.leaving import LEFT_BEHIND, Live, leave_of, tail_of
from stepwell.rerun.playback import Playback
from stepwell.rerun.stops import Stop, WentLive
from stepwell.rerun.streams import AsyncStream
from stepwell.store.branches import fork
from stepwell.store.connect import connect


class LiveBook:
    """Answers from a recording, and where that has no answer from the world. Usable from any thread and task."""

    def __init__(
        self,
        playback: Playback,
        live: Live,
        on_leave: Callable[[], None],
        on_left: Callable[[UUID], None] = lambda _: None,
    ) -> None:
        """`on_leave` is called before the first call that is made for real, `on_left` once its branch is there."""
        self._playback, self._live, self._on_leave, self._on_left = playback, live, on_leave, on_left
        self._recorder: Recorder | None = None
        self._trail: Trail | None = None
        playback.dialogue.goes_live = self._leave

    @property
    def branch(self) -> UUID | None:
        """The run that it goes on in, None as long as it does not."""
        return None if self._trail is None else self._trail.run_id

    @property
    def run_id(self) -> UUID:
        return self._book.run_id

    @property
    def ended(self) -> bool:
        return self._book.ended

    @property
    def _book(self) -> Book:
        return self._trail or self._playback

    def call(
        self, run: Run, kind: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        def make() -> Any:
            return self._book.call(run, kind, fn, args, kwargs)

        if self._trail is not None:
            return make()
        try:
            answer = make()
        except WentLive:
            return make()
        if inspect.iscoroutine(answer):
            return _first(answer, make)
        return _chunks(answer, make) if isinstance(answer, AsyncStream) else answer

    def block(self, run: Run, kind: str, name: str | None, given: object, seed: int | None) -> BlockStep:
        def take_up(number: int) -> BlockStep | None:
            if self._trail is None:
                return None
            begun = microseconds(self._playback.dialogue.run.by_number[number].started) or 0
            return Step.taken_up(self._trail, run, kind, name, number, begun)

        return LiveBlock(lambda: self._book.block(run, kind, name, given, seed), take_up)

    def state(self, run: Run, value: object, shared: bool) -> None:
        try:
            self._book.state(run, value, shared)
        except WentLive:
            self._book.state(run, value, shared)

    async def astate(self, run: Run, value: object, shared: bool) -> None:
        try:
            await self._book.astate(run, value, shared)
        except WentLive:
            await self._book.astate(run, value, shared)

    def connection(self, given: object) -> Any:
        if self._trail is not None and given is None:
            raise UsageError(LEFT_BEHIND)
        return self._book.connection(given)

    def result(self, value: object) -> None:
        self._playback.result(value)
        if self._trail is not None:
            self._trail.result(value)

    def drew(self, given: bytes) -> None:
        self._book.drew(given)

    def finish(self, error: BaseException | None) -> None:
        self._book.finish(error)

    async def afinish(self, error: BaseException | None) -> None:
        await self._book.afinish(error)

    def keep(self, why: str) -> None:
        self._book.keep(why)

    def close(self) -> None:
        """Let go of the database; the branch has ended, or shows as died."""
        if self._recorder is not None:
            self._recorder.close()

    def _leave(self, _: Stop) -> bool:
        """Begin the branch, if that is allowed. Raises DatabaseError, RecordingError."""
        dialogue = self._playback.dialogue
        tail = tail_of(dialogue, self._live.edited)
        if not self._live.allow(leave_of(dialogue, tail, connected=self._playback.connected)):
            return False
        target = self._live.target
        with closing(connect(target)) as connection:
            branch = fork(connection, dialogue.run.head.run_id, tail, self._live.name)
        self._on_left(branch)  # at once: it is there now, whatever becomes of this process
        self._on_leave()
        self._recorder = Recorder(target.conninfo)
        trail = self._recorder.resume(branch).book
        assert isinstance(trail, Trail)
        kept = {own.number for own in tail.own}.union(range(1, tail.number))
        trail.lanes, chance = _Lanes(dialogue), self._playback.chance
        trail.draws = Draws(chance.lanes)
        for lane, drawn in chance.since(kept).items():  # what no step has taken along: the next one does
            for given in drawn:
                trail.draws.add(given, lane)
        if self._playback.given is not MISSING:
            trail.result(self._playback.given)
        self._trail = trail
        return True


class _Lanes(Lanes):
    """Threads and tasks by what they were in the recording; others by numbers beyond those."""

    def __init__(self, dialogue: Dialogue) -> None:
        super().__init__()
        self._dialogue = dialogue
        self._beyond = (
            max((step.lane for step in dialogue.run.steps if step.lane is not None), default=-1) + 1
        )

    def number(self) -> int:
        then = self._dialogue.lane_then()
        return self._beyond + super().number() if then is None else then


async def _first(answer: Awaitable[Any], make: Callable[[], Any]) -> Any:
    try:
        return await answer
    except WentLive:
        return await make()


async def _chunks(answer: AsyncStream, make: Callable[[], Any]) -> AsyncIterator[Any]:
    try:
        first = await anext(answer)
    except StopAsyncIteration:
        return
    except WentLive:
        async with aclosing(make()) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    yield first
    async for chunk in answer:
        yield chunk


class LiveBlock:
    """A block of a recording, or where that has none, one that is recorded.

    One that was begun in the recording and within which the agent went on for real ends in the branch, as it ends now.
    """

    def __init__(self, make: Callable[[], BlockStep], take_up: Callable[[int], BlockStep | None]) -> None:
        """`take_up` gives the step of that number to be ended in the branch, if there is one now."""
        self._make, self._take_up = make, take_up
        self._step = make()

    @property
    def replayed(self) -> bool:
        return self._step.replayed

    @property
    def recorded(self) -> object:
        return self._step.recorded

    @property
    def number(self) -> int | None:
        return self._step.number

    def begin(self) -> None:
        try:
            self._step.begin()
        except WentLive:
            self._step = self._make()
            self._step.begin()

    async def abegin(self) -> None:
        try:
            await self._step.abegin()
        except WentLive:
            self._step = self._make()
            await self._step.abegin()

    def enter(self, *, served: bool) -> Token[Frame | None]:
        return self._step.enter(served=served)

    def finish(self, output: object) -> None:
        self._now().finish(output)

    async def afinish(self, output: object) -> None:
        await self._now().afinish(output)

    def fail(self, error: BaseException, output: object = None) -> None:
        self._now().fail(error, output)

    async def afail(self, error: BaseException, output: object = None) -> None:
        await self._now().afail(error, output)

    def _now(self) -> BlockStep:
        """Who is to be told of its end."""
        number = self._step.number
        if not self._step.replayed or number is None:
            return self._step
        return self._take_up(number) or self._step
