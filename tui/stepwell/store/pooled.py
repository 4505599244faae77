"""Connections that keep nothing from one transaction to the next: behind a pooler in transaction mode.

Each transaction may be at another session of the server's, so statements are sent whole and bring their settings along,
and there are no locks of a session to tell that a recorder lives.
"""

from typing import Any
from weakref import WeakKeyDictionary

from psycopg import Connection

SETTINGS = ("durable", "lock_timeout")
Settings = tuple[object, ...]
"""A row for `sql/queries/set_transaction.sql`; empty to leave the settings as they are."""

transient: "WeakKeyDictionary[Connection[Any], Settings]" = WeakKeyDictionary()
"""Connections on which no statement is prepared, and what each transaction on them begins with."""


def is_pooled(connection: Connection[Any]) -> bool:
    """Whether the connection was found to lead to a pooler."""
    return connection in transient


def send_whole(connection: Connection[Any], settings: Settings = ()) -> None:
    """Have statements sent whole over this connection from now on, each transaction with these settings."""
    connection.prepare_threshold = None
    transient[connection] = settings
