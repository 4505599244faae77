"""Watching tables: what makes their past known, put into the owner's database and taken out again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.rows import dict_row, scalar_row

from stepwell.errors import DatabaseError, NotFoundError
from stepwell.store import capture
from stepwell.store.blockers import locker
from stepwell.store.capture import LOG, Names, raw, shadow_of
from stepwell.store.grants import give_to_writer, grant_readers, ready_writer
from stepwell.store.queries import query, sql_folder
from stepwell.store.watchable import Watchable, read_watchable

LOCK_TIMEOUT_MS = 1000
"""How long the triggers are waited for: whoever writes the table waits behind."""
ADVISORY = 7_305_021
"""Held while one table is watched or unwatched, so that two never are at once."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What `watch` has done."""

    schema: str
    name: str
    again: bool
    """It was watched already, and is now as the table is."""
    notes: tuple[str, ...] = ()
    """What the owner should know, each in one line."""


def watch(connection: Connection[Any], name: str) -> Watched:
    """Have every change of the table `name` logged from now on; again after an ALTER TABLE, which it then follows.

    `connection` is in autocommit, of the owner of the table. Waits at most a second for those who write the table.
    Raises NotFoundError, and DatabaseError with the reason and the remedy where it cannot be watched exactly.
    """
    table = read_watchable(connection, name)
    with _changing(connection, f"{table.schema}.{table.name}"):
        # Only where it is missing: who may watch a table need not be who made the schema.
        if not is_installed(connection):
            connection.execute((sql_folder() / "watching" / "install.sql").read_bytes())
        writer = ready_writer(connection)
        known = _known(connection, table.oid)
        if known is not None and not _is_the_same(known, table):
            raise DatabaseError(_changed_type(known, table))
        _make_room(connection, table)
        names = Names(table, _registered(connection, table))
        _lock(connection, names)
        log_oid = _log(connection, names, known)
        _take_images(connection, names, known)
        _follow_names(connection, names, known)
        connection.execute(capture.capture(names, log_oid))
        connection.execute(capture.truncate(names))
        _put_triggers(connection, names)
        _show(connection, names, known)
        notes = give_to_writer(connection, names, writer)
        grant_readers(connection, names)
        connection.execute(
            "INSERT INTO stepwell_log.shapes (relation, xid, why, shape)"
            " VALUES (%(oid)s::oid::regclass, pg_current_xact_id(), 'watched', stepwell_log.shape(%(oid)s))",
            {"oid": table.oid},
        )
    return Watched(table.schema, table.name, known is not None, (*notes, *_as_texts(table)))


def unwatch(connection: Connection[Any], name: str) -> tuple[str, str]:
    """Take out all that `watch` has made for a table, its log too; schema and name of it.

    Also for a table that is gone, by the name that it had. Raises NotFoundError where it is not watched, DatabaseError.
    """
    if not is_installed(connection):
        raise NotFoundError(f"{name} is not watched: no table is")
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query("find_watched"), {"name": name}).fetchone()
    if row is None:
        raise NotFoundError(f"{name} is not watched; stepwell watched lists the tables that are")
    with _changing(connection, f"{row['schema']}.{row['name']}"):
        _take_out(connection, row)
    return row["schema"], row["name"]


def is_installed(connection: Connection[Any]) -> bool:
    """Whether any table of this database has ever been watched."""
    return connection.execute("SELECT to_regclass('stepwell_log.tables')").fetchone() != (None,)


@contextmanager
def _changing(connection: Connection[Any], what: str) -> Iterator[None]:
    """One transaction that waits for nobody long, and says in one line why it did nothing."""
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
            connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY,))
            yield
    except psycopg.errors.LockNotAvailable as problem:
        who = locker(connection) or str(problem.diag.message_primary)
        raise DatabaseError(f"{what} is in use ({who}); nothing was changed: try again") from problem
    except psycopg.errors.InsufficientPrivilege as problem:
        raise DatabaseError(
            f"{connection.info.user} may not watch {what} ({problem.diag.message_primary}); nothing was changed:"
            f" run it as the owner of the table, who may CREATE in database {connection.info.dbname}"
        ) from problem
    except psycopg.Error as problem:
        said = problem.diag.message_primary or str(problem).strip()
        raise DatabaseError(f"{what} is as it was: {said}") from problem


