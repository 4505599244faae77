"""Names that the user's own modules have taken from another, as `from time import sleep` does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from stepwell.rerun.places import libraries


@contextmanager
def replaced(functions: Mapping[Any, Any]) -> Iterator[None]:
    """As long as this lasts, such names lead to other functions. `functions` go by those that they replace.

    Only names of modules: a default argument or a class keeps what it has. A module that is loaded meanwhile, and so
    has the other functions, has the real ones in the end.
    """
    _swap({id(real): other for real, other in functions.items()})
    try:
        yield
    finally:
        _swap({id(other): real for real, other in functions.items()})


def _swap(functions: Mapping[int, Any]) -> None:
    """`functions` by the ids of those that they replace."""
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, ModuleType) else {}
        if is_users(names.get("__file__")):
            names.update(
                {name: functions[id(value)] for name, value in list(names.items()) if id(value) in functions}
            )


def is_users(file: object) -> bool:
    """Whether what a module says of its file is one of the user's own."""
    return isinstance(file, str) and not file.startswith(libraries())
