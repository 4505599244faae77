"""What is examined."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from stepwell.store.bounded import glance
from stepwell.store.connect import Target, connect
from stepwell.store.queries import query


@dataclass(frozen=True)
class Patient:
    """A database, by an open connection in autocommit and by how to open another."""

    target: Target
    connection: psycopg.Connection[Any]

    def ask(self, name: str, values: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        """The rows of a query, from a small read-only transaction of its own. Raises what psycopg raises."""

        def read(connection: psycopg.Connection) -> list[dict[str, Any]]:
            with connection.cursor(row_factory=dict_row) as cursor:
                return cursor.execute(query(name), values, prepare=False).fetchall()

        return glance(self.connection, read)

    def another(self) -> psycopg.Connection:
        """A second connection. Raises DatabaseError."""
        return connect(self.target)
