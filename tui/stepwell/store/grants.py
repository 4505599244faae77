"""Who may write a log, and who may read it."""

from typing import Any

from psycopg import Connection, sql
from psycopg.rows import tuple_row

from stepwell.store.capture import LOG, Names, shadow_of
from stepwell.store.queries import query

WRITER = "stepwell_log_writer"
"""Owns the functions of the triggers: it may not log in, and do nothing but add to the logs."""


def ready_writer(connection: Connection[Any]) -> bool:
    """Whether the role that writes logs is there and may be used by this one; a superuser makes it."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(query("read_writer"), {"role": WRITER}).fetchone()
    assert row is not None
    there, may_use, may_make = row
    if not there and may_make:
        connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(WRITER)))
        return True
    return bool(there and may_use)


def give_to_writer(connection: Connection[Any], names: Names, writer: bool) -> list[str]:
    """Have the row trigger's function run as the role that may only write logs; notes for the owner where it cannot."""
    if not writer:
        who = connection.info.user
        return [f"its trigger writes the log as {who}; safer is the role {WRITER}, which sql/roles.sql makes"]
    role, schema = sql.Identifier(WRITER), sql.Identifier(LOG)
    statements = [
        sql.SQL("GRANT USAGE, CREATE ON SCHEMA {schema} TO {role}"),
        sql.SQL("GRANT INSERT ON {log}, stepwell_log.losses TO {role}"),
        sql.SQL("GRANT USAGE ON SEQUENCE stepwell_log.position TO {role}"),
        sql.SQL(
            "GRANT EXECUTE ON FUNCTION stepwell_log.image(OID, OID, ANYELEMENT), stepwell_log.lose(OID, TEXT) TO {role}"
        ),
        sql.SQL("ALTER FUNCTION {capture}() OWNER TO {role}"),
        sql.SQL("REVOKE CREATE ON SCHEMA {schema} FROM {role}"),  # needed only to be given it
        sql.SQL("REVOKE EXECUTE ON FUNCTION {capture}(), {truncate}() FROM PUBLIC"),
    ]
    for statement in statements:
        connection.execute(
            statement.format(
                role=role, schema=schema, log=names.log, capture=names.capture, truncate=names.truncate
            )
        )
    return []


def grant_readers(connection: Connection[Any], names: Names) -> None:
    """Whoever may read the table may read its past, and nobody else."""
    past = sql.Identifier(shadow_of(names.table.schema), names.table.name)
    for reader in names.table.readers:
        role = sql.SQL("PUBLIC") if reader == "public" else sql.Identifier(reader)
        connection.execute(sql.SQL("GRANT SELECT ON {}, {} TO {}").format(names.log, past, role))
