"""Bring a database to the newest schema, once, however many start at the same time."""

from contextlib import closing
from uuid import UUID

import psycopg
from psycopg.rows import scalar_row

from stepwell.errors import DatabaseError
from stepwell.store.blockers import locker
from stepwell.store.columns import check_columns
from stepwell.store.connect import Target, connect
from stepwell.store.queries import query, schema_files

LOCK_TIMEOUT_MS = 3000


def migrate(conninfo: str) -> list[int]:
    """Apply what is missing, in one transaction; the versions applied, none when all was there.

    Raises DatabaseError where the role may not or a name is taken by something else,
    psycopg.OperationalError where nothing answers.
    """
    with psycopg.connect(conninfo, application_name="stepwell") as connection:
        return migrate_on(connection)


def migrate_on(connection: psycopg.Connection) -> list[int]:
    """The same on a connection that is not in a transaction."""
    try:
        with connection.transaction():
            connection.execute(query("lock_migrations"))
            check_columns(connection)
            there = applied(connection)
            missing = [(version, text) for version, text in schema_files() if version not in there]
            # Who waits for a lock makes all wait that come later, the recorders among them.
            connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
            for _, text in missing:
                connection.execute(text)
    except psycopg.errors.InsufficientPrivilege as problem:
        raise DatabaseError(
            f"{connection.info.user} may not create the tables in {connection.info.dbname}"
            f" ({problem.diag.message_primary}); run `stepwell init` as their owner"
        ) from problem
    except psycopg.errors.LockNotAvailable as problem:
        raise DatabaseError(
            f"the tables in {connection.info.dbname} are in use and cannot be brought up to date now"
            f" ({locker(connection) or problem.diag.message_primary}); nothing was changed: try again"
        ) from problem
    except psycopg.Error as problem:
        said = problem.diag.message_primary or str(problem).strip()
        raise DatabaseError(
            f"the tables in {connection.info.dbname} cannot be brought up to date: {said}; nothing was changed"
        ) from problem
    return [version for version, _ in missing]


def applied(connection: psycopg.Connection) -> set[int]:
    """Versions that this database has."""
    if connection.execute("SELECT to_regclass('stepwell_migrations')").fetchone() == (None,):
        return set()
    with connection.cursor(row_factory=scalar_row) as cursor:
        return set(cursor.execute(query("list_migrations")).fetchall())


def ensure_schema(target: Target) -> None:
    """Migrate where something is missing; without a lock where nothing is. Raises DatabaseError."""
    with closing(connect(target)) as connection:
        if not applied(connection).issuperset(version for version, _ in schema_files()):
            migrate_on(connection)


def adopt_runs(connection: psycopg.Connection) -> int:
    """Give runs of which only steps exist a row of their own, so that they are listed; how many.

    Raises DatabaseError where there are some and the role may not.
    """
    try:
        with connection.transaction():
            return connection.execute(query("adopt_runs")).rowcount
    except psycopg.errors.InsufficientPrivilege as problem:
        every = {"first": UUID(int=0), "last": UUID(int=2**128 - 1), "limit": 1}
        if connection.execute(query("find_bare_runs"), every).fetchone() is None:
            return 0
        raise DatabaseError(
            f"{connection.info.user} may not list runs of which only steps are there"
            f" ({problem.diag.message_primary}); run `stepwell init` as the owner of the tables"
        ) from problem
