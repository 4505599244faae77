"""Objects of classes that an import finds again: enums, models, exceptions, subclasses, and classes as such.

What was made by a class is made again without calling its `__init__`: the recorded fields are the whole
truth, and an initialiser may check, convert or act.
"""

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from enum import Enum, Flag
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

from stepwell.core.codec.foreign import said
from stepwell.core.codec.parts import Make, Nesting, Parts, Rebuilding, Take, UnsupportedError
from stepwell.core.codec.references import Reference, find, reference, type_name
from stepwell.core.codec.text import clean

# How to get from an instance of a subclass to its content as the base type, past any overridden method.
_BASES: dict[type, Callable[[Any], object]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda value: bytes(memoryview(value)),
    bytearray: lambda value: bytearray(memoryview(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    dict: lambda value: dict((OrderedDict if isinstance(value, OrderedDict) else dict).items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}
_BASE_NAMES = {kind.__name__: kind for kind in _BASES}


@lru_cache(maxsize=1024)
def take_for(kind: type) -> Take | None:
    """How to take apart instances of a class that is not itself one of the codec's own types."""
    if issubclass(kind, Enum):
        return _take_enum
    if issubclass(kind, type | FunctionType | BuiltinFunctionType):
        return _take_named
    if issubclass(kind, BaseException):
        return _take_exception
    if hasattr(kind, "__pydantic_fields_set__") and hasattr(kind, "model_fields"):
        return _take_model
    base = next((base for base in _BASES if issubclass(kind, base)), None)
    if dataclasses.is_dataclass(kind) and base is None:
        return _take_dataclass
    if base is tuple and hasattr(kind, "_fields"):
        return _take_namedtuple
    if kind is defaultdict:
        return _take_defaultdict
    return None if base is None or issubclass(kind, defaultdict) else _take_subclass


def _state(value: object) -> dict[str, object]:
    """The attributes of an instance: those of its `__dict__` and of its classes' `__slots__`."""
    state = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = (
                f"_{kind.__name__.lstrip('_')}{slot}" if slot.startswith("__") and slot[-2:] != "__" else slot
            )
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                state[name] = getattr(value, name)
    return state


def _set_state(made: object, state: dict[str, object]) -> None:
    for name, item in state.items():
        object.__setattr__(made, name, item)


def _expect(ref: Reference, check: bool, what: str) -> None:
    if not check:
        raise TypeError(f"{type_name(ref)} {what}")


# -- enums, and classes and functions that are values themselves --


def _take_enum(value: Enum, _: Nesting) -> Parts:
    ref, found = reference(type(value))
    if not clean(value.name or ""):
        raise UnsupportedError("its name cannot be stored")
    if isinstance(value, Flag):
        return Parts(value.value, ("flag", ref), None, not found)
    shown = value.value if type(value.value) in (str, int) else value.name
    return Parts(shown, ("enum", ref, value.name), None, not found)


def _make_enum(_: Any, head: list[Any], *__: object) -> object:
    return find(head[0])[head[1]]


def _make_flag(base: Any, head: list[Any], *_: object) -> object:
    kind = find(head[0])
    _expect(head[0], issubclass(kind, Flag), "is no longer a flag")
    return kind(base)


def _take_named(value: Any, _: Nesting) -> Parts:
    ref, found = reference(value)
    if not found or not isinstance(ref, str):
        raise UnsupportedError("no import reaches it")
    return Parts(ref, ("ref",))


# -- exceptions --

_BESIDE: dict[type[BaseException], tuple[str, ...]] = {
    OSError: ("filename", "filename2"),
    ImportError: ("name", "path"),
    NameError: ("name",),
    AttributeError: ("name",),
}
"""What Python's own exceptions hold neither among their arguments nor as an instance holds its attributes."""


def _take_exception(value: BaseException, context: Nesting) -> Parts:
    ref, found = reference(type(value))
    base = {"type": type_name(ref), "message": said(value, str), "args": list(value.args)}
    names = [name for kind, more in _BESIDE.items() if isinstance(value, kind) for name in more]
    beside = {name: getattr(value, name) for name in names}
    state = {**{name: item for name, item in beside.items() if item is not None}, **_state(value)}
    return Parts(base, ("exception", ref), context.nested(state) if state else None, not found)


def _make_exception(base: Any, head: list[Any], arg: Any, context: Rebuilding) -> object:
    kind = find(head[0])
    _expect(head[0], issubclass(kind, BaseException), "is no longer an exception")
    if kind.__module__ == "builtins":
        made = kind(*base["args"])
    else:
        made = kind.__new__(kind, *base["args"])
        made.args = tuple(base["args"])
    _set_state(made, context.nested(arg) if arg else {})
    return made


# -- dataclasses and models --


def _take_dataclass(value: Any, _: Nesting) -> Parts:
    ref, found = reference(type(value))
    names = [item.name for item in dataclasses.fields(value) if hasattr(value, item.name)]
    fields = {name: getattr(value, name) for name in names}
    return Parts({**fields, **_state(value)}, ("dataclass", ref), None, not found)


def _make_dataclass(base: Any, head: list[Any], *_: object) -> object:
    kind = find(head[0])
    _expect(head[0], dataclasses.is_dataclass(kind), "is no longer a dataclass")
    for item in dataclasses.fields(kind):
        _expect(head[0], item.name in base or hasattr(kind, item.name), f"now has a field {item.name}")
    made = object.__new__(kind)
    _set_state(made, base)
    return made


def _take_model(value: Any, context: Nesting) -> Parts:
    """A pydantic model: fields and extra fields are the base; the head keeps which were given."""
    ref, found = reference(type(value))
    fields: dict[str, object] = value.__dict__
    extra: dict[str, object] | None = getattr(value, "__pydantic_extra__", None)
    private: dict[str, object] | None = getattr(value, "__pydantic_private__", None)
    base = {**fields, **(extra or {})}
    if len(base) != len(fields) + len(extra or ()):
        raise UnsupportedError("a field and an extra field have the same name")
    given: set[str] = value.__pydantic_fields_set__
    head = (
        "model",
        ref,
        None if extra is None else context.names(extra),
        context.names(base.keys() - given),
        context.names(given - base.keys()),
    )
    return Parts(base, head, None if private is None else context.nested(private), not found)


def _make_model(base: Any, head: list[Any], arg: Any, context: Rebuilding) -> object:
    kind = find(head[0])
    _expect(head[0], hasattr(kind, "__pydantic_fields_set__"), "is no longer a model")
    extra_names = None if head[1] is None else set(context.names(head[1]))
    fields = {name: item for name, item in base.items() if not extra_names or name not in extra_names}
    for name in fields:
        # Clients put names of their own, such as `_request_id`, beside the fields.
        known = name in kind.model_fields or hasattr(kind, name) or name.startswith("_")
        _expect(head[0], known, f"no longer has a field {name}")
    given = (base.keys() - context.names(head[2])) | set(context.names(head[3]))
    made = kind.__new__(kind)
    object.__setattr__(made, "__dict__", fields)
    object.__setattr__(made, "__pydantic_fields_set__", given)
    extra = (
        None if extra_names is None else {name: item for name, item in base.items() if name in extra_names}
    )
    object.__setattr__(made, "__pydantic_extra__", extra)
    object.__setattr__(made, "__pydantic_private__", None if arg is None else context.nested(arg))
    return made


# -- subclasses of the basic types --


def _take_namedtuple(value: Any, context: Nesting) -> Parts:
    ref, found = reference(type(value))
    state = _state(value)
    base = dict(zip(value._fields, tuple.__iter__(value), strict=True))
    return Parts(base, ("namedtuple", ref), context.nested(state) if state else None, not found)


def _make_namedtuple(base: Any, head: list[Any], arg: Any, context: Rebuilding) -> object:
    kind = find(head[0])
    _expect(head[0], set(kind._fields) == base.keys(), "now has other fields")
    made: object = tuple.__new__(kind, [base[name] for name in kind._fields])
    _set_state(made, context.nested(arg) if arg else {})
    return made


def _take_defaultdict(value: defaultdict[object, object], _: Nesting) -> Parts:
    if value.default_factory is None:
        return Parts(dict(value), ("defaultdict", None))
    ref, found = reference(value.default_factory)
    return Parts(dict(value), ("defaultdict", ref), None, not found)


def _make_defaultdict(base: Any, head: list[Any], *_: object) -> object:
    return defaultdict(None if head[0] is None else find(head[0]), base)


def _take_subclass(value: Any, context: Nesting) -> Parts:
    kind = type(value)
    base_kind = next(base for base in _BASES if issubclass(kind, base))
    ref, found = reference(kind)
    base = _BASES[base_kind](value)
    state = _state(value)
    if type(_with_content(kind, base_kind, base)) is not kind:
        raise UnsupportedError("its class makes instances of another")
    head = ("subclass", ref, base_kind.__name__)
    return Parts(base, head, context.nested(state) if state else None, not found)


def _make_subclass(base: Any, head: list[Any], arg: Any, context: Rebuilding) -> object:
    kind, base_kind = find(head[0]), _BASE_NAMES[head[1]]
    _expect(head[0], issubclass(kind, base_kind), f"is no longer a {head[1]}")
    made = _with_content(kind, base_kind, base)
    _set_state(made, context.nested(arg) if arg else {})
    return made


def _with_content(kind: Any, base_kind: Any, content: Any) -> object:
    fill = _FILL.get(base_kind)
    if fill is not None:
        made = base_kind.__new__(kind)
        fill(made, content)
        return made
    try:
        return base_kind.__new__(kind, content)
    except TypeError:  # types written in C refuse a base's __new__
        return kind(content)


def _fill_dict(made: dict[object, object], content: dict[object, object]) -> None:
    # An OrderedDict keeps its order beside the dict's own.
    set_item = OrderedDict.__setitem__ if isinstance(made, OrderedDict) else dict.__setitem__
    for key, item in content.items():
        set_item(made, key, item)


_FILL: dict[type, Callable[[Any, Any], object]] = {
    list: list.extend,
    set: set.update,
    bytearray: bytearray.extend,
    dict: _fill_dict,
}

WITH_STATE = ("exception", "model", "namedtuple", "subclass")
"""Codes of heads whose argument is what an instance holds beside its base, encoded by itself."""

MAKE: dict[str, Make] = {
    "enum": _make_enum,
    "flag": _make_flag,
    "ref": lambda base, *_: find(base),
    "exception": _make_exception,
    "dataclass": _make_dataclass,
    "model": _make_model,
    "namedtuple": _make_namedtuple,
    "defaultdict": _make_defaultdict,
    "subclass": _make_subclass,
}
