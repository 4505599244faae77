"""Agents that are fed: objects with `llm_response`, `tool_result` and `step()`, as people write them by hand.

`step()` goes on until the agent needs an answer, and returns what it asks: `(type, name, input)`, or an object that has
these as attributes and, in a run of several agents, `agent`. An `llm_call` is answered by `llm_response(reply)`, all
else by `tool_result(result)`, a `state_update` (its input the whole state) by nothing; then `step()` is called again,
until it returns None. What a call raised goes to `error(exception)` where there is such a method, else it ends the
agent. `result`, if there is such an attribute, is what the agent has come to. Each of the methods may be asynchronous.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL
from stepwell.errors import UsageError
from stepwell.recorder.functions import takes
from stepwell.recorder.run import Run
from stepwell.rerun.stops import Refused


@runtime_checkable
class PushAgent(Protocol):
    """An agent that is fed."""

    def llm_response(self, reply: Any, /) -> Any:
        """Take the answer of a model."""
        ...

    def tool_result(self, result: Any, /) -> Any:
        """Take what a tool gave."""
        ...

    def step(self) -> Any:
        """Go on, and return what is asked for next; None at the end."""
        ...


def begin(agent: Any, run: Run) -> Any:
    """What an agent returns, which may be something to be awaited; of one that is fed, or makes such, what it comes to.

    A class or function that makes agents that are fed takes the run or nothing.
    """
    if isinstance(agent, PushAgent) and not isinstance(agent, type):
        return _feed(agent, run)
    try:
        made = agent(run) if takes(agent, 1) else agent()
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # nothing of it has run
            raise Refused(f"{name_of(agent)} cannot be called with the run alone: {error}") from error
        raise
    return _feed(made, run) if isinstance(made, PushAgent) else made


def check(agent: object, name: str | None = None) -> None:
    """Raises UsageError for what is no agent; `name` is what the user calls it."""
    if isinstance(agent, PushAgent) and not isinstance(agent, type):
        return
    if not callable(agent):
        meant = "; import what it names, and give that" if isinstance(agent, str) and name is None else ""
        raise UsageError(
            f"{name or f'{agent!a:.80}'} is of type {type(agent).__name__}, which cannot be called{meant}"
        )
    shown = name or name_of(agent)
    if (why := _unfit(agent)) is not None:
        raise UsageError(f"{shown}{why}")


def name_of(agent: object) -> str:
    """What its own code calls it."""
    while isinstance(agent, partial):
        agent = agent.func
    return str(getattr(agent, "__qualname__", None) or type(agent).__qualname__)


def _unfit(agent: Callable[..., object]) -> str | None:
    """Why something that can be called is no agent, in words that follow its name."""
    wrap = f"wrap it: def main(run): return {name_of(agent).rpartition('.')[2]}"
    if not takes(agent, 1) and not takes(agent, 0):
        return (
            f"{inspect.signature(agent)} cannot be called with the run alone, as an agent is; {wrap}(run, …)"
        )
    if inspect.isgeneratorfunction(agent) or inspect.isasyncgenfunction(agent):
        return (
            " is a generator function, and nothing of it runs when it is called; wrap it in one that runs it"
        )
    if isinstance(agent, type) and not issubclass(agent, PushAgent) and not hasattr(agent, "__await__"):
        return f" is a class, and not one with step(), llm_response and tool_result; {wrap}(…).method(run)"
    return None


Turn = Generator[Callable[[], Any], Any, Any]
"""Gives what is to be called next, is sent what that returned, and returns what the agent has come to."""


def _feed(agent: PushAgent, run: Run) -> Any:
    methods = (agent.step, agent.llm_response, agent.tool_result)
    turn = _turns(agent, run)
    return _feed_async(turn) if any(map(inspect.iscoroutinefunction, methods)) else _feed_sync(turn)


def _feed_sync(turn: Turn) -> Any:
    send: Callable[[Any], Callable[[], Any]] = turn.send
    given: Any = None
    while True:
        try:
            call = send(given)
        except StopIteration as stop:
            return stop.value
        try:
            given, send = call(), turn.send
            if inspect.isawaitable(given):
                given = asyncio.run(_wait(given))
        except Exception as error:  # of the agent's own code, or what a call raised: `_turns` knows which
            given, send = error, turn.throw


async def _feed_async(turn: Turn) -> Any:
    send: Callable[[Any], Callable[[], Any]] = turn.send
    given: Any = None
    while True:
        try:
            call = send(given)
        except StopIteration as stop:
            return stop.value
        try:
            given, send = call(), turn.send
            if inspect.isawaitable(given):
                given = await given
        except Exception as error:  # of the agent's own code, or what a call raised: `_turns` knows which
            given, send = error, turn.throw


async def _wait(given: Any) -> Any:
    return await given


def _turns(agent: PushAgent, run: Run) -> Turn:
    while (said := (yield agent.step)) is not None:
        asked = _asked(said)
        try:
            answer = yield partial(_ask, asked, run)
        except Exception as error:  # whatever the call raised when it was recorded
            if not callable(getattr(agent, "error", None)):
                raise
            yield partial(agent.error, error)  # type: ignore[attr-defined]  # it need not have one
            continue
        if asked.type != STATE_UPDATE:
            yield partial(agent.llm_response if asked.type == LLM_CALL else agent.tool_result, answer)
    result = getattr(agent, "result", None)
    return None if result is None or callable(result) else run.result(result)


@dataclass(frozen=True, slots=True)
class _Asked:
    type: str
    name: str | None
    input: Any
    agent: str | None = None


def _asked(said: Any) -> _Asked:
    """Raises UsageError for what is no question."""
    if isinstance(said, tuple) and len(said) == 3:
        found = _Asked(*said)
    else:
        try:
            found = _Asked(said.type, said.name, said.input, getattr(said, "agent", None))
        except AttributeError as error:
            raise UsageError(f"{_WRONG}, not {type(said).__name__}") from error
    if not isinstance(found.type, str) or not isinstance(found.name, str | None):
        raise UsageError(f"{_WRONG} of which type and name are texts")
    return found


_WRONG = "step() of an agent that is fed returns None at its end, else (type, name, input) or an object that has these"


def _ask(asked: _Asked, run: Run) -> Any:
    view = run if asked.agent is None else run.agent(asked.agent)
    if asked.type == STATE_UPDATE:
        return view.state(asked.input, shared=asked.name == "shared")
    call = {LLM_CALL: view.named(asked.name).llm, TOOL_CALL: view.named(asked.name).tool}.get(asked.type)
    if call is not None and asked.name is not None and _is_arguments(asked.input):
        return call(_nothing, **asked.input)
    with view.step(asked.type, asked.name, asked.input) as step:
        return step.output


def _is_arguments(given: object) -> bool:
    return type(given) is dict and all(type(key) is str for key in given)


def _nothing(**given: Any) -> Any:
    """Has the arguments of a call that only a recording answers."""
    raise UsageError(
        f"an agent that is fed makes no calls itself, so nothing can answer this one: {sorted(given)}"
    )
