"""What a replay does execute: the bodies of blocks, tools that are marked as pure, and what stands in for a tool."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import Token
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stepwell.core.codec import parse
from stepwell.core.codec.foreign import said
from stepwell.core.divergence import Divergence, Kind
from stepwell.core.hints import hinted
from stepwell.core.identity import Question, by_hand, is_left_out
from stepwell.core.recorded import RecordedStep
from stepwell.core.shown import changed
from stepwell.errors import UsageError
from stepwell.recorder.context import Frame, enter, leave
from stepwell.rerun.stops import Diverged

if TYPE_CHECKING:
    from stepwell.recorder.run import Run
    from stepwell.rerun.playback import Playback


@dataclass(frozen=True, slots=True)
class Other:
    """A function that is called where the recording is not to answer; `pure` if it has to give the same."""

    fn: Callable[..., Any]
    pure: bool


@dataclass(frozen=True, slots=True)
class Instead:
    """Calls that the recording is not to answer, by the names of their steps."""

    pure: Collection[str] = ()
    """Executed again, and compared."""
    stand_ins: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Called in their place."""

    def __post_init__(self) -> None:
        if isinstance(self.pure, str):  # in which every part of it would be found
            raise UsageError(f"pure is a list of names: [{self.pure!r}]")

    def unknown(self, names: Iterable[str | None]) -> list[str]:
        """Those of its names that are not among these."""
        mine = {*self.pure, *self.stand_ins}
        return sorted(mine.difference(names)) if mine else []

    def of(self, name: str | None, fn: Callable[..., Any]) -> Other | None:
        """What is called in place of a call to `fn`, None where the recording answers."""
        if name is not None and name in self.stand_ins:
            return Other(self.stand_ins[name], pure=False)
        return Other(fn, pure=True) if name in self.pure else None


class Execution:
    """A recorded call that is made again."""

    def __init__(
        self, playback: Playback, run: Run, asked: Question, other: Other, *, is_async: bool
    ) -> None:
        """`is_async` is whether the agent awaits it, whatever the function that is called instead is."""
        self._playback, self._run, self._asked, self._other = playback, run, asked, other
        self._is_async = is_async

    def start(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What it returns; something to be awaited where that is what it returns."""
        if self._is_async or inspect.iscoroutinefunction(self._other.fn):
            return self._await(None, lambda: self._other.fn(*args, **kwargs))
        step = self._begin()
        token = enter(Frame(self._run, step.number, served=True))
        try:
            result = self._other.fn(*args, **kwargs)
        except Exception as error:  # of the user's own code: compared with what it raised then
            self._end(step, error=error)
            raise
        finally:
            leave(token)
        if inspect.isawaitable(result):
            return self._await(step, lambda: result)
        self._end(step, result)
        return result

    async def _await(self, step: RecordedStep | None, call: Callable[[], Any]) -> Any:
        step = step or self._begin()
        token = enter(Frame(self._run, step.number, served=True))
        try:
            result = call()
            if inspect.isawaitable(result):
                result = await result
        except Exception as error:  # of the user's own code: compared with what it raised then
            self._end(step, error=error)
            raise
        finally:
            leave(token)
        self._end(step, result)
        return result

    def _begin(self) -> RecordedStep:
        step = self._playback.ask(self._asked)
        self._playback.dialogue.open(step)
        return step

    def _end(self, step: RecordedStep, result: object = None, error: BaseException | None = None) -> None:
        if self._other.pure and not self._playback.dialogue.live:
            compare(self._playback, step, result, error)
        self._playback.over(step)


class Block:
    """The step of a `with run.step(…)`, whose body runs again; it may leave `output` as it was recorded."""

    replayed = True

    def __init__(self, playback: Playback, run: Run, asked: Question) -> None:
        self._playback, self._run, self._asked = playback, run, asked
        self._step: RecordedStep | None = None
        self._error: BaseException | None = None
        self.recorded: object = None

    @property
    def number(self) -> int | None:
        return None if self._step is None else self._step.number

    def begin(self) -> None:
        self._step = step = self._playback.ask(self._asked)
        self._playback.dialogue.open(step)
        found = self._playback.outcome(step)
        self.recorded, self._error = found.value, found.error

    async def abegin(self) -> None:
        self.begin()

    def enter(self, *, served: bool) -> Token[Frame | None]:  # noqa: ARG002 a block is run again
        return enter(Frame(self._run, self.number))

    def finish(self, output: object) -> None:
        step = self._step
        assert step is not None
        if self._error is not None:
            self._playback.over(step)
            raise self._error
        compare(self._playback, step, output, None)
        self._playback.over(step)

    async def afinish(self, output: object) -> None:
        self.finish(output)

    def fail(self, error: BaseException, output: object = None) -> None:  # noqa: ARG002 what it raises counts
        step = self._step
        assert step is not None
        if isinstance(error, Exception):
            compare(self._playback, step, None, error)
        self._playback.over(step)

    async def afail(self, error: BaseException, output: object = None) -> None:
        self.fail(error, output)


def compare(playback: Playback, step: RecordedStep, result: object, error: BaseException | None) -> None:
    """See that what was executed again has come to the same. Raises Diverged."""
    payload = step.payload
    if error is not None or payload.error is not None:
        recorded = None if payload.error is None else parse(payload.error)
        expected = None if not isinstance(recorded, dict) else [recorded.get("type"), recorded.get("message")]
        actual = None if error is None else [type(error).__qualname__, said(error, str)]
        if _alike(expected, actual, hidden=is_left_out(payload.error)):
            return
        difference: tuple[str, object, object] | None = "$", expected, actual
    else:
        difference = changed(payload.output, payload.output_exact, result, by_value=by_hand(step))
    if difference is not None:
        place = playback.dialogue.places.get(step.number)
        found = Divergence(
            Kind.OUTCOME, step.number, *difference, where=None if place is None else str(place)
        )
        found = hinted(found, playback.dialogue.run)
        raise playback.dialogue.end(Diverged(found))


def _alike(expected: list[Any] | None, actual: list[Any] | None, *, hidden: bool) -> bool:
    """Whether two errors are of the same class, by its last name, and say the same, unless that was not recorded."""
    if expected is None or actual is None:
        return expected is actual
    then, now = (str(side[0]).rpartition(".")[2] for side in (expected, actual))
    return then == now and (hidden or expected[1] == actual[1])
