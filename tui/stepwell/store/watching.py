"""Watching tables: what makes their past known, put into the owner's database and taken out again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg
from psycopg import Connection, sql
from psycopg.rows import dict_row

from stepwell.core.names import command_name, sql_name
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.store import capture, making
from stepwell.store.capture import LOG, SHADOW, Names
from stepwell.store.grants import (
    Roles,
    give_to_owner,
    give_to_writer,
    grant_readers,
    has_schema,
    make_schema,
    ready_roles,
    who_may,
)
from stepwell.store.queries import query, sql_folder
from stepwell.store.scripts import Draft, Script
from stepwell.store.watchable import Watchable, looking_up, read_watchable

COUNTED_BYTES = 8 << 20
"""The rows of a log up to this size are counted; of a larger one the server's own estimate is told."""
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


class Unwatched(NamedTuple):
    """A table that is watched no more, by the name that it had, and what has gone with it."""

    schema: str
    name: str
    entries: int
    """Of its log."""
    counted: bool
    """Whether that is exact, or what the server thinks."""


def watch(connection: Connection[Any], name: str) -> Watched:
    """Have every change of the table `name` logged from now on; again after an ALTER TABLE, which it then follows.

    `connection` is in autocommit, of the owner of the table. Waits at most a second for those who write the table.
    Raises NotFoundError, and DatabaseError with the reason and the remedy where it cannot be watched exactly.
    """
    return _watch(Script(connection), name)


def draft(script: Draft, name: str) -> Watched:
    """Write into `script` what `watch` would do now, and do nothing. Raises the same."""
    return _watch(script, name)


def unwatch(connection: Connection[Any], name: str) -> Unwatched:
    """Take out all that `watch` has made for a table, its log too.

    With the last table goes what all of them share. Also for a table that is gone, by the name that it had.
    Raises NotFoundError where it is not watched, DatabaseError with the reason and the remedy.
    """
    if not is_installed(connection):
        raise NotFoundError(f"{name} is not watched: no table is")
    with looking_up(name), connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query("find_watched"), {"name": name, "small": COUNTED_BYTES}).fetchone()
    if row is None:
        raise NotFoundError(f"{name} is not watched; stepwell watched lists the tables that are")
    if row["many"] > 1:
        raise DatabaseError(f"several tables were watched as {name}: name it with its schema")
    if not row["owned"]:
        what = sql_name(row["schema"], row["name"])
        raise DatabaseError(
            f"{what} stays watched: only its owner may take that out; run this as {row['owner']}"
        )
    script = Script(connection)
    with _changing(script, row["schema"], row["name"]):
        entries = _entries(connection, row)
        making.take_out(script, row)
        making.clear(script, row["shadow"])
    return Unwatched(row["schema"], row["name"], entries, row["countable"])


def _entries(connection: Connection[Any], row: dict[str, Any]) -> int:
    """Counted where the log is small, else what the server thinks."""
    if not row["countable"]:
        return int(row["entries"])
    log = sql.Identifier(LOG, f"t{row['id']}")
    found = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(log)).fetchone()
    assert found is not None
    return int(found[0])


def is_installed(connection: Connection[Any]) -> bool:
    """Whether any table of this database has ever been watched."""
    return connection.execute("SELECT to_regclass('stepwell_log.tables')").fetchone() != (None,)


def _watch(script: Script, name: str) -> Watched:
    connection = script.connection
    table = read_watchable(connection, name)
    with _changing(script, table.schema, table.name):
        roles = ready_roles(script, table)
        _install(script)
        making.lock(script, table)
        # Who was waited for may have altered it.
        table = read_watchable(connection, sql_name(table.schema, table.name))
        known = _known(connection, table.oid)
        if known is not None and not _is_the_same(known, table):
            raise DatabaseError(_changed_type(known, table))
        if is_installed(connection):
            making.make_room(script, table)
        names = Names(table, _registered(script, table, known))
        notes = _make(script, names, known, roles)
        _look(script, table.oid, "watched")
    return Watched(table.schema, table.name, known is not None, (*notes, *_as_texts(table)))


