"""Recorded streams, handed out as what the agent iterates over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any

from stepwell.core.forms import ASYNC_MANAGER, MANAGER, STREAM, parts
from stepwell.core.streamed import CLOSED, DONE, Streamed
from stepwell.rerun.sdks import stainless


class Reader:
    """Goes through what a stream gave, once. `over` is called at its end, whichever way that comes.

    `too_far` makes what is raised where the agent reads on after the place at which it once closed the stream.
    """

    def __init__(
        self,
        streamed: Streamed,
        error: BaseException | None,
        over: Callable[[], None],
        too_far: Callable[[int], BaseException],
    ) -> None:
        self._chunks = iter(streamed.chunks)
        self._streamed, self._error = streamed, error
        self._over, self._too_far = over, too_far
        self._closed = False

    def next(self, end: Callable[[object], BaseException]) -> Any:
        """The next chunk. Raises what the stream raised, and `end` of what it returned at its end."""
        if self._closed:
            raise end(None)
        for chunk in self._chunks:
            return chunk
        if self._error is not None and self._streamed.ended not in (DONE, CLOSED):
            self.close()
            raise self._error
        if self._streamed.ended == CLOSED:
            raise self._too_far(len(self._streamed.chunks))
        self.close()
        raise end(self._streamed.value)

    def close(self) -> None:
        """The agent wants no more."""
        if not self._closed:
            self._closed = True
            self._over()


class Stream(Iterator[Any]):
    """A generator as it was recorded, or a stream of which the class is not known here."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __next__(self) -> Any:
        return self._reader.next(StopIteration)

    def send(self, value: object) -> Any:  # noqa: ARG002 what it was sent shows in what it gave
        return next(self)

    def throw(self, error: BaseException) -> Any:
        self._reader.close()
        raise error

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncStream(AsyncIterator[Any]):
    """`Stream` for tasks. What `begin` gives is asked for with the first chunk."""

    def __init__(self, begin: Callable[[], Reader]) -> None:
        self._begin: Callable[[], Reader] | None = begin
        self._reader: Reader | None = None

    async def __anext__(self) -> Any:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self._reader = begin()
        if self._reader is None:
            raise StopAsyncIteration
        return self._reader.next(StopAsyncIteration)

    async def asend(self, value: object) -> Any:  # noqa: ARG002 what it was sent shows in what it gave
        return await self.__anext__()

    async def athrow(self, error: BaseException) -> Any:
        await self.aclose()
        raise error

    async def aclose(self) -> None:
        self._begin = None
        if self._reader is not None:
            self._reader.close()

    async def close(self) -> None:
        await self.aclose()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def hand_out(form: str | None, reader: Reader, call: Callable[[], Any]) -> Any:
    """What the agent got: an object of the client that it uses, where that is known, else one that iterates alike.

    `call` makes the call; nothing but a function of a client that calls nothing yet is called with it.
    """
    how, kind = parts(form)
    plain: Any = Stream(reader) if how in (STREAM, MANAGER) else AsyncStream(lambda: reader)
    if how in (MANAGER, ASYNC_MANAGER):
        return stainless.manager(kind, call, plain, reader.close) or plain
    return stainless.stream(kind, plain, reader.close) or plain
