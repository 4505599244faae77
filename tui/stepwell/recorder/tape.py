"""What has come out of a stream so far, and the one outcome that it makes."""

import contextlib
import copy
from typing import Any

from stepwell.core.streamed import CLOSED, DONE, FAILED, Streamed
from stepwell.errors import RecordingError
from stepwell.recorder.step import Step


class Tape:
    """Collects the chunks of a stream and finishes its step once, whichever way the stream ends first."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.ended = False
        self._chunks: list[object] = []

    def add(self, chunk: object) -> None:
        self._chunks.append(_snapshot(chunk))

    def end(self, ended: str = DONE, value: object = None) -> None:
        """Commit the whole. Raises RecordingError."""
        if not self.ended:
            self.step.finish(self._take(ended, value))

    async def aend(self, ended: str = DONE, value: object = None) -> None:
        if not self.ended:
            await self.step.afinish(self._take(ended, value))

    def fail(self, error: BaseException) -> None:
        """Commit what came before the stream raised."""
        if not self.ended:
            self.step.fail(error, self._take(FAILED, None))

    async def afail(self, error: BaseException) -> None:
        if not self.ended:
            await self.step.afail(error, self._take(FAILED, None))

    def _take(self, ended: str, value: object) -> Streamed:
        self.ended = True
        return Streamed(self._chunks, ended, value)

    def __del__(self) -> None:
        """The agent dropped the stream: nobody can wait any more."""
        if self.ended or self.step.number is None:
            return
        with contextlib.suppress(RecordingError):  # closed before the stream was: the step stays in doubt
            self.step.finish_unwatched(self._take(CLOSED, None))


def _snapshot(chunk: Any) -> object:
    """The chunk as it is now: agents and clients put chunks together by changing the first of them."""
    if isinstance(chunk, dict | list) or hasattr(type(chunk), "model_fields"):
        with contextlib.suppress(
            Exception
        ):  # foreign objects may refuse in any way; then it is kept as it will be
            return copy.deepcopy(chunk)
    return chunk
