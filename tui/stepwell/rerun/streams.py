"""Recorded streams, handed out as what the agent iterates over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from stepwell.core.forms import ASYNC_MANAGER, ASYNC_STREAM, MANAGER, parts
from stepwell.core.streamed import CLOSED, DONE, Streamed
from stepwell.rerun.sdks import stainless
from stepwell.rerun.sdks.stainless import Refuse

OWN_KINDS = ("", "builtins:generator", "builtins:async_generator")
"""Classes that have nothing but what is iterated over."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What a stream does beside giving its chunks."""

    over: Callable[[], None]
    """Called at its end, whichever way that comes."""
    too_far: Callable[[int], BaseException]
    """Makes what is raised where the agent reads on after the place at which it once closed the stream."""
    refuse: Refuse
    """Makes what is raised where the agent asks for what was not recorded."""
    wait: Callable[[], Awaitable[None]]
    """Awaited by a task before the end, so that it comes when it came."""


class Reader:
    """Goes through what a stream gave, once."""

    def __init__(self, streamed: Streamed, error: BaseException | None, ways: Ways) -> None:
        self.streamed, self.error, self.ways = streamed, error, ways
        self._given = 0
        self._closed = False

    @property
    def at_end(self) -> bool:
        """Whether the next thing is the end of what was recorded."""
        return not self._closed and self._given == len(self.streamed.chunks)

    def next(self, end: Callable[[object], BaseException]) -> Any:
        """The next chunk. Raises what the stream raised, and `end` of what it returned at its end."""
        if self._closed:
            raise end(None)
        if not self.at_end:
            self._given += 1
            return self.streamed.chunks[self._given - 1]
        if self.error is not None and self.streamed.ended not in (DONE, CLOSED):
            self.close()
            raise self.error
        if self.streamed.ended == CLOSED:
            raise self.ways.too_far(self._given)
        self.close()
        raise end(self.streamed.value)

    def begin(self) -> Reader:
        """What the agent has entered the block of. Raises what it met there."""
        if self.error is not None and not self.streamed.chunks:
            self.close()
            raise self.error
        return self

    async def abegin(self) -> Reader:
        if self.error is not None and not self.streamed.chunks:
            await self.ways.wait()
        return self.begin()

    def close(self) -> None:
        """The agent wants no more."""
        if not self._closed:
            self._closed = True
            self.ways.over()

    def __del__(self) -> None:
        """The agent has dropped it, as one does after a `break`."""
        with contextlib.suppress(RuntimeError):  # the interpreter ends
            self.close()


class _Named:
    """What is handed out in place of a class that is not known: only what can be iterated over was recorded."""

    _kind: str
    _refuse: Refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._kind in OWN_KINDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise self._refuse(f"{self._kind}.{name}")


class Stream(_Named, Iterator[Any]):
    """A generator as it was recorded, or a stream of which the class is not known here."""

    def __init__(self, reader: Reader, kind: str = "") -> None:
        self._reader, self._kind, self._refuse = reader, kind, reader.ways.refuse

    def __next__(self) -> Any:
        return self._reader.next(StopIteration)

    def send(self, value: object) -> Any:  # noqa: ARG002 what it was sent shows in what it gave
        return next(self)

    def throw(self, error: BaseException) -> Any:
        """What it does with it was recorded: chunks that it gave nevertheless, or what it raised."""
        if not self._reader.at_end:
            return next(self)
        self._reader.close()
        raise self._reader.error or error

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Stream:
        self._reader.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncStream(_Named, AsyncIterator[Any]):
    """`Stream` for tasks. What `begin` gives is asked for with the first chunk."""

    def __init__(self, begin: Callable[[], Reader], kind: str = "", refuse: Refuse = RuntimeError) -> None:
        self._begin: Callable[[], Reader] | None = begin
        self._reader: Reader | None = None
        self._kind, self._refuse = kind, refuse

    async def __anext__(self) -> Any:
        return await self._next()

    async def asend(self, value: object) -> Any:  # noqa: ARG002 what it was sent shows in what it gave
        return await self._next()

    async def athrow(self, error: BaseException) -> Any:
        reader = self._begun()
        if reader is not None and not reader.at_end:
            return await self._next()
        await self.aclose()
        raise error if reader is None else reader.error or error

    async def aclose(self) -> None:
        self._begin = None
        if self._reader is not None:
            self._reader.close()

    async def close(self) -> None:
        await self.aclose()

    async def __aenter__(self) -> AsyncStream:
        if (reader := self._begun()) is not None:
            await reader.abegin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _begun(self) -> Reader | None:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            self._reader = begin()
        return self._reader

    async def _next(self) -> Any:
        reader = self._begun()
        if reader is None:
            raise StopAsyncIteration
        if reader.at_end:
            await reader.ways.wait()
        else:
            await asyncio.sleep(0)  # others get their turn between two chunks, as they did
        return reader.next(StopAsyncIteration)


def hand_out(form: str | None, reader: Reader, call: partial[Any]) -> Any:
    """What the agent got: an object of the client that it uses, where that is known, else one that iterates alike.

    `call` is the call; nothing but a method of a client that only prepares a request is called with it.
    """
    how, kind = parts(form)
    made = None
    if how in (MANAGER, ASYNC_MANAGER):
        made = stainless.manager(call, lambda kind: (_abegun if "Async" in kind else _begun)(reader, kind))
    else:
        made = _of_client(reader, kind)
    if made is None and stainless.is_theirs(
        kind
    ):  # it would give other pieces than those that it read itself
        name = getattr(call.func, "__qualname__", "a function")
        raise reader.ways.refuse(f"a {kind} out of {name}, which is no method of the client's,")
    return _plain(reader, kind, how in (ASYNC_STREAM, ASYNC_MANAGER)) if made is None else made


def _begun(reader: Reader, kind: str) -> Any:
    return _of_client(reader.begin(), kind)


async def _abegun(reader: Reader, kind: str) -> Any:
    return _of_client(await reader.abegin(), kind)


def _of_client(reader: Reader, kind: str) -> Any:
    chunks = _plain(reader, kind, "Async" in kind)
    return stainless.stream(kind, chunks, reader.close, reader.ways.refuse)


def _plain(reader: Reader, kind: str, is_async: bool) -> Any:
    return AsyncStream(lambda: reader, kind, reader.ways.refuse) if is_async else Stream(reader, kind)
