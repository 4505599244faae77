"""The heads of a run's steps, read as columns."""

import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from operator import eq
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from stepwell.core.columns import Ints, Texts
from stepwell.core.heads import EPOCH, Heads
from stepwell.store.branches import steps_query

_BITS = (
    "output", "agent", "name", "error", "parent", "started", "finished", "created", "call_hash",
    "seed", "finished_order", "tokens_in", "tokens_out", "finish_reason",
)  # fmt: skip
"""Of what each bit of `known` tells whether it is there, from the lowest on."""
_UNIX_EPOCH = int(EPOCH.timestamp())
_EVERYTHING = -(2**31) - 1
"""Below every step number."""


def read_heads(
    connection: psycopg.Connection,
    run_id: UUID,
    *,
    after: int | None = None,
    numbers: Sequence[int] = (),
    unfinished: Sequence[int] = (),
    limit: int | None = None,
    details: bool = True,
) -> Heads:
    """Heads of the steps after step `after`, of those in `numbers`, and of what of `unfinished` has finished.

    In order; at most `limit`. Without `details` they have no seed, no tokens, no finishing order, no finish
    reason, and no time of creation where they have one of their start.
    """
    parameters = {
        "after": _EVERYTHING if after is None else after,
        "numbers": list(numbers),
        "unfinished": list(unfinished),
        "details": details,
        "limit": limit,
    }
    found = _read(connection, run_id, parameters | {"repeated": limit is not None})
    if limit is None and any(map(eq, found.numbers, memoryview(found.numbers)[1:])):
        return _read(connection, run_id, parameters | {"repeated": True})
    return found


def _read(connection: psycopg.Connection, run_id: UUID, parameters: Mapping[str, object]) -> Heads:
    statement = steps_query("read_heads", run_id)
    with connection.cursor(binary=True, row_factory=namedtuple_row) as cursor:
        row = cursor.execute(statement, {"run_id": run_id, **parameters}, prepare=False).fetchone()
    assert row is not None
    return _heads(row._asdict())


def _heads(row: dict[str, bytes | None]) -> Heads:
    masks = row["known"] or b""
    low, high = masks[1::2], masks[::2]
    every = b"\1" * len(low)

    def mask(name: str) -> bytes:
        place = _BITS.index(name)
        half = low if place < 8 else high
        return half.translate(bytes([byte >> place % 8 & 1 for byte in range(256)]))

    def ints(name: str) -> Ints:
        return Ints.placed(_array("q", row[name]), every if name == "number" else mask(name))

    def texts(name: str) -> Texts:
        values = row[name]
        known = every if name == "type" else mask(name)
        # Without a text there is no value; with one, it is empty where that text is.
        return Texts.placed([] if values is None else values.split(b"\0"), known)

    seconds, known = _array("d", row["created"]), mask("created")
    return Heads(
        number=ints("number"),
        type=texts("type"),
        output=mask("output"),
        created=Ints.placed(array("q", map(_microseconds, seconds)), known),
        seed=texts("seed"),
        agent=texts("agent"),
        name=texts("name"),
        parent=ints("parent"),
        started=ints("started"),
        finished=ints("finished"),
        finished_order=ints("finished_order"),
        error=texts("error"),
        tokens_in=ints("tokens_in"),
        tokens_out=ints("tokens_out"),
        finish_reason=texts("finish_reason"),
        call_hash=ints("call_hash"),
    )


def _array(kind: str, data: bytes | None) -> "array[int]":
    found: array[int] = array(kind, data or b"")
    if sys.byteorder == "little":
        found.byteswap()
    return found


def _microseconds(seconds: float) -> int:
    """Since EPOCH, of seconds since 1970; an infinite time stays one that no datetime can be."""
    if math.isinf(seconds):
        return 2**63 - 1 if seconds > 0 else -(2**63)
    return round((seconds - _UNIX_EPOCH) * 1_000_000)
