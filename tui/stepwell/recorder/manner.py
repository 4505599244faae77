"""How a connection of psycopg's is set: a replay hands out one that is set like it."""

from __future__ import annotations

import json

from psycopg import AsyncConnection, Connection

FACTORIES = ("row_factory", "cursor_factory", "server_cursor_factory")
_DEFAULTS = frozenset(
    {
        "psycopg.rows:tuple_row",
        *("psycopg:Cursor", "psycopg:AsyncCursor", "psycopg:ServerCursor", "psycopg:AsyncServerCursor"),
    }
)


def manner_of(connection: Connection | AsyncConnection, given: object) -> str | None:
    """As JSON: `{"autocommit": true, "row_factory": "psycopg.rows:dict_row"}`; None where all is as by default.

    `given` is what leads to it: `over` says of which class that is, where it is no connection of psycopg's itself.
    """
    found: dict[str, object] = {"autocommit": True} if connection.autocommit else {}
    if given is not connection:
        found["over"] = _place(type(given))
    for name in FACTORIES:
        place = _place(getattr(connection, name))
        if place not in _DEFAULTS:
            found[name] = place
    return json.dumps(found) if found else None


def _place(factory: object) -> str:
    kind = factory if hasattr(factory, "__qualname__") else type(factory)
    return f"{kind.__module__}:{kind.__qualname__}"
