"""How a reader sees that a run's recorder lives."""

from uuid import UUID

HEARTBEAT_SECONDS = 1.0
"""How often a recorder behind a pooler, which can hold no lock, sets `heartbeat` of the runs that it has open."""
ALIVE_SECONDS = 5.0
"""A run is alive while somebody holds its lock, or while its heartbeat is not older than this by the server's clock.

This is the one place that says so; the queries get it as `patience`. A run without a heartbeat is told by its lock.
"""
GLANCE_SECONDS = 0.5
"""How often a reader that shows a running run looks whether it still is."""


def lock_key(run_id: UUID) -> int:
    """The key of the advisory lock that a recorder holds, shared, for each run that it has open.

    The first eight bytes of the id as a signed big-endian integer: what Postgres calls a bigint.
    """
    return int.from_bytes(run_id.bytes[:8], "big", signed=True)
