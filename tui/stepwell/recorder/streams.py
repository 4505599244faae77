"""Streams that hand every chunk on at once and have the whole committed before they end."""

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from stepwell.core.streamed import CLOSED, DONE
from stepwell.recorder.context import current_frame, restore
from stepwell.recorder.tape import Tape


class Proxy:
    """Stands before an object of the agent's and passes on whatever it does not know."""

    __slots__ = ("__weakref__", "_inner", "_tape")

    def __init__(self, inner: Any, tape: Tape) -> None:
        self._inner = inner
        self._tape = tape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property  # type: ignore[misc]  # isinstance has to see what the agent asked for
    def __class__(self) -> type:
        return type(self._inner)


class Tap(Iterator[Any]):
    """An iterator that puts every chunk on a tape as it passes."""

    def __init__(self, source: Any, tape: Tape) -> None:
        self._source = source
        self._tape = tape

    def __next__(self) -> Any:
        return self._pass(self._source.__next__)

    def send(self, value: Any) -> Any:
        return self._pass(self._source.send, value)

    def throw(self, *error: Any) -> Any:
        return self._pass(self._source.throw, *error)

    def close(self) -> None:
        """Close what can be closed, then commit what came so far."""
        close = getattr(self._source, "close", None)
        outer = current_frame()
        try:
            self._tape.step.enter()
            if close is not None:
                close()
        except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
            restore(outer)
            self._tape.fail(error)
            raise
        restore(outer)
        self._tape.end(CLOSED)

    def _pass(self, advance: Any, *given: Any) -> Any:
        outer = current_frame()
        try:
            self._tape.step.enter()
            chunk = advance(*given)
        except StopIteration as stop:
            restore(outer)
            self._tape.end(DONE, stop.value)
            raise
        except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
            restore(outer)
            self._tape.fail(error)
            raise
        restore(outer)
        self._tape.add(chunk)
        return chunk


class RecordedStream(Proxy):
    """A generator, or the stream of an SDK, under recording."""

    __slots__ = ("_source",)

    def __init__(self, inner: Any, tape: Tape) -> None:
        super().__init__(inner, tape)
        self._source: Any = inner if tap_within(inner, tape, Tap, "__next__") else Tap(inner, tape)

    def __iter__(self) -> "RecordedStream":
        return self

    def __next__(self) -> Any:
        return next(self._source)

    def send(self, value: Any) -> Any:
        return self._source.send(value)

    def throw(self, *error: Any) -> Any:
        return self._source.throw(*error)

    def close(self) -> None:
        try:
            if hasattr(self._source, "close"):
                self._source.close()
        finally:
            self._tape.end(CLOSED)

    def __enter__(self) -> "RecordedStream":
        if hasattr(self._inner, "__enter__"):
            self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            if hasattr(self._inner, "__exit__"):
                return self._inner.__exit__(kind, error, trace)
            self.close()
            return None
        finally:
            self._tape.end(CLOSED)


class RecordedManager(Proxy):
    """A context manager whose block is the call: what it yields is streamed from, or the answer itself."""

    __slots__ = ()

    def __enter__(self) -> Any:
        outer = current_frame()
        try:
            self._tape.step.enter()
            entered = self._inner.__enter__()
        except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
            restore(outer)
            self._tape.fail(error)
            raise
        restore(outer)
        return RecordedStream(entered, self._tape) if hasattr(type(entered), "__next__") else entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            return self._inner.__exit__(kind, error, trace)
        finally:
            self._tape.end(CLOSED)


def tap_within(stream: Any, tape: Tape, tap: Any, step_method: str) -> bool:
    """Put the tap inside the stream of an SDK, where it has its chunks from; False where that is not possible.

    The clients that are generated from an API's description have more ways to be read than by iterating
    (`text_stream`, `get_final_message()`), and all of them read from one inner iterator. Of several layers the
    lowest is taken: those above repeat the text so far with every chunk.
    """
    lowest = getattr(stream, "_raw_stream", stream)
    inner = getattr(lowest, "_iterator", None)
    if inner is None or not hasattr(type(inner), step_method):
        return False
    with contextlib.suppress(AttributeError):
        lowest._iterator = tap(inner, tape)
        return True
    return False
