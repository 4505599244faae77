"""The agent by its name, `package.module:callable`, and in one line why it cannot be had."""

from __future__ import annotations

import difflib
import importlib
import keyword
import os
import re
import shlex
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from stepwell.errors import UsageError
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.push import check
from stepwell.rerun.surroundings import why

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def check_name(name: str) -> None:
    """Raises UsageError for what is no `package.module:callable`."""
    file, _, callable_ = name.partition(":")
    if file.endswith(".py"):
        path = Path(os.path.relpath(file)).with_suffix("")
        is_beneath = ".." not in path.parts and not os.path.isabs(file)
        there = os.path.dirname(os.path.abspath(file))
        module = ".".join(path.parts) if is_beneath else path.name
        first = "" if is_beneath or there == os.getcwd() else f"cd {shlex.quote(there)}, and "
        raise UsageError(
            f"an agent is named by its module, not by a file: {first}{module}:{callable_ or 'main'}"
        )
    if not _NAME.fullmatch(name) or any(map(keyword.iskeyword, re.split("[.:]", name))):
        raise UsageError(f"an agent reads package.module:callable, not {name!a}")


def find_agent(name: str) -> Any:
    """Import its module. Raises UsageError in one line, whatever the module does."""
    module_name, _, path = name.partition(":")
    found: Any = _import(module_name)
    so_far = module_name
    for part in path.split("."):
        if not hasattr(found, part):
            close = difflib.get_close_matches(part, [word for word in dir(found) if word[0] != "_"], 1)
            meant = f"; is it {close[0]}?" if close else ""
            raise UsageError(f"{so_far} has no {part}{meant}")
        found = getattr(found, part)
        so_far = f"{so_far}.{part}"
    check(found, name)
    return found


def is_there(module: str, folders: list[str] | None = None) -> bool:
    """Whether a module is in these folders, or where this Python looks. Imports nothing."""
    root, *inner = module.split(".")
    try:
        spec = find_spec(root) if folders is None else PathFinder.find_spec(root, folders)
    except ValueError:  # such as of `__main__`
        return False
    for part in inner:
        spec = spec and PathFinder.find_spec(part, spec.submodule_search_locations or [])
    return spec is not None


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            here = Path.cwd()
            raise UsageError(f"no module {error.name} in {here} or where {sys.executable} looks") from error
        raise UsageError(_raised(name, error)) from error
    except SyntaxError as error:
        where = f"{_from_here(error.filename)}:{error.lineno}: " if error.filename else ""
        raise UsageError(f"{where}importing {name} raised {type(error).__name__}: {error.msg}") from error
    except BaseException as error:  # of the user's own code, which may raise anything, SystemExit too
        raise UsageError(_raised(name, error)) from error


def _from_here(file: str) -> str:
    return file.removeprefix(os.path.join(os.getcwd(), ""))


def _raised(name: str, error: BaseException) -> str:
    place = Places(libraries()).of_error(error)
    where = f"{place.file}:{place.line}: " if place is not None else ""
    words = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
    missed = why(error)
    return f"{where}importing {name} raised {words}{'' if missed is None else f'; {missed}'}"
