"""Who may write a log, who may read it, and to whom all of it belongs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import Connection, sql
from psycopg.rows import scalar_row, tuple_row

from stepwell.store.capture import LOG, Names
from stepwell.store.queries import query
from stepwell.store.scripts import Script

WRITER = "stepwell_log_writer"
"""Owns the functions of the triggers: it may not log in, and do nothing but add to the logs."""
WATCHER = "stepwell_watcher"
"""Owns what all watched tables share: who is its member may have own tables watched beside those of others."""
PRUNER = "stepwell_pruner"


@dataclass(frozen=True, slots=True)
class Roles:
    """Which of the roles this one may act as, and whether those who prune have one."""

    writer: bool
    watcher: bool
    pruner: bool


def ready_roles(script: Script) -> Roles:
    """The roles as they are; those that are missing are made where this role may make some."""
    roles = Roles(_is_ready(script, WRITER), _is_ready(script, WATCHER), _there(script, PRUNER)[0])
    if roles.writer and roles.watcher and script.made & {WRITER, WATCHER}:
        script.do(sql.SQL("GRANT {} TO {}").format(sql.Identifier(WRITER), sql.Identifier(WATCHER)))
    return roles


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


@contextmanager
def as_watcher(script: Script, roles: Roles) -> Iterator[None]:
    """Have what is made within belong to the role that all owners of watched tables share, where there is one."""
    if not roles.watcher:
        yield
        return
    script.do(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(WATCHER)))
    yield
    script.do("RESET ROLE")


def has_schema(script: Script, schema: str) -> bool:
    """Whether there is a schema of that name."""
    question = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)"
    return script.connection.execute(question, (schema,)).fetchone() == (True,)


def make_schema(script: Script, schema: str, roles: Roles) -> None:
    """Make a schema of ours where it is missing, owned by the shared role. It is made by whom may make schemas here."""
    if has_schema(script, schema) or schema in script.made:
        return
    script.made.add(schema)
    name = sql.Identifier(schema)
    owner = sql.SQL(" AUTHORIZATION {}").format(sql.Identifier(WATCHER)) if roles.watcher else sql.SQL("")
    script.do(sql.SQL("CREATE SCHEMA {}{}").format(name, owner))
    script.do(
        sql.SQL("GRANT USAGE ON SCHEMA {} TO PUBLIC").format(name)
    )  # what is in it has rights of its own


def give_to_writer(script: Script, names: Names, roles: Roles) -> list[str]:
    """Have the row trigger's function run as the role that may only write logs; notes for the owner where it cannot."""
    script.do(
        sql.SQL("REVOKE EXECUTE ON FUNCTION {}(), {}() FROM PUBLIC").format(names.capture, names.truncate)
    )
    if not roles.writer:
        who = script.connection.info.user
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
    ]
    for statement in statements:
        script.do(statement.format(role=role, schema=schema, log=names.log, capture=names.capture))
    return []


def give_to_owner(script: Script, names: Names) -> None:
    """Whoever puts the triggers on, log and past belong to the owner of the table, who alone can go on with them."""
    owner, shadow = names.table.owner, names.shadow
    role = sql.Identifier(owner)
    is_own, _ = _owner_rights(script.connection, owner, LOG)
    if is_own:
        return
    for schema, objects in (
        (LOG, [("TABLE {}", names.log), ("FUNCTION {}()", names.truncate)]),
        (shadow, [("FUNCTION {}()", names.past), ("VIEW {}", names.past)]),
    ):
        lent = _owner_rights(script.connection, owner, schema)[1] is not True
        if lent:
            script.do(sql.SQL("GRANT CREATE ON SCHEMA {} TO {}").format(sql.Identifier(schema), role))
        for kind, name in objects:
            script.do(sql.SQL(f"ALTER {kind} OWNER TO {{}}").format(name, role))
        if lent:
            script.do(sql.SQL("REVOKE CREATE ON SCHEMA {} FROM {}").format(sql.Identifier(schema), role))
    script.do(
        sql.SQL(
            "GRANT INSERT ON stepwell_log.losses, stepwell_log.shapes TO {0};"
            " GRANT USAGE ON SEQUENCE stepwell_log.position TO {0};"
            " GRANT EXECUTE ON FUNCTION stepwell_log.lose(OID, TEXT), stepwell_log.image(OID, OID, ANYELEMENT) TO {0}"
        ).format(role)
    )


def _owner_rights(connection: Connection, owner: str, schema: str) -> tuple[bool, bool | None]:
    with connection.cursor(row_factory=tuple_row) as cursor:
        quoted = '"' + schema.replace('"', '""') + '"'
        row = cursor.execute(query("read_owner_rights"), {"role": owner, "schema": quoted}).fetchone()
    assert row is not None
    return row[0], row[1]


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
