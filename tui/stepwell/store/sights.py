"""What the agent's own connection sees, asked over it between two statements of the agent's.

It is left as it is found. In a transaction the question is one more statement of it; outside one it is a transaction of
its own, though the connection be not in autocommit, since it goes past psycopg, which would begin one for it.
"""

from typing import Any

from psycopg import AsyncConnection, Connection, generators
from psycopg.pq import ConnStatus, ExecStatus, PipelineStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from stepwell.store.queries import query

AgentConnection = Connection[Any] | AsyncConnection[Any]


def status_of(connection: AgentConnection) -> TransactionStatus | None:
    """IDLE or INTRANS; None where nothing can be asked: closed, failed, in a pipeline, or amid a query or COPY."""
    pgconn = connection.pgconn
    if pgconn.status != ConnStatus.OK or pgconn.pipeline_status != PipelineStatus.OFF:
        return None
    status = TransactionStatus(pgconn.transaction_status)
    return status if status in (TransactionStatus.IDLE, TransactionStatus.INTRANS) else None


def read_sight(connection: Connection[Any]) -> str | None:
    """What the connection sees now, as `Start.seen` and `Finish.seen` take it; None where it cannot be told.

    For who holds the connection's lock and knows its status. Raises what psycopg raises where it is lost.
    """
    _send(connection.pgconn)
    return _sight(connection.pgconn, connection.wait(generators.execute(connection.pgconn)))


async def read_sight_async(connection: AsyncConnection[Any]) -> str | None:
    """The same for tasks."""
    _send(connection.pgconn)
    return _sight(connection.pgconn, await connection.wait(generators.execute(connection.pgconn)))


def has_begun(connection: Connection[Any], backend: int) -> bool:
    """Whether the transaction that `backend` has open has had its first query, as far as another connection can tell.

    Before that its isolation level may still be changed, and its snapshot is still to be taken.
    """
    row = connection.execute(query("read_transaction"), {"pid": backend}, prepare=False).fetchone()
    return row is not None and bool(row[0])


def _send(pgconn: PGconn) -> None:
    pgconn.send_query_params(query("read_sight"), None)


def _sight(pgconn: PGconn, results: list[PGresult]) -> str | None:
    result = results[-1]
    if result.status != ExecStatus.TUPLES_OK:
        return None
    backend, seen = result.get_value(0, 0), result.get_value(0, 1)
    if seen is None or backend is None or int(backend) != pgconn.backend_pid:
        return None  # behind a pooler, which may give the next statement to another session
    return seen.decode()
