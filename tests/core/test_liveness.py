"""The key of a run's lock is what Postgres makes of the id's first eight bytes."""

from uuid import UUID

import psycopg

from stepwell.core.liveness import lock_key


def test_the_key_is_a_signed_bigint_of_the_first_eight_bytes() -> None:
    assert lock_key(UUID(int=1 << 64)) == 1
    assert lock_key(UUID(int=(1 << 128) - 1)) == -1


def test_a_reader_finds_the_key_in_pg_locks(server: str) -> None:
    run_id = UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
    with psycopg.connect(server) as connection:
        connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_key(run_id),))
        found = connection.execute(
            "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks"
            " WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        ).fetchone()
    assert found == (lock_key(run_id),)
