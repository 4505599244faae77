"""A call as recorded: what is called, and with what."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from stepwell.errors import UsageError

MARK = "__stepwell_tool__"
"""Where a function decorated as a tool keeps the function itself."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the signature of a callable says. `binding` None: it has none that can be read."""

    name: str
    qualname: str
    is_async: bool
    wraps_async: bool
    """A plain function around a coroutine function, as the clients of SDKs have."""
    is_async_generator: bool
    signature: inspect.Signature | None
    receiver: str | None
    positional: str | None
    keywords: str | None
    plain: tuple[str, ...]
    """Its parameters, where each can be given by position or by name; empty where one cannot."""
    required: int
    """How many of these have no default."""


_functions: "WeakKeyDictionary[Any, Shape]" = WeakKeyDictionary()
_methods: "WeakKeyDictionary[Any, Shape]" = WeakKeyDictionary()


def undecorated(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """The call without partials and without our own decorator around it."""
    while isinstance(fn, functools.partial):
        args, kwargs = (*fn.args, *args), {**fn.keywords, **kwargs}
        fn = fn.func
    inner = getattr(fn, MARK, None)
    if inner is not None:
        receiver = getattr(fn, "__self__", None)
        fn = inner if receiver is None else MethodType(inner, receiver)
    return fn, args, kwargs


def shape_of(fn: Callable[..., Any]) -> Shape:
    """Read once for each function."""
    key, cache = (fn.__func__, _methods) if isinstance(fn, MethodType) else (fn, _functions)
    try:
        found = cache.get(key)
        if found is None:
            found = cache[key] = _read(fn)
    except TypeError:  # a callable that is unhashable or cannot be weakly referred to
        return _read(fn)
    return found


def _read(fn: Callable[..., Any]) -> Shape:
    if not callable(fn):
        raise UsageError(
            f"{fn!r:.40} is no function: a call is given as its function and arguments, run.tool(f, 1)"
        )
    called = fn if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn).__call__
    inner = inspect.unwrap(called)
    named = fn if hasattr(fn, "__name__") else type(fn)
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):  # built-in functions need not say
        signature = None
    names = list(signature.parameters.values()) if signature else []
    plain = all(p.kind is Parameter.POSITIONAL_OR_KEYWORD for p in names)
    is_method = isinstance(fn, FunctionType) and names and names[0].name in ("self", "cls")
    return Shape(
        name=getattr(named, "__name__", type(fn).__name__),
        qualname=getattr(named, "__qualname__", type(fn).__qualname__),
        is_async=inspect.iscoroutinefunction(called),
        wraps_async=inspect.iscoroutinefunction(inner),
        is_async_generator=inspect.isasyncgenfunction(called),
        signature=signature,
        receiver=names[0].name if is_method else None,
        positional=next((p.name for p in names if p.kind is Parameter.VAR_POSITIONAL), None),
        keywords=next((p.name for p in names if p.kind is Parameter.VAR_KEYWORD), None),
        plain=tuple(p.name for p in names) if plain else (),
        required=sum(p.default is Parameter.empty for p in names),
    )


def arguments(shape: Shape, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, those given only. What fits no signature is `{"args": […], "kwargs": {…}}`.

    A method's own object is left out; keywords that the signature does not name stand beside the others.
    """
    if shape.signature is None:
        return {"args": list(args), "kwargs": dict(kwargs)}
    if not kwargs and shape.required <= len(args) <= len(shape.plain):
        bound = dict(zip(shape.plain, args, strict=False))
    else:
        try:
            bound = shape.signature.bind(*args, **kwargs).arguments
        except TypeError:  # the call will raise the same, and is recorded with it
            return {"args": list(args), "kwargs": dict(kwargs)}
    if shape.receiver is not None:
        bound.pop(shape.receiver, None)
    if shape.positional in bound:
        bound[shape.positional] = list(bound[shape.positional])
    if shape.keywords in bound:
        more = bound.pop(shape.keywords)
        bound.update({shape.keywords: more} if bound.keys() & more.keys() else more)
    return bound


def model_of(given: Mapping[str, Any], shape: Shape) -> str:
    """The model that a call names, else the function."""
    model = given.get("model")
    return model if isinstance(model, str) and model else shape.qualname
