"""Tests that count the numbers of transactions keep autovacuum, which takes some, from running beside them."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.store.conftest import wait_until

_AT_WORK = "SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"


@contextmanager
def held_off(superuser: str) -> Iterator[None]:
    """In the whole server of this conninfo; returns once what had begun has ended."""
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET autovacuum = off")
        connection.execute("SELECT pg_reload_conf()")
        try:
            wait_until(lambda: connection.execute(_AT_WORK).fetchone() is None)
            yield
        finally:
            connection.execute("ALTER SYSTEM RESET autovacuum")
            connection.execute("SELECT pg_reload_conf()")
