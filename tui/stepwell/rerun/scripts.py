"""Runs that a script recorded, whose classes are named as those of its `__main__`, replayed through its module."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from stepwell.core.codec import references
from stepwell.core.recorded import RecordedRun

MAIN = "__main__"
_NAME = re.compile(rf'"{MAIN}[:.]([\w.]+)')


def module_of(agent: Any) -> ModuleType | None:
    """The module that an agent is of, None where it is not known by its name."""
    while isinstance(agent, partial):
        agent = agent.func
    return sys.modules.get(getattr(agent, "__module__", None) or "")


@contextmanager
def as_main(module: ModuleType | None, recorded: RecordedRun) -> Iterator[None]:
    """As long as this lasts, what a run names as `__main__`'s is that of the module, where it has such things.

    For one replay at a time: `__main__` and the names that classes go by are there once in a process.
    """
    before = sys.modules.get(MAIN)
    named = [] if module is None or module is before else _named(module, recorded)
    if module is None or before is None or not named:
        yield
        return
    _call(named, MAIN)
    sys.modules[MAIN] = module
    try:
        yield
    finally:
        sys.modules[MAIN] = before
        _call(named, module.__name__)


def _call(named: list[Any], module: str) -> None:
    for each in named:
        each.__module__ = module
    references.forget()


def _named(module: ModuleType, recorded: RecordedRun) -> list[Any]:
    """The module's own classes and functions that the run names as `__main__`'s."""
    paths = dict.fromkeys(name for text in _texts(recorded) for name in _NAME.findall(text))
    found = (_at(module, path) for path in paths)
    return [
        each for each in found if isinstance(each, type | FunctionType) and each.__module__ == module.__name__
    ]


def _at(module: ModuleType, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _texts(recorded: RecordedRun) -> Iterator[str]:
    """Where a run may name them."""
    for step in recorded.steps:
        payload = step.payload
        yield from _of_value(payload.input, payload.input_exact)
        yield from _of_value(payload.output, payload.output_exact)
        yield payload.error or ""
    yield from _of_value(recorded.result, recorded.result_exact)
    yield f'"{recorded.head.error or ""}'


def _of_value(plain: str | None, exact: str | None) -> Iterator[str]:
    """What is a class or a function itself has its name in the plain text."""
    if exact is not None:
        yield exact
        if '"ref"' in exact:
            yield plain or ""
