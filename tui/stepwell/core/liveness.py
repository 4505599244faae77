"""How a reader sees that a run's recorder lives."""

from uuid import UUID


def lock_key(run_id: UUID) -> int:
    """The key of the advisory lock that a recorder holds, shared, for each run that it has open.

    The first eight bytes of the id as a signed big-endian integer: what Postgres calls a bigint.
    """
    return int.from_bytes(run_id.bytes[:8], "big", signed=True)