def _known(connection: Connection[Any], oid: int) -> dict[str, Any] | None:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query("read_watched_table"), {"oid": oid}).fetchone()


def _is_the_same(known: dict[str, Any], table: Watchable) -> bool:
    """Whether the log can go on: no column of it has another type by now, and the key is the same."""
    types = known["types"] or {}
    kept = all(types.get(f"a{column.number}", column.kept) == column.kept for column in table.stored)
    return kept and (known["shape"] or {}).get("key") == [column.number for column in table.key]


def _changed_type(known: dict[str, Any], table: Watchable) -> str:
    types = known["types"] or {}
    other = [c.name for c in table.stored if types.get(f"a{c.number}", c.kept) != c.kept]
    what = (
        f"column {', '.join(other)} has another type than in its log" if other else "its key is another one"
    )
    return (
        f"{table.schema}.{table.name} is still watched as it was: {what}, so its past has ended;"
        f" begin anew: stepwell unwatch, then stepwell watch"
    )


def _make_room(connection: Connection[Any], table: Watchable) -> None:
    """Let no other table keep the name: one that is gone is forgotten, one that was renamed has its name noted."""
    parts = {"oid": table.oid, "schema": table.schema, "name": table.name}
    with connection.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute(query("find_namesakes"), parts).fetchall():
            _hide(connection, row["shadow"], row["name"])
            if row["now"] is None:
                _take_out(connection, row)
            else:
                connection.execute(
                    "UPDATE stepwell_log.tables SET schema_name = %s, table_name = %s WHERE id = %s",
                    (*row["now"], row["id"]),
                )


def _registered(connection: Connection[Any], table: Watchable) -> int:
    """The number of the table, under which its names are kept up."""
    parts = {"oid": table.oid, "schema": table.schema, "name": table.name, "shadow": shadow_of(table.schema)}
    with connection.cursor(row_factory=scalar_row) as cursor:
        return int(cursor.execute(query("register_watched"), parts).fetchone() or 0)


def _lock(connection: Connection[Any], names: Names) -> None:
    """Nobody writes the table until it is watched; those who do are waited for. The lock that CREATE TRIGGER takes."""
    connection.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(names.relation))


def _log(connection: Connection[Any], names: Names, known: dict[str, Any] | None) -> int:
    """The log, with a column for each of the table's; its oid."""
    fresh = known is None or known["log"] is None
    if fresh:
        connection.execute(capture.log(names))
    there = set() if fresh or known is None else set(known["kept"] or ())
    missing = [
        definition
        for column, definition in capture.log_columns(names.table)
        if f"a{column.number}" not in there
    ]
    if missing:
        added = sql.SQL(", ").join(sql.SQL("ADD {}").format(definition) for definition in missing)
        connection.execute(sql.SQL("ALTER TABLE {} {}").format(names.log, added))
    if fresh:
        for index in capture.indexes(names):
            connection.execute(index)
    with connection.cursor(row_factory=scalar_row) as cursor:
        oid = cursor.execute("SELECT to_regclass(%s)::oid", (f"{LOG}.t{names.id}",)).fetchone()
    assert oid is not None
    return int(oid)


def _take_images(connection: Connection[Any], names: Names, known: dict[str, Any] | None) -> None:
    """Put the rows that were logged as texts, for the table had changed, into the columns that there are now."""
    if known is None or known["log"] is None:
        return
    taken = sql.SQL(", ").join(
        sql.SQL("{} = image[{}]::{}").format(capture.kept(column), raw(str(column.number)), raw(column.kept))
        for column in names.table.stored
    )
    connection.execute(
        sql.SQL("UPDATE {} SET {}, image = NULL WHERE image IS NOT NULL").format(names.log, taken)
    )


