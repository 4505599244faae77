"""A run under way, as the agent sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Token
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from stepwell.core.codec.text import clean
from stepwell.core.steps import LLM_CALL, TOOL_CALL
from stepwell.errors import RecordingError, UsageError
from stepwell.recorder.book import Book
from stepwell.recorder.context import Frame, enter, leave
from stepwell.recorder.manual import StepBlock
from stepwell.recorder.named import Named, Options
from stepwell.recorder.own import Own

__all__ = ["Options", "Run"]

P = ParamSpec("P")
T = TypeVar("T")


class Run(Named):
    """Records the steps of one run. Usable from any thread, task and forked process.

    `with run:` (or `async with`) ends it: `ok`, or `failed` with what was raised, unless `finish` did before. Steps
    that are under way then may still finish; those begun later raise RecordingError. `Recorder.resume` goes on.
    Views of the same run, made by `named` and `agent`, say who takes a step and under what name.
    """

    def __init__(self, book: Book, options: Options) -> None:
        super().__init__(book, options)
        self._token: Token[Frame | None] | None = None

    def named(
        self,
        name: str | None = None,
        *,
        agent: str | None = None,
        seed: int | None = None,
        connection: object = None,
    ) -> Run:
        """A view of this run whose steps have this name, agent and seed, and are taken with this connection.

        For options of a step whose call takes arguments of the same names. What is None stays as it is here.

        `connection` is the agent's own to the database that is recorded to: of psycopg, or of what stands over it
        (SQLAlchemy, Django). A step notes what the database looked like before its call and after it; with a
        connection, as that one sees it: with what its transaction has written and not yet committed, and from
        REPEATABLE READ on in that transaction's own snapshot. It is asked just before the intent is committed, and as
        soon as the call has returned, in one statement that leaves it as it was. Where it cannot be asked without
        risk (it is in use, in a pipeline, in a failed transaction, behind a pooler, or asynchronous in a step that is
        not awaited; in a transaction of READ COMMITTED that holds an ACCESS EXCLUSIVE lock) or sees what all see (in
        one of READ COMMITTED that has not written), the step notes what the recorder sees, as without a connection.

        Raises UsageError for a name that a database cannot hold, and for what leads to no such connection.
        """
        for text in (name, agent):
            if text is not None and not clean(text):
                raise UsageError(f"{text!a} cannot be a name: it holds a NUL or half a surrogate pair")
        old = self.options
        return Run(
            self.book,
            old._replace(
                name=old.name if name is None else name,
                agent=old.agent if agent is None else agent,
                seed=old.seed if seed is None else seed,
                connection=old.connection if connection is None else Own(connection),
            ),
        )

    def agent(self, name: str) -> Run:
        """A view of this run whose steps are taken by the agent `name`."""
        return self.named(agent=name)

    def llm(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call a model, as a step: `run.llm(client.chat.completions.create, model=…, messages=…)`.

        The call is recorded before it is made and its reply before it is returned. Coroutine functions are
        awaited, streams handed on chunk by chunk. What it raises is recorded and raised unchanged.
        Raises RecordingError when it cannot be recorded, then the call is not made or its reply not returned;
        EncodingError, before the call, for arguments that cannot be kept.
        """
        result: T = self.book.call(self, LLM_CALL, fn, args, kwargs)
        return result

    def tool(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a tool, as a step: `run.tool(search_orders, customer=42)`. Like `llm` in all else."""
        result: T = self.book.call(self, TOOL_CALL, fn, args, kwargs)
        return result

    def step(
        self,
        type: str,  # noqa: A002 the words of the table
        name: str | None = None,
        input: object = None,
        *,
        seed: int | None = None,
        connection: object = None,
    ) -> StepBlock:
        """A step around a block: `with run.step("tool_call", "search", query) as step: step.output = …`.

        `connection` is the agent's own, as for `named`. Raises UsageError, EncodingError.
        """
        if connection is not None:
            return self.named(connection=connection).step(type, name, input, seed=seed)
        own = self.options
        chosen = next((given for given in (seed, own.seed, own.run_seed) if given is not None), None)
        return StepBlock(self.book.block(self, type, own.name if name is None else name, input, chosen))

    def state(self, value: object, *, shared: bool = False) -> None:
        """Record the whole state of this view's agent, or the one that all agents share; blocks for its commit.

        Only what changed since the last one is stored. Raises RecordingError, EncodingError.
        """
        self.book.state(self, value, shared)

    async def astate(self, value: object, *, shared: bool = False) -> None:
        """`state` for tasks."""
        await self.book.astate(self, value, shared)

    def finish(self, error: BaseException | None = None) -> None:
        """End the run where no `with` does: `failed` with an error, else `ok`. Raises RecordingError."""
        self.book.finish(error)

    async def afinish(self, error: BaseException | None = None) -> None:
        """`finish` for tasks."""
        await self.book.afinish(error)

    def value(self, name: str, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """A value that is another one each time, as a clock or a dice gives it: `run.value("now", time.time)`.

        Recorded as a tool call `name`, so that a replay gives the recorded one. Like `tool` in all else.
        """
        return self.named(name).tool(fn, *args, **kwargs)

    @property
    def connection(self) -> Any:
        """The agent's own connection that `named` or the Recorder were given, or None.

        In a replay, the database as of the step that the agent is at: see `stepwell.replay`.
        """
        own = self.options.connection
        return self.book.connection(None if own is None else own.given)

    def result(self, value: T) -> T:
        """Record what the run has come to, and return it: a replay compares its own with it.

        It is written with the end of the run; the last one given counts. Raises EncodingError.
        """
        self.book.result(value)
        return value

    def keep(self, why: str = "kept") -> None:
        """Say why this run is worth keeping, whatever `Recorder(keep=…)` says at its end. Does not wait.

        `stepwell prune` then spares it, unless it is asked for all runs of an age. Raises RecordingError where the
        recorder is closed; a failing later is logged.
        """
        self.book.keep(why)

    def __enter__(self) -> Run:
        self._token = enter(Frame(self, None))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        if self.book.ended:
            return
        try:
            self.finish(error)
        except RecordingError as problem:
            _rather(error, problem)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        if self.book.ended:
            return
        try:
            await self.afinish(error)
        except RecordingError as problem:
            _rather(error, problem)
        except asyncio.CancelledError:
            if error is None:
                raise

    def _leave(self) -> None:
        if self._token is not None:
            leave(self._token)
            self._token = None


def _rather(error: BaseException | None, problem: RecordingError) -> None:
    """The error that ended the run outranks the one that ending it met."""
    if error is None:
        raise problem
    error.add_note(str(problem))