def _make(script: Script, names: Names, known: dict[str, Any] | None, roles: Roles) -> list[str]:
    """Everything that is the table's own; notes for its owner."""
    if known is not None:  # what is done to it from here on changes none of its rows
        _look(script, names.table.oid, "before watch")
    log = making.make_log(script, names, known)
    making.take_images(script, names, known)
    making.follow_names(script, names, known)
    script.do(capture.capture(names, log, making.oid_of(script, f"{LOG}.position")))
    script.do(capture.truncate(names))
    making.put_triggers(script, names)
    make_schema(script, names.shadow, names.table.owner)
    making.show(script, names, known)
    notes = give_to_writer(script, names, roles)
    grant_readers(script, names, roles)
    give_to_owner(script, names)
    return notes


def _look(script: Script, oid: int, why: str) -> None:
    """Note how the table looks now."""
    script.do(
        "INSERT INTO stepwell_log.shapes (relation, xid, why, shape)"
        " VALUES (%(oid)s::oid::regclass, pg_current_xact_id(), %(why)s, stepwell_log.shape(%(oid)s::oid))",
        {"oid": oid, "why": why},
    )


def _install(script: Script) -> None:
    """Only where it is missing: who may watch a table need not be who made the schema."""
    if is_installed(script.connection) or LOG in script.made:
        return
    make_schema(script, LOG)
    script.made.add(LOG)
    script.do((sql_folder() / "watching" / "install.sql").read_bytes())


@contextmanager
def _changing(script: Script, schema: str, name: str) -> Iterator[None]:
    """One transaction that waits for nobody long, and says in one line why it did nothing."""
    connection, what = script.connection, f"{schema}.{name}"
    try:
        with script.transaction():
            script.do(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
            script.do("SET LOCAL search_path = pg_catalog, pg_temp")
            script.do("SELECT pg_advisory_xact_lock(%(turn)s)", {"turn": ADVISORY})
            yield
    except psycopg.errors.LockNotAvailable as problem:
        who = _holder(connection, sql.Identifier(schema, name)) or str(problem.diag.message_primary)
        raise DatabaseError(f"{what} is in use ({who}); nothing was changed: try again") from problem
    except psycopg.errors.InsufficientPrivilege as problem:
        said = f"{connection.info.user} may not do that with {what} ({problem.diag.message_primary})"
        raise DatabaseError(f"{said}; nothing was changed: have a superuser {who_may(script)}") from problem
    except psycopg.errors.ReadOnlySqlTransaction as problem:
        raise DatabaseError(f"this server takes no writes (a standby?); {what} is as it was") from problem
    except psycopg.Error as problem:
        said = problem.diag.message_primary or str(problem).strip()
        raise DatabaseError(f"{what} is as it was: {said}") from problem


def _holder(connection: Connection[Any], table: sql.Identifier) -> str:
    """Who has kept this waiting, if that can be found out."""
    asked = {"table": table.as_string(None), "turn": ADVISORY}
    with suppress(psycopg.Error):
        row = connection.execute(query("read_holders"), asked).fetchone()
        if row is not None:
            pid, who, is_turn = row
            return f"{who} (pid {pid}) {'watches a table' if is_turn else 'writes it'}: waited 1 s"
    return ""


def _known(connection: Connection[Any], oid: int) -> dict[str, Any] | None:
    if not is_installed(connection):
        return None
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
    name = command_name(table.schema, table.name)
    return (
        f"{table.schema}.{table.name} is still watched as it was: {what}, so its past has ended;"
        f" begin anew: stepwell unwatch {name}, then stepwell watch {name}"
    )


def _registered(script: Script, table: Watchable, known: dict[str, Any] | None) -> int:
    """The number of the table, under which its names are kept up."""
    number = script.next_of("stepwell_log.tables_id_seq") if known is None else int(known["id"])
    while known is None and has_schema(
        script, f"{SHADOW}{number}"
    ):  # left by a stepwell_log that somebody dropped
        number = script.next_of("stepwell_log.tables_id_seq")
    parts = {"schema": table.schema, "name": table.name, "shadow": f"{SHADOW}{number}"}
    script.do(query("register_watched"), {"oid": table.oid, "id": number, **parts})
    return number


def _as_texts(table: Watchable) -> Sequence[str]:
    texts = [column.name for column in table.columns if not column.native]
    return (
        [f"{', '.join(texts)}: as text in the past, for its type is not one of Postgres's own"]
        if texts
        else []
    )
