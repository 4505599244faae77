"""A step around a block of code."""

from __future__ import annotations

from contextvars import Token
from types import TracebackType

from stepwell.recorder.book import BlockStep
from stepwell.recorder.context import Frame, leave


class StepBlock:
    """Begins its step on entry and ends it on exit, as `with` and as `async with`.

    `output` is what is recorded; None, the JSON null, unless it is set. What the block raises is recorded as the
    step's error, beside an output that was set before. In a replay `output` begins as what was recorded.
    """

    def __init__(self, step: BlockStep) -> None:
        """Made by `Run.step`."""
        self.output: object = None
        self._step = step
        self._token: Token[Frame | None] | None = None

    @property
    def number(self) -> int | None:
        """The step's number, None before the block is entered."""
        return self._step.number

    @property
    def replayed(self) -> bool:
        """Whether the block is replayed: `output` is then what was recorded, and there is no need to make it."""
        return self._step.replayed

    def set(self, output: object) -> None:
        """The same as assigning `output`."""
        self.output = output

    def __enter__(self) -> StepBlock:
        self._step.begin()
        self._take_recorded()
        self._token = self._step.enter(served=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        if error is None:
            self._step.finish(self.output)
        else:
            self._step.fail(error, self.output)

    async def __aenter__(self) -> StepBlock:
        await self._step.abegin()
        self._take_recorded()
        self._token = self._step.enter(served=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        if error is None:
            await self._step.afinish(self.output)
        else:
            await self._step.afail(error, self.output)

    def _take_recorded(self) -> None:
        if self._step.replayed:
            self.output = self._step.recorded

    def _leave(self) -> None:
        if self._token is not None:
            leave(self._token)
            self._token = None
