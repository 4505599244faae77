"""A small run whose steps write to watched tables."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

import stepwell
from stepwell.core.past import Instant
from stepwell.store.watching import watch

Connection = psycopg.Connection[Any]
TABLES = ("orders", "items")
MAKE = """
CREATE TABLE orders (id int PRIMARY KEY, status text NOT NULL DEFAULT 'open', qty int DEFAULT 0);
CREATE TABLE items (number int PRIMARY KEY, name text);
CREATE SEQUENCE taken;
INSERT INTO orders (id) SELECT generate_series(1, 20);
INSERT INTO items VALUES (1, 'lamp'), (2, 'shade');
"""


@dataclass
class Recorded:
    run: UUID
    instants: list[Instant] = field(default_factory=list)
    """Before the first step, and after each."""


def record(dsn: str) -> Recorded:
    """Three steps: order 1, 2 and 3 are refunded, in this order."""
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(MAKE)
        for table in TABLES:
            watch(owner, table)

        def refund(order: int) -> int:
            owner.execute("UPDATE orders SET status = 'refunded' WHERE id = %s", (order,))
            owner.execute("INSERT INTO items VALUES (%s, 'receipt')", (order + 10,))
            return order

        with stepwell.Recorder(dsn) as recorder, recorder.run("refund") as run:
            for order in (1, 2, 3):
                run.tool(refund, order)
        rows = owner.execute(
            "SELECT snapshot_before::text, snapshot_after::text FROM agent_steps ORDER BY step_number"
        ).fetchall()
    return Recorded(run.run_id, [Instant(rows[0][0]), *(Instant(row[1]) for row in rows)])
