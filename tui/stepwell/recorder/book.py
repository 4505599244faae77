"""What stands behind a run: where its steps are written to, or what answers them when the run is replayed."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from stepwell.recorder.context import Frame
    from stepwell.recorder.run import Run


class BlockStep(Protocol):
    """The step of a `with run.step(…)` block."""

    @property
    def replayed(self) -> bool:
        """Whether `recorded` is what the block gave when it was recorded, so that its body need not be run again."""
        ...

    @property
    def recorded(self) -> object: ...

    @property
    def number(self) -> int | None: ...
    def begin(self) -> None: ...
    async def abegin(self) -> None: ...
    def enter(self, *, served: bool) -> Token[Frame | None]: ...
    def finish(self, output: object) -> None: ...
    async def afinish(self, output: object) -> None: ...
    def fail(self, error: BaseException, output: object = None) -> None: ...
    async def afail(self, error: BaseException, output: object = None) -> None: ...


class Book(Protocol):
    """One run, for all views of it. The `a…` methods are the same for tasks."""

    @property
    def run_id(self) -> UUID: ...

    @property
    def ended(self) -> bool:
        """Whether somebody has said how the run ended."""
        ...

    def call(
        self, run: Run, kind: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What a model or a tool answers; something to be awaited or iterated where the function gives that."""
        ...

    def block(self, run: Run, kind: str, name: str | None, given: object, seed: int | None) -> BlockStep:
        """The step of a block, not begun yet."""
        ...

    def state(self, run: Run, value: object, shared: bool) -> None: ...
    async def astate(self, run: Run, value: object, shared: bool) -> None: ...

    def connection(self, given: object) -> Any:
        """The database that the agent is to use, where `given` is the connection it was started with."""
        ...

    def result(self, value: object) -> None:
        """What the run has come to."""
        ...

    def drew(self, given: bytes) -> None:
        """The agent has drawn these bytes for a `uuid`."""
        ...

    def finish(self, error: BaseException | None) -> None: ...
    async def afinish(self, error: BaseException | None) -> None: ...

    def keep(self, why: str) -> None:
        """Say why the run is worth keeping."""
        ...
