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
from stepwell.rerun.imported import is_users

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

    Else, and unless `__main__` has them, of another of the user's modules that has them all: an agent may be a
    `lambda` around it. For one replay at a time: `__main__` and the names of classes are there once in a process.
    """
    before = sys.modules.get(MAIN)
    paths = [] if module is before else _paths(recorded)
    home = _home(module, before, paths) if paths else None
    if before is None or home is None or home is before:
        yield
        return
    named = _own(home, paths)
    _call(named, MAIN)
    sys.modules[MAIN] = home
    try:
        yield
    finally:
        sys.modules[MAIN] = before
        _call(named, home.__name__)


def _home(module: ModuleType | None, main: ModuleType | None, paths: list[str]) -> ModuleType | None:
    for each in (module, main):
        if each is not None and _own(each, paths):
            return each
    loaded = (each for each in list(sys.modules.values()) if isinstance(each, ModuleType))
    users = (each for each in loaded if is_users(vars(each).get("__file__")))
    return next((each for each in users if len(_own(each, paths)) == len(paths)), None)


def _call(named: list[Any], module: str) -> None:
    for each in named:
        each.__module__ = module
    references.forget()


def _paths(recorded: RecordedRun) -> list[str]:
    """What the run names as `__main__`'s."""
    texts = (text for text in _texts(recorded) if MAIN in text)
    return [*dict.fromkeys(name for text in texts for name in _NAME.findall(text))]


def _own(module: ModuleType, paths: list[str]) -> list[Any]:
    """Which of these are classes and functions of the module's own."""
    found = (_at(module, path) for path in paths)
    return [
        each for each in found if isinstance(each, type | FunctionType) and each.__module__ == module.__name__
    ]


def _at(module: ModuleType, path: str) -> Any:
    first, *inner = path.split(".")
    found = vars(module).get(first)  # a module that loads its names late is not to do so for this
    for part in inner:
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
