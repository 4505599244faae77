"""Names that the user's own modules have taken from another, as `from time import sleep` does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from stepwell.rerun.places import libraries


@contextmanager
def replaced(functions: Mapping[int, Any]) -> Iterator[None]:
    """As long as this lasts, such names lead to other functions. `functions` go by the ids of those that they replace.

    Only names of modules, and only of those that are loaded: a default argument or a class keeps what it has.
    """
    done: list[tuple[dict[str, Any], str, Any]] = []
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, ModuleType) else {}
        if _is_users(names.get("__file__")):
            done += [(names, name, value) for name, value in list(names.items()) if id(value) in functions]
    for names, name, value in done:
        names[name] = functions[id(value)]
    try:
        yield
    finally:
        for names, name, value in done:
            names[name] = value


@cache
def _folders() -> tuple[str, ...]:
    return tuple(libraries())


def _is_users(file: object) -> bool:
    return isinstance(file, str) and not file.startswith(_folders())
