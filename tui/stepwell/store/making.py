"""What one watched table is given: its log, its triggers, and the view of its past; and how they go again."""

from typing import Any

from psycopg import Connection, sql
from psycopg.rows import dict_row

from stepwell.core.verdicts import CHANGED
from stepwell.store import capture
from stepwell.store.capture import LOG, Names, raw
from stepwell.store.queries import query
from stepwell.store.scripts import Script
from stepwell.store.watchable import Watchable

Known = dict[str, Any] | None
"""What is kept of a table that is watched already, as read_watched_table.sql tells it."""


def make_room(script: Script, table: Watchable) -> None:
    """Let no other table keep the name: one that is gone is forgotten, one that was renamed has its name noted."""
    parts = {"oid": table.oid, "schema": table.schema, "name": table.name}
    with script.connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(query("find_namesakes"), parts).fetchall()
    for row in rows:
        hide(script, row["shadow"], row["name"])
        if row["now"] is None:
            take_out(script, row)
            clear_shadow(script, row["shadow"])
            continue
        schema, name = row["now"]
        script.do(
            "UPDATE stepwell_log.tables SET schema_name = %(schema)s, table_name = %(name)s WHERE id = %(id)s",
            {"schema": schema, "name": name, "id": row["id"]},
        )


def lock(script: Script, table: Watchable) -> None:
    """Nobody writes the table until it is watched; those who do are waited for. The lock that CREATE TRIGGER takes."""
    relation = sql.Identifier(table.schema, table.name)
    script.do(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(relation))


def make_log(script: Script, names: Names, known: Known) -> sql.Composable:
    """The log, with a column for each of the table's; its oid, as SQL."""
    fresh = known is None or known["log"] is None
    if fresh:
        script.do(capture.log(names))
    there = set() if fresh or known is None else set(known["kept"] or ())
    missing = [
        definition
        for column, definition in capture.log_columns(names.table)
        if f"a{column.number}" not in there
    ]
    if missing:
        added = sql.SQL(", ").join(sql.SQL("ADD {}").format(definition) for definition in missing)
        script.do(sql.SQL("ALTER TABLE {} {}").format(names.log, added))
    if fresh:
        for index in capture.indexes(names):
            script.do(index)
    return oid_of(script, f"{LOG}.t{names.id}")


def oid_of(script: Script, name: str) -> sql.Composable:
    """The oid of a relation of ours, as SQL: a number, which is asked for once."""
    row = script.connection.execute("SELECT to_regclass(%s)::oid", (name,)).fetchone()
    assert row is not None
    return raw(f"to_regclass('{name}')::oid" if row[0] is None else f"{row[0]}::oid")


def take_images(script: Script, names: Names, known: Known) -> None:
    """Put the rows that were logged as texts, for the table had changed, into the columns that there are now."""
    if known is None or known["log"] is None:
        return
    taken = sql.SQL(", ").join(
        sql.SQL("{} = image[{}]::{}").format(capture.kept(column), raw(str(column.number)), raw(column.kept))
        for column in names.table.stored
    )
    noted = {"oid": names.table.oid, "why": CHANGED}
    script.do(
        sql.SQL(
            "UPDATE {} SET {}, image = NULL WHERE image IS NOT NULL AND xid >="
            " (SELECT min(xid) FROM stepwell_log.losses WHERE relation = %(oid)s::oid::regclass AND why = %(why)s)"
        ).format(names.log, taken),
        noted,
    )
    script.do(
        "DELETE FROM stepwell_log.losses WHERE relation = %(oid)s::oid::regclass AND why = %(why)s", noted
    )


def follow_names(script: Script, names: Names, known: Known) -> None:
    """A name that stands for another column than it did may have been logged as that: say so."""
    if known is None:
        return
    shape = known["shape"] or {}
    before = {column[1]: column[0] for column in shape.get("columns") or ()}
    moved = [c.name for c in names.table.columns if before.get(c.name, c.number) != c.number]
    why = ""
    if moved:
        why = f"column {', '.join(moved)} was another one"
    elif known["system"] != known["here"]:
        why = "the database was moved to another server"
    elif not known["writable"]:
        why = "its log was gone, or its trigger might not write it"
    if why:
        script.do(
            "INSERT INTO stepwell_log.losses (relation, xid, why)"
            " VALUES (%(oid)s::oid::regclass, pg_current_xact_id(), %(why)s) ON CONFLICT DO NOTHING",
            {"oid": names.table.oid, "why": why},
        )


