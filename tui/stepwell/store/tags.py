"""Runs by their tags."""

from collections.abc import Mapping

import psycopg
from psycopg.types.json import Jsonb

from stepwell.store.queries import query


def any_ended(connection: psycopg.Connection, tags: Mapping[str, object]) -> bool:
    """Whether a run with all these tags has come to its end, good or bad."""
    row = connection.execute(query("find_tagged_run"), {"tags": Jsonb(tags)}).fetchone()
    return row is not None
