"""Who may write a log, who may read it, and to whom all of it belongs."""

from dataclasses import dataclass

from psycopg import Connection, sql
from psycopg.rows import scalar_row, tuple_row

from stepwell.core.names import quoted
from stepwell.store.capture import LOG, Names
from stepwell.store.queries import query
from stepwell.store.scripts import Script
from stepwell.store.watchable import Watchable

WRITER = "stepwell_log_writer"
"""Owns the functions of the triggers on tables of superusers: it may not log in, and do nothing but add to the logs.
Nobody is its member, who could change what these functions do in the name of whoever writes such a table."""
WATCHER = "stepwell_watcher"
"""May add to what all watched tables share, and change none of its functions, which run in the name of every owner: who
is its member may have own tables watched beside those of others."""
PRUNER = "stepwell_pruner"


@dataclass(frozen=True, slots=True)
class Roles:
    """Which of the roles this one may act as, and whether those who prune have one."""

    writer: bool
    pruner: bool


def ready_roles(script: Script, table: Watchable) -> Roles:
    """The roles as they are; those that are missing are made where they are needed and this role may make some."""
    _is_ready(script, WATCHER)
    return Roles(table.by_superuser and _is_ready(script, WRITER), _there(script, PRUNER)[0])


def _there(script: Script, role: str) -> tuple[bool, bool, bool]:
    """Whether it is there, whether this one may act as it, and whether this one may make it."""
    with script.connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(query("read_writer"), {"role": role}).fetchone()
    assert row is not None
    there, may_use, may_make = row
    return bool(there), bool(may_use), bool(may_make)


def _is_ready(script: Script, role: str) -> bool:
    there, may_use, may_make = _there(script, role)
    if role in script.made:
        return True
    if there or not may_make:
        return there and may_use
    script.made.add(role)
    script.do(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    script.do(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))
    return True


def who_may(script: Script) -> str:
    """What a superuser has to do where this role may not watch a table or take it out."""
    _, is_watcher, _ = _there(script, WATCHER)
    if is_watcher:  # what is there belongs to somebody else, as to who owned the table before
        return "do it"
    return f"run sql/roles.sql, and then GRANT {WATCHER} TO {quoted(script.connection.info.user)}"


def has_schema(script: Script, schema: str) -> bool:
    """Whether there is a schema of that name."""
    question = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)"
    return script.connection.execute(question, (schema,)).fetchone() == (True,)


def make_schema(script: Script, schema: str, owner: str | None = None) -> None:
    """Make a schema of ours where it is missing, by whom may make schemas here; `owner` where that is another."""
    if has_schema(script, schema) or schema in script.made:
        return
    script.made.add(schema)
    name = sql.Identifier(schema)
    whose = sql.SQL("") if owner is None else sql.SQL(" AUTHORIZATION {}").format(sql.Identifier(owner))
    script.do(sql.SQL("CREATE SCHEMA {}{}").format(name, whose))
    script.do(
        sql.SQL("GRANT USAGE ON SCHEMA {} TO PUBLIC").format(name)
    )  # what is in it has rights of its own


def give_to_writer(script: Script, names: Names, roles: Roles) -> list[str]:
    """Have the row trigger's function of a superuser's table run as the role that may only write logs.

    That of any other table is its owner's. Notes for the owner where it cannot.
    """
    script.do(
        sql.SQL("REVOKE EXECUTE ON FUNCTION {}(), {}() FROM PUBLIC").format(names.capture, names.truncate)
    )
    if not names.table.by_superuser:
        return []
    if not roles.writer:
        who, owner = script.connection.info.user, names.table.owner
        return [
            f"its trigger writes the log as {who}; have {owner} watch it again, and it has a role for that"
        ]
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
    ]
    for statement in statements:
        script.do(statement.format(role=role, schema=schema, log=names.log, capture=names.capture))
    return []


def give_to_owner(script: Script, names: Names) -> None:
    """Whoever puts the triggers on, log and past belong to the owner of the table, who alone can go on with them."""
    is_own, may_make = _owner_rights(script.connection, names)
    if is_own:
        return
    statements = [
        "ALTER SCHEMA {shadow} OWNER TO {role}",
        "ALTER TABLE {log} OWNER TO {role}",
        "ALTER FUNCTION {truncate}() OWNER TO {role}",
        *([] if names.table.by_superuser else ["ALTER FUNCTION {capture}() OWNER TO {role}"]),
        "ALTER FUNCTION {past}() OWNER TO {role}",
        "ALTER VIEW {past} OWNER TO {role}",
        "GRANT INSERT ON stepwell_log.losses, stepwell_log.shapes TO {role}",
        "GRANT USAGE ON SEQUENCE stepwell_log.position TO {role}",
        "GRANT EXECUTE ON FUNCTION stepwell_log.lose(OID, TEXT), stepwell_log.image(OID, OID, ANYELEMENT) TO {role}",
    ]
    if not may_make:  # needed only to be given something in there
        statements = [
            "GRANT CREATE ON SCHEMA stepwell_log TO {role}",
            *statements,
            "REVOKE CREATE ON SCHEMA stepwell_log FROM {role}",
        ]
    parts = {
        "shadow": sql.Identifier(names.shadow),
        "log": names.log,
        "truncate": names.truncate,
        "capture": names.capture,
        "past": names.past,
        "role": sql.Identifier(names.table.owner),
    }
    for statement in statements:
        script.do(sql.SQL(statement).format(**parts))


def _owner_rights(connection: Connection, names: Names) -> tuple[bool, bool]:
    """Whether all is the owner's already, and whether the owner may make something in the schema of logs."""
    asked = {"role": names.table.owner, "schema": LOG, "log": f"{LOG}.t{names.id}"}
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(query("read_owner_rights"), asked).fetchone()
    assert row is not None
    return row[0], bool(row[1])


def grant_readers(script: Script, names: Names, roles: Roles) -> None:
    """Whoever may read the table may read its past, and nobody else; and who prunes may delete what is in its log."""
    with script.connection.cursor(row_factory=scalar_row) as cursor:
        had = cursor.execute(query("read_log_readers"), {"log": f"{LOG}.t{names.id}"}).fetchall()
    for reader in set(had) - set(names.table.readers):
        script.do(sql.SQL("REVOKE SELECT ON {} FROM {}").format(names.log, _grantee(reader)))
    for reader in names.table.readers:
        script.do(sql.SQL("GRANT SELECT ON {}, {} TO {}").format(names.log, names.past, _grantee(reader)))
    if not roles.pruner:
        return
    for statement in (
        "GRANT SELECT (ctid, xid), DELETE ON {log} TO {role}",
        "GRANT UPDATE (pruned_to) ON stepwell_log.tables TO {role}",
        "GRANT DELETE ON stepwell_log.losses, stepwell_log.shapes TO {role}",
    ):
        script.do(sql.SQL(statement).format(log=names.log, role=sql.Identifier(PRUNER)))


def _grantee(reader: str) -> sql.Composable:
    return sql.SQL("PUBLIC") if reader == "public" else sql.Identifier(reader)