def _follow_names(connection: Connection[Any], names: Names, known: dict[str, Any] | None) -> None:
    """A name that stands for another column than it did may have been logged as that: say so."""
    if known is None:
        return
    before = {column[1]: column[0] for column in (known["shape"] or {}).get("columns") or ()}
    moved = [c.name for c in names.table.columns if before.get(c.name, c.number) != c.number]
    # More than one added and one dropped: a row may have been logged while nobody knew of the second.
    hidden = names.table.many - (known["shape"] or {}).get("many", names.table.many) > 1 and any(
        c.number > (known["shape"] or {})["many"] + 1 for c in names.table.columns
    )
    why = (
        f"column {', '.join(moved)} was another one"
        if moved
        else "columns were added and dropped"
        if hidden
        else ""
    )
    if why or known["system"] != known["here"]:
        connection.execute(
            "INSERT INTO stepwell_log.losses (relation, xid, why)"
            " VALUES (%s::oid::regclass, pg_current_xact_id(), %s) ON CONFLICT DO NOTHING",
            (names.table.oid, why or "the database was moved to another server"),
        )


def _put_triggers(connection: Connection[Any], names: Names) -> None:
    for part in _relations(connection, names):
        for name in (f"{capture.TRIGGER} truncate", f"{capture.TRIGGER} truncated"):
            connection.execute(sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(sql.Identifier(name), part))
        for trigger in capture.truncate_triggers(names, part):
            connection.execute(trigger)
    connection.execute(
        sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(sql.Identifier(capture.TRIGGER), names.relation)
    )
    for trigger in capture.row_trigger(names):
        connection.execute(trigger)


def _relations(connection: Connection[Any], names: Names) -> list[sql.Identifier]:
    """The table and all of its partitions."""
    found = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_partition_tree(%(oid)s::oid::regclass) AS tree"
        " JOIN pg_class c ON c.oid = tree.relid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " UNION SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.oid = %(oid)s ORDER BY 1, 2",
        {"oid": names.table.oid},
    ).fetchall()
    return [sql.Identifier(*row) for row in found]


def _show(connection: Connection[Any], names: Names, known: dict[str, Any] | None) -> None:
    """The function and the view of its past, under the name that it has now."""
    if known is not None:
        _hide(connection, known["shadow"], known["name"])
    shadow = sql.Identifier(shadow_of(names.table.schema))
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(shadow))
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO PUBLIC").format(shadow))
    connection.execute(capture.past(names))
    connection.execute(capture.view(names))


def _hide(connection: Connection[Any], shadow: str, name: str) -> None:
    past = sql.Identifier(shadow, name)
    connection.execute(sql.SQL("DROP VIEW IF EXISTS {}").format(past))
    connection.execute(sql.SQL("DROP FUNCTION IF EXISTS {}()").format(past))


def _take_out(connection: Connection[Any], row: dict[str, Any]) -> None:
    """The triggers first: nothing may write to a log that is gone."""
    for schema, name, trigger in row["triggers"] or ():
        connection.execute(
            sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(
                sql.Identifier(trigger), sql.Identifier(schema, name)
            )
        )
    _hide(connection, row["shadow"], row["name"])
    for suffix in ("capture", "truncate"):
        connection.execute(
            sql.SQL("DROP FUNCTION IF EXISTS {}()").format(sql.Identifier(LOG, f"t{row['id']}_{suffix}"))
        )
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(LOG, f"t{row['id']}")))
    for table in ("losses", "shapes", "tables"):
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE relation = %s::oid::regclass").format(sql.Identifier(LOG, table)),
            (row["oid"],),
        )


def _as_texts(table: Watchable) -> Sequence[str]:
    texts = [column.name for column in table.columns if not column.native]
    return (
        [f"{', '.join(texts)}: as text in the past, for its type is not one of Postgres's own"]
        if texts
        else []
    )
