"""Read-only transactions that the server itself ends, whatever becomes of this process or of the network."""

from collections.abc import Callable
from typing import TypeVar

import psycopg

from stepwell.store.session import UNKNOWN, Session

T = TypeVar("T")
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 1000
IDLE_TIMEOUT_MS = 10_000
"""How long the server lets a transaction stand still: this process may be stopped, or the network cut."""
CLIENT_CHECK_MS = 1000
"""How often a server that is at work looks whether this process is still there."""
CLIENT_TIMEOUT_MS = 20_000
"""How long the server tries to send to a client that does not take it."""
GLANCE_MS = 5000
SERIALIZABLE = "SERIALIZABLE READ ONLY DEFERRABLE"
REPEATABLE_READ = "REPEATABLE READ READ ONLY"


def begin(
    connection: psycopg.Connection,
    mode: str,
    session: Session = UNKNOWN,
    *,
    wait_ms: int = STATEMENT_TIMEOUT_MS,
    statement_ms: int = STATEMENT_TIMEOUT_MS,
    token: str = "",
) -> None:
    """Begin and take the snapshot, all in one round trip; psycopg's own BEGIN would be one more.

    A deferrable transaction waits inside the first statement that needs a snapshot. lock_timeout does not bound
    that, statement_timeout does, which counts anew for each statement of a message. Whatever is set is set for the
    transaction alone: a pooler lends the session to somebody else next. Narrower limits of the role's own stay.
    `token` stands in the statement as it can be read in pg_stat_activity.
    """
    local = {
        "lock_timeout": narrower(LOCK_TIMEOUT_MS, session.lock_ms),
        "idle_in_transaction_session_timeout": narrower(IDLE_TIMEOUT_MS, session.idle_ms),
        "jit": 0,  # compiling a statement takes longer than any of ours
    }
    if session.watches:
        local |= {"client_connection_check_interval": CLIENT_CHECK_MS, "tcp_user_timeout": CLIENT_TIMEOUT_MS}
    connection.execute(
        f"BEGIN{token and f' /* {token} */'} ISOLATION LEVEL {mode}; SET LOCAL statement_timeout = {wait_ms};"
        + "".join(f" SET LOCAL {name} = {value};" for name, value in local.items())
        + f" SELECT 1; SET LOCAL statement_timeout = {narrower(statement_ms, session.statement_ms)}"
    )


def glance(connection: psycopg.Connection, read: Callable[[psycopg.Connection], T]) -> T:
    """Run a small `read` in such a transaction, and roll back. Raises what psycopg raises."""
    try:
        begin(connection, REPEATABLE_READ, wait_ms=GLANCE_MS, statement_ms=GLANCE_MS)
        return read(connection)
    finally:
        if not connection.closed:
            connection.rollback()


def narrower(ours: int, theirs: int) -> int:
    """The shorter of two time-outs, of which the second may be 0 for none."""
    return min(ours, theirs) if theirs else ours
