"""The connection of a replay that has no tables: an agent may hand it on to its tools, and do nothing else with it."""

from __future__ import annotations

from typing import Any

import psycopg

from stepwell.rerun.connections import is_awaited
from stepwell.rerun.stops import Refused

_OWN = frozenset({"__class__", "__module__", "__qualname__"})


class _Tableless:
    """Before a class of connections, as which it counts."""

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        raise Refused(
            "run.connection: a recording in a file holds no tables, so it can be given to tools, and not be used;"
            " wrap reads in run.tool, or replay the run on its database: stepwell.replay"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__} without tables>"

    def __del__(self, *_: object) -> None:
        """There is nothing to be closed."""


class _Connection(_Tableless, psycopg.Connection[Any]):
    __module__, __qualname__ = psycopg.Connection.__module__, psycopg.Connection.__qualname__


class _AsyncConnection(_Tableless, psycopg.AsyncConnection[Any]):
    __module__, __qualname__ = psycopg.AsyncConnection.__module__, psycopg.AsyncConnection.__qualname__


def tableless() -> Any:
    """One to be awaited where a loop runs. Whatever uses it raises Refused."""
    kind = _AsyncConnection if is_awaited(None) else _Connection
    return object.__new__(kind)
