"""Which server a recorder writes to, as far as its role may know."""

from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import Connection

from stepwell.core.past import Origin
from stepwell.store.pooled import is_pooled
from stepwell.store.queries import query

_known: "WeakKeyDictionary[Connection[Any], Origin | None]" = WeakKeyDictionary()
"""Connections whose role may ask, and what was found; None on a standby."""


def learn_origin(connection: Connection[Any]) -> None:
    """Find out which server this is; the role is known to be allowed to ask."""
    _known[connection] = _read(connection)


def origin_of(connection: Connection[Any]) -> Origin | None:
    """The server at the other end; None where the role may not know. Behind a pooler that may change."""
    if connection not in _known:
        return None
    if is_pooled(connection) or _known[connection] is None:
        learn_origin(connection)
    return _known[connection]


def columns_of(connection: Connection[Any]) -> dict[str, int | None]:
    """The same as parameters of the statements that begin a run."""
    origin = origin_of(connection)
    if origin is None:
        return {"system": None, "timeline": None}
    return {"system": origin.system, "timeline": origin.timeline}


def _read(connection: Connection[Any]) -> Origin | None:
    with suppress(psycopg.Error):  # a server may refuse for reasons of its own; a run can do without
        row = connection.execute(query("read_server")).fetchone()
        if row is not None and None not in row:
            return Origin(*row)
    return None
