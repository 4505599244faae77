"""Making a call as a step: its intent, the call itself, and its outcome, for functions of every kind."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from stepwell.core.forms import ASYNC_MANAGER, ASYNC_STREAM, AWAITABLE, MANAGER, STREAM, form
from stepwell.core.steps import LLM_CALL
from stepwell.recorder.async_streams import RecordedAsyncManager, RecordedAsyncStream
from stepwell.recorder.context import current_frame, leave, restore
from stepwell.recorder.describe import Shape, arguments, model_of, shape_of, undecorated
from stepwell.recorder.step import Step
from stepwell.recorder.streams import RecordedManager, RecordedStream
from stepwell.recorder.tape import Tape

if TYPE_CHECKING:
    from stepwell.recorder.run import Run
    from stepwell.recorder.trail import Trail

_VALUES = frozenset((dict, list, tuple, str, bytes, int, float, bool, type(None)))


def call(
    trail: Trail, run: Run, kind: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call `fn` as a step of `run` and return what it returns; a coroutine for a coroutine function."""
    fn, args, kwargs = undecorated(fn, args, kwargs)
    shape = shape_of(fn)
    name, given, seed = question(run, kind, shape, args, kwargs)
    step = Step(trail, run, kind, name, given, seed)
    if shape.is_async_generator:
        # Its body runs from the first item on, so that is where the step begins, without blocking the loop.
        return RecordedAsyncStream(fn(*args, **kwargs), Tape(step), begin=step.abegin)
    if shape.is_async or (shape.wraps_async and in_loop()):
        return _call_async(step, fn, args, kwargs)
    step.begin()
    outer = current_frame()
    try:
        step.enter()
        result = fn(*args, **kwargs)
    except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
        restore(outer)
        step.fail(error)
        raise
    restore(outer)
    return _hand_out(step, result)


def question(
    run: Run, kind: str, shape: Shape, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str | None, dict[str, Any], object]:
    """The name of the step that a call is, its input and its seed."""
    given = arguments(shape, args, kwargs)
    own = run.options
    name = own.name or (model_of(given, shape) if kind == LLM_CALL else shape.name)
    seed = given.get("seed", own.run_seed) if own.seed is None else own.seed
    return name, given, seed


def in_loop() -> bool:
    """Whether an event loop runs this code."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _call_async(
    step: Step, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    await step.abegin()
    token = step.enter()
    try:
        result = fn(*args, **kwargs)
        if type(result) is CoroutineType or inspect.isawaitable(result):
            result = await result
    except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
        leave(token)
        await step.afail(error)
        raise
    leave(token)
    return await _hand_out_async(step, result)


async def _await(step: Step, awaitable: Awaitable[Any]) -> Any:
    """What a plain function returned to be awaited: its outcome is that of awaiting it."""
    token = step.enter()
    try:
        result = await awaitable
    except BaseException as error:  # whatever stops the call is its outcome: recorded, raised unchanged
        leave(token)
        await step.afail(error)
        raise
    leave(token)
    return await _hand_out_async(step, result)


def _hand_out(step: Step, result: Any) -> Any:
    if not _is_value(result):
        if _has(result, "__next__"):
            step.form = form(STREAM, result)
            return RecordedStream(result, Tape(step))
        if _has(result, "__anext__"):
            step.form = form(ASYNC_STREAM, result)
            return RecordedAsyncStream(result, Tape(step))
        if inspect.isawaitable(result):
            step.form = AWAITABLE
            return _await(step, result)
        # A model call that returns a context manager has not called the model yet: its block does.
        if step.kind == LLM_CALL and _has(result, "__enter__", "__exit__"):
            step.form = form(MANAGER, result)
            return RecordedManager(result, Tape(step))
        if step.kind == LLM_CALL and _has(result, "__aenter__", "__aexit__"):
            step.form = form(ASYNC_MANAGER, result)
            return RecordedAsyncManager(result, Tape(step))
    step.finish(result)
    return result


async def _hand_out_async(step: Step, result: Any) -> Any:
    if not _is_value(result):
        if _has(result, "__anext__"):
            step.form = form(ASYNC_STREAM, result, step.form)
            return RecordedAsyncStream(result, Tape(step))
        if _has(result, "__next__"):
            step.form = form(STREAM, result, step.form)
            return RecordedStream(result, Tape(step))
        if step.kind == LLM_CALL and _has(result, "__aenter__", "__aexit__"):
            step.form = form(ASYNC_MANAGER, result, step.form)
            return RecordedAsyncManager(result, Tape(step))
    await step.afinish(result)
    return result


def _has(value: object, *names: str) -> bool:
    return all(hasattr(type(value), name) for name in names)


def _is_value(value: object) -> bool:
    """Files and cursors can be iterated, but are read in other ways too; mocks can do everything."""
    kind = type(value)
    if type(kind) is type and kind in _VALUES:
        return True
    return hasattr(kind, "read") or hasattr(kind, "fetchone") or kind.__module__ == "unittest.mock"
