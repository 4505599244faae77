"""The streams of `streams.py` for tasks."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any

from stepwell.core.streamed import CLOSED, DONE
from stepwell.recorder.context import leave
from stepwell.recorder.streams import Proxy, tap_within
from stepwell.recorder.tape import Tape


class AsyncTap(AsyncIterator[Any]):
    """An async iterator that puts every chunk on a tape as it passes."""

    def __init__(self, source: Any, tape: Tape) -> None:
        self._source = source
        self._tape = tape

    async def __anext__(self) -> Any:
        return await self._pass(self._source.__anext__)

    async def asend(self, value: Any) -> Any:
        return await self._pass(self._source.asend, value)

    async def athrow(self, *error: Any) -> Any:
        return await self._pass(self._source.athrow, *error)

    async def aclose(self) -> None:
        """Close what can be closed, then commit what came so far."""
        token = self._tape.step.enter()
        try:
            await close(self._source)
        except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
            await self._tape.afail(error)
            raise
        finally:
            leave(token)
        await self._tape.aend(CLOSED)

    async def _pass(self, advance: Any, *given: Any) -> Any:
        token = self._tape.step.enter()
        try:
            chunk = await advance(*given)
        except StopAsyncIteration:
            leave(token)
            await self._tape.aend(DONE)
            raise
        except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
            leave(token)
            await self._tape.afail(error)
            raise
        leave(token)
        self._tape.add(chunk)
        return chunk


class RecordedAsyncStream(Proxy):
    """An async generator, or the async stream of an SDK, under recording."""

    __slots__ = ("_begin", "_source")

    def __init__(self, inner: Any, tape: Tape, begin: Callable[[], Awaitable[None]] | None = None) -> None:
        """`begin` is awaited before the first chunk."""
        super().__init__(inner, tape)
        self._begin = begin
        tapped = tap_within(inner, tape, AsyncTap, "__anext__")
        self._source: Any = inner if tapped else AsyncTap(inner, tape)

    def __aiter__(self) -> "RecordedAsyncStream":
        return self

    async def __anext__(self) -> Any:
        await self._begun()
        return await self._source.__anext__()

    async def asend(self, value: Any) -> Any:
        await self._begun()
        return await self._source.asend(value)

    async def athrow(self, *error: Any) -> Any:
        await self._begun()
        return await self._source.athrow(*error)

    async def aclose(self) -> None:
        if self._begin is not None:  # never begun, so there is no step
            self._begin = None
            await close(self._inner)
            self._tape.ended = True
            return
        try:
            await close(self._source)
        finally:
            await self._tape.aend(CLOSED)

    async def close(self) -> None:
        await self.aclose()

    async def __aenter__(self) -> "RecordedAsyncStream":
        if hasattr(self._inner, "__aenter__"):
            await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            if hasattr(self._inner, "__aexit__"):
                return await self._inner.__aexit__(kind, error, trace)
            await self.aclose()
            return None
        finally:
            if self._begin is None:
                await self._tape.aend(CLOSED)

    async def _begun(self) -> None:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            await begin()


class RecordedAsyncManager(Proxy):
    """An async context manager whose block is the call."""

    __slots__ = ()

    async def __aenter__(self) -> Any:
        token = self._tape.step.enter()
        try:
            entered = await self._inner.__aenter__()
        except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
            await self._tape.afail(error)
            raise
        finally:
            leave(token)
        return RecordedAsyncStream(entered, self._tape) if hasattr(type(entered), "__anext__") else entered

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        try:
            return await self._inner.__aexit__(kind, error, trace)
        finally:
            await self._tape.aend(CLOSED)


async def close(stream: Any) -> None:
    """Close a stream, by whichever name it has for that."""
    method = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if method is not None:
        result = method()
        if inspect.isawaitable(result):
            await result
