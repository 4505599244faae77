"""Runs by their tags."""

import psycopg

from stepwell.store.queries import query


def tagged(connection: psycopg.Connection, tag: str) -> bool:
    """Whether any run has this tag."""
    row = connection.execute(query("find_tagged_run"), {"tag": tag}).fetchone()
    return row is not None