def put_triggers(script: Script, names: Names) -> None:
    for part in _relations(script.connection, names):
        for name in (f"{capture.TRIGGER} truncate", f"{capture.TRIGGER} truncated"):
            script.do(sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(sql.Identifier(name), part))
        for trigger in capture.truncate_triggers(names, part):
            script.do(trigger)
    script.do(
        sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(sql.Identifier(capture.TRIGGER), names.relation)
    )
    for trigger in capture.row_trigger(names):
        script.do(trigger)


def _relations(connection: Connection[Any], names: Names) -> list[sql.Identifier]:
    """The table and all of its partitions."""
    found = connection.execute(
        "WITH RECURSIVE tree AS (SELECT %(oid)s::oid AS relid UNION ALL SELECT i.inhrelid FROM tree"
        " JOIN pg_inherits i ON i.inhparent = tree.relid AND NOT i.inhdetachpending)"
        " SELECT n.nspname, c.relname FROM tree"
        " JOIN pg_class c ON c.oid = tree.relid JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 1, 2",
        {"oid": names.table.oid},
    ).fetchall()
    return [sql.Identifier(*row) for row in found]


def show(script: Script, names: Names, known: Known) -> None:
    """The function and the view of its past, under the name that it has now, in a schema that is there."""
    if known is not None:
        hide(script, known["shadow"], known["name"])
    first = None if known is None or known["first"] is None else [column[0] for column in known["first"]]
    script.do(capture.past(names, first))
    script.do(capture.view(names))


def hide(script: Script, shadow: str, name: str) -> None:
    past = sql.Identifier(shadow, name)
    script.do(sql.SQL("DROP VIEW IF EXISTS {}").format(past))
    script.do(sql.SQL("DROP FUNCTION IF EXISTS {}()").format(past))


def take_out(script: Script, row: dict[str, Any]) -> None:
    """The triggers first: nothing may write to a log that is gone."""
    for schema, name, trigger in row["triggers"] or ():
        script.do(
            sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(
                sql.Identifier(trigger), sql.Identifier(schema, name)
            )
        )
    hide(script, row["shadow"], row["name"])
    for suffix in ("capture", "truncate"):
        script.do(
            sql.SQL("DROP FUNCTION IF EXISTS {}()").format(sql.Identifier(LOG, f"t{row['id']}_{suffix}"))
        )
    script.do(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(LOG, f"t{row['id']}")))
    for table in ("losses", "shapes", "tables"):
        if script.connection.execute("SELECT to_regclass(%s)", (f"{LOG}.{table}",)).fetchone() == (None,):
            continue  # somebody has dropped it, and the triggers have to go all the same
        script.do(
            sql.SQL("DELETE FROM {} WHERE relation = %(oid)s::oid::regclass").format(
                sql.Identifier(LOG, table)
            ),
            {"oid": row["oid"]},
        )


def clear_shadow(script: Script, shadow: str) -> None:
    """Drop the schema of a view once it is empty, by whom may do so."""
    if _left_over(script, shadow)[0]:
        script.do(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(shadow)))


def clear(script: Script, shadow: str) -> None:
    """The same, and drop all that is shared once no table is watched."""
    clear_shadow(script, shadow)
    if _left_over(script, shadow)[1]:
        script.do(
            "DROP TABLE IF EXISTS stepwell_log.tables, stepwell_log.shapes, stepwell_log.losses;"
            " DROP SEQUENCE IF EXISTS stepwell_log.position;"
            " DROP FUNCTION IF EXISTS stepwell_log.shape(OID), stepwell_log.image(OID, OID, ANYELEMENT),"
            " stepwell_log.lose(OID, TEXT);"
            " DROP SCHEMA stepwell_log"
        )


def _left_over(script: Script, shadow: str) -> tuple[bool, bool]:
    """Whether the schema of a view is empty, and whether no table is watched; false where this role may not drop it."""
    row = script.connection.execute(query("read_left_over"), {"shadow": shadow}).fetchone()
    assert row is not None
    return row[0], bool(row[1])
