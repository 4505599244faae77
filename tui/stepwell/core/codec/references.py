"""Naming a class so that it can be found again: `module:qualified.name`, generics as (origin, arguments…)."""

import importlib
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from stepwell.core.codec.text import clean

Reference = str | Sequence[Any]


class UnreachableError(LookupError):
    """A reference that leads nowhere; its text is the reason."""


def reference(target: Any) -> tuple[Reference, bool]:
    """The reference to a class or function, and whether following it leads back to that very object."""
    try:
        return _known(target)
    except TypeError:  # its metaclass makes it unhashable
        return _refer(target)


def _refer(target: Any) -> tuple[Reference, bool]:
    ref = _describe(target)
    try:
        return ref, find(ref, load=False) is target
    except LookupError:
        return ref, False


_known = lru_cache(maxsize=1024)(_refer)


def forget() -> None:
    """Work all references out anew, where classes go by other names from now on."""
    _known.cache_clear()


def _describe(target: Any) -> Reference:
    generic = getattr(target, "__dict__", {}).get("__pydantic_generic_metadata__")
    if generic and generic["args"]:
        return (_describe(generic["origin"]), *map(_describe, generic["args"]))
    if target is type(None):
        return "types:NoneType"
    module = getattr(target, "__module__", None) or "builtins"
    name = f"{module}:{getattr(target, '__qualname__', None) or repr(target)}"
    return name if clean(name) else name.encode("ascii", "backslashreplace").decode().replace("\0", "\\0")


def type_name(ref: Reference) -> str:
    """A reference for people: `module.Name[module.Other]`."""
    if isinstance(ref, str):
        module, _, name = ref.partition(":")
        return name if module == "builtins" else f"{module}.{name}"
    return f"{type_name(ref[0])}[{', '.join(map(type_name, ref[1:]))}]"


def find(ref: Reference, *, load: bool = True) -> Any:
    """What the reference names. Imports its module if `load`; raises UnreachableError."""
    if not isinstance(ref, str):
        arguments = tuple(find(part, load=load) for part in ref[1:])
        try:
            return find(ref[0], load=load)[arguments[0] if len(arguments) == 1 else arguments]
        except TypeError as error:
            raise UnreachableError(f"{type_name(ref)} cannot be made: {error}") from error
    module, _, path = ref.partition(":")
    if "<locals>" in path:
        raise UnreachableError(f"{type_name(ref)} is defined inside a function, where no import reaches it")
    found: Any = _module(module) if load else sys.modules.get(module)
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except (AttributeError, ImportError):  # a module that loads its names late may fail to import one
            raise UnreachableError(f"{module} has no {path}") from None
    return found


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:  # importing runs foreign code, which may raise anything
        raise UnreachableError(f"cannot import {name}: {type(error).__name__}: {error}") from error
