"""A recorded run of which two tables were watched meanwhile: orders and stock of a lamp shop."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
from psycopg import sql

from stepwell.store.watching import watch
from tests.app.recorded import ATTACK, Json, Script
from tests.store.rows import run_id

WATCHED = run_id(0x5A1E0000)
REFUND, SYNC, BULK, HOSTILE, BARE, DOUBT = range(2, 8)
"""Numbers of its steps; at step 1 nothing changed."""
MANY = 1_250
"""Orders, of which the step BULK changes each."""
LONG = "0123456789" * 100_000


def connect(dsn: str, name: str) -> psycopg.Connection:
    return psycopg.connect(dsn, autocommit=True, application_name=name)


def fill(dsn: str) -> UUID:
    """Seven steps, the last one in doubt, the one before without snapshots."""
    script = Script(WATCHED)
    with connect(dsn, "shop-agent") as agent, connect(dsn, "warehouse-sync") as other:
        _make(agent)
        with _step(script, agent, "look", {"order": 8841}):
            pass
        with _step(script, agent, "refund", {"order": 8841}, own=True):
            agent.execute("UPDATE orders SET status = 'refunded', total = 0 WHERE id = 8841")
            other.execute("UPDATE stock SET held = held + 1 WHERE item = 'lamp'")
        with _step(script, agent, "sync", {}):
            other.execute("INSERT INTO orders VALUES (9001, '漢字', 'new', 12.50, NULL)")
            other.execute("DELETE FROM orders WHERE id = 17")
        with _step(script, agent, "bulk", {}):
            agent.execute("UPDATE orders SET total = total + 1 WHERE id <> 9001")
        with _step(script, agent, "hostile", {}):
            agent.execute("INSERT INTO stock VALUES (%s, 1, %s)", (ATTACK, ATTACK))
            agent.execute("UPDATE stock SET note = %s WHERE item = 'desk'", (LONG + "y",))
        script.step("tool_call", "bare", {}, 1)
        script.step("tool_call", "send", {}, **_instant(agent, "before", own=False))
        server = _server(agent)
    script.write(dsn, name="lamp-refunds", status="running", finished_at=None, **server)
    return WATCHED


def _make(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, item text, status text, total numeric(9,2), note text)"
    )
    connection.execute("CREATE TABLE stock (item text PRIMARY KEY, held int NOT NULL, note text)")
    connection.execute(
        "INSERT INTO orders SELECT n, 'lamp ' || n, 'new', 41.5 FROM generate_series(1, %s) n", (MANY - 1,)
    )
    connection.execute("INSERT INTO orders VALUES (8841, 'lamp', 'new', 41.5)")
    connection.execute("INSERT INTO stock VALUES ('lamp', 3, NULL), ('desk', 8, %s)", (LONG + "x",))
    for name in ("orders", "stock"):
        watch(connection, name)


@contextmanager
def _step(
    script: Script, connection: psycopg.Connection, name: str, given: Json, *, own: bool = False
) -> Iterator[None]:
    """A finished step around what is done within; `own`: its instants are of the agent's own connection."""
    before = _instant(connection, "before", own=own)
    yield
    after = _instant(connection, "after", own=own)
    script.step("tool_call", name, given, "ok", **{**before, **after})


def _instant(connection: psycopg.Connection, when: str, *, own: bool) -> Json:
    row = connection.execute(
        "SELECT pg_current_snapshot()::text, (SELECT last_value FROM stepwell_log.position), pg_backend_pid()"
    ).fetchone()
    assert row is not None
    snapshot, position, backend = row
    return {f"snapshot_{when}": snapshot} | (
        {f"position_{when}": position, "backend": backend} if own else {}
    )


def _server(connection: psycopg.Connection) -> Json:
    row = connection.execute(
        "SELECT system_identifier, timeline_id FROM pg_control_system(), pg_control_checkpoint()"
    ).fetchone()
    assert row is not None
    return {"system_identifier": row[0], "timeline": row[1]}


@contextmanager
def locked(dsn: str, table: str) -> Iterator[None]:
    """Nobody else reads the table meanwhile."""
    with psycopg.connect(dsn, application_name="migration") as connection:
        connection.execute(sql.SQL("LOCK TABLE {}").format(sql.Identifier(table)))
        yield
        connection.rollback()
