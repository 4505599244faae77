"""The SQL that watches one table: its log, its triggers, and the view that shows its past."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import LiteralString

from psycopg import sql

from stepwell.core.verdicts import CHANGED
from stepwell.store.templates import template
from stepwell.store.texts import equal
from stepwell.store.watchable import Column, Watchable

LOG = "stepwell_log"
SHADOW = "stepwell_asof_t"
"""The beginning of the name of each schema that holds one view; the number of its table follows."""
ALIAS = "!stepwell"
"""What a past view calls the real table: where a plan reads that table under another name, it reads today's rows."""
TRIGGER = "!stepwell"
"""Named to fire before the owner's triggers, which may write the same table."""
TRUNCATE_COPIES = 64 << 20
"""Up to how many bytes a table has its rows logged on TRUNCATE."""
PINNED = {
    "extra_float_digits": "3",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "timezone": "UTC",
}
"""Under which settings values are written as texts: every digit is kept, and texts of then and now compare."""


def raw(text: str) -> sql.SQL:
    """Text that is SQL already: types and expressions as Postgres gives them, and numbers."""
    return sql.SQL(text)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of what is made for one table; `id` is its number in `stepwell_log.tables`."""

    table: Watchable
    id: int

    @property
    def log(self) -> sql.Identifier:
        return sql.Identifier(LOG, f"t{self.id}")

    @property
    def capture(self) -> sql.Identifier:
        return sql.Identifier(LOG, f"t{self.id}_capture")

    @property
    def truncate(self) -> sql.Identifier:
        return sql.Identifier(LOG, f"t{self.id}_truncate")

    @property
    def relation(self) -> sql.Identifier:
        return sql.Identifier(self.table.schema, self.table.name)

    @property
    def shadow(self) -> str:
        """The schema of its past and of nothing else, so that a path may have it or not have it."""
        return f"{SHADOW}{self.id}"

    @property
    def past(self) -> sql.Identifier:
        """Both the function and the view over it."""
        return sql.Identifier(self.shadow, self.table.name)


def _listed(parts: Iterable[sql.Composable], joint: LiteralString = ", ") -> sql.Composed:
    return sql.SQL(joint).join(parts)


def _each(
    columns: Sequence[Column], make: Callable[[Column], sql.Composable], joint: LiteralString = ", "
) -> sql.Composed:
    return _listed([make(column) for column in columns], joint)


def kept(column: Column) -> sql.Identifier:
    """The column of the log that holds this one's values, whatever its name."""
    return sql.Identifier(f"a{column.number}")


def _variable(prefix: str, column: Column) -> sql.SQL:
    return raw(f"{prefix}{column.number}")


def _as_kept(row: sql.Composable, column: Column) -> sql.Composed:
    """The value as the log keeps it. A text by the type's own output function: a cast may be anybody's."""
    value = sql.SQL("{}.{}").format(row, sql.Identifier(column.name))
    if column.native:
        return value
    return sql.SQL("CASE WHEN pg_catalog.num_nonnulls({0}) = 1 THEN pg_catalog.format('%s', {0}) END").format(
        value
    )


def _pins(table: Watchable) -> sql.SQL:
    if all(column.native for column in table.stored):
        return raw("")
    return raw(" ".join(f"SET {name} = '{value}'" for name, value in PINNED.items()))


def log_columns(table: Watchable) -> list[tuple[Column, sql.Composed]]:
    """What the log has for the table's columns, with types."""
    return [
        (
            column,
            sql.SQL("{} {}{}").format(
                kept(column),
                raw(column.kept),
                raw(f" COLLATE {column.collation}" if column.native and _is_shared(column) else ""),
            ),
        )
        for column in table.stored
    ]


def _is_shared(column: Column) -> bool:
    return column.collation is not None and not column.own_collation


def log(names: Names) -> sql.Composed:
    return template("log", {"log": names.log})


def indexes(names: Names) -> list[sql.Composed]:
    """By key, for the versions of one row; by transaction, for what is younger than a snapshot."""
    key = _each(names.table.key, kept)
    prefix = f"t{names.id}_"
    return [
        sql.SQL("CREATE INDEX {} ON {} ({}, position) INCLUDE (xid)").format(
            sql.Identifier(prefix + "key"), names.log, key
        ),
        sql.SQL("CREATE INDEX {} ON {} (xid)").format(sql.Identifier(prefix + "xid"), names.log),
    ]


def capture(names: Names, log_oid: sql.Composable, position_oid: sql.Composable) -> sql.Composed:
    """The function of the row trigger."""
    table = names.table
    stored, key = table.stored, table.key
    old, new = raw("old"), raw("new")

    def declare(prefix: str) -> Callable[[Column], sql.Composable]:
        return lambda column: sql.SQL("{} {};").format(_variable(prefix, column), raw(column.kept))

    def take(prefix: str, row: sql.Composable) -> Callable[[Column], sql.Composable]:
        return lambda column: sql.SQL("{} := {};").format(_variable(prefix, column), _as_kept(row, column))

    def of_image(prefix: str, image: str) -> Callable[[Column], sql.Composable]:
        return lambda column: sql.SQL("{} := ({})[{}];").format(
            _variable(prefix, column), raw(image), raw(str(column.number))
        )

    of_new = f"stepwell_log.image({table.oid}::oid, tg_relid, new)"
    return template(
        "capture",
        {
            "capture": names.capture,
            "pins": _pins(table),
            "watched": raw(f"{table.oid}::oid"),
            "changed": sql.Literal(CHANGED),
            "log": names.log,
            "position": position_oid,
            "log_oid": log_oid,
            "part": raw("tg_relid" if table.partitioned else "NULL"),
            "declare_old": _each(stored, declare("o"), "\n    "),
            "declare_new": _each(key, declare("n"), "\n    "),
            "take_old": _each(stored, take("o", old), "\n            "),
            "take_new": _each(key, take("n", new), "\n            "),
            "key_of_image": _each(key, of_image("o", "image"), "\n                "),
            "key_of_new": _each(key, of_image("n", of_new), "\n                "),
            "key": _each(key, kept),
            "columns": _each(stored, kept),
            "old_columns": _each(stored, lambda column: _variable("o", column)),
            "old_key": _each(key, lambda column: _variable("o", column)),
            "new_key": _each(key, lambda column: _variable("n", column)),
        },
    )  # fmt: skip


def truncate(names: Names) -> sql.Composed:
    """The function of the triggers around TRUNCATE."""
    table = names.table
    row = raw("r")
    copy = sql.SQL(
        "INSERT INTO {log} (xid, dead, old_xid, old_place, part, backend, who, {columns})"
        " SELECT $1, CASE WHEN age(r.xmin) > age($1::xid) THEN true END, r.xmin, r.ctid, {part}, pg_backend_pid(), $3,"
        " {values} FROM ONLY %I.%I AS r"
    ).format(
        log=names.log,
        columns=_each(table.stored, kept),
        part=raw("$2" if table.partitioned else "NULL::oid"),
        values=_each(table.stored, lambda column: _doubled(_as_kept(row, column))),
    )
    return template(
        "truncate",
        {
            "truncate": names.truncate,
            "pins": _pins(table),
            "watched": raw(f"{table.oid}::oid"),
            "most": raw(str(TRUNCATE_COPIES)),
            "copy": sql.Literal(copy.as_string(None)),
        },
    )


def _doubled(part: sql.Composed) -> sql.SQL:
    """For a text that `format` reads: its own per cent signs twice."""
    return raw(part.as_string(None).replace("%", "%%"))


def past(names: Names, first: Collection[int] | None = None) -> sql.Composed:
    """The function that gives the rows as of the snapshot that a transaction has set.

    `first` are the numbers of the columns that the table had when it was watched first, None for all: of others rows
    of a time before them have no value, whatever default they were added with.
    """
    table, key = names.table, names.table.key
    setting = raw("current_setting('stepwell.snapshot')::pg_snapshot")
    mode = raw(f"current_setting('stepwell.t{names.id}', true)")
    own = sql.SQL("(SELECT nullif(current_setting('stepwell.own', true), '')::xid8)")
    u = raw("u")

    def returned(column: Column) -> sql.Composable:
        return sql.SQL("{} {}").format(sql.Identifier(column.name), raw(column.kept))

    def same(entry: sql.Composable, other: Callable[[Column], sql.Composable]) -> sql.Composed:
        return _each(
            key, lambda column: equal(sql.SQL("{}.{}").format(entry, kept(column)), other(column)), " AND "
        )

    return template(
        "past",
        {
            "past": names.past,
            "result": _each(table.columns, returned),
            "names": _each(table.columns, lambda c: _shown(names, c, is_first=first is None or c.number in first)),
            "live": _each(table.columns, _lived),
            "table": names.relation,
            "dead": _each(table.columns, lambda c: sql.SQL("l.{}").format(
                kept(c) if c.computed is None else sql.Identifier(f"v{c.number}"))),
            "log": names.log,
            "log_rows": _log_rows(names),
            "made_key": same(raw("made"), lambda c: sql.SQL("l.{}").format(kept(c))),
            "entry_key": same(raw("e"), lambda c: sql.SQL("{}.{}").format(u, sql.Identifier(c.name))),
            "entry_order": _each(key, lambda c: sql.SQL("e.{} DESC").format(kept(c))),
            "snapshot": sql.SQL("(SELECT {})").format(setting),
            "xmin": sql.SQL("(SELECT pg_snapshot_xmin({}))").format(setting),
            "xmax": sql.SQL("(SELECT pg_snapshot_xmax({}))").format(setting),
            "oldest": sql.SQL("(SELECT age(pg_snapshot_xmin({})::xid))").format(setting),
            # Nothing is too young where the xids of rows tell nothing: the log is asked.
            "youngest": sql.SQL("(SELECT CASE WHEN {} IS DISTINCT FROM 'fast' THEN -2147483648"
                                " ELSE age(pg_snapshot_xmax({})::xid) END)").format(mode, setting),
            "own": own,
            "until": sql.SQL("(SELECT nullif(current_setting('stepwell.position', true), '')::bigint)"),
        },
    )  # fmt: skip


def _lived(column: Column) -> sql.Composed:
    """The value of a row that is there now."""
    value = _as_kept(sql.Identifier(ALIAS), column)
    if column.native and column.declared != column.type:
        value = sql.SQL("{}::{}").format(value, raw(column.type))
    return sql.SQL("{} AS {}").format(value, sql.Identifier(column.name))


def _shown(names: Names, column: Column, *, is_first: bool) -> sql.Composed:
    """The value as it is told; of a column that came later none, as of a time before that."""
    value = sql.SQL("u.{}").format(sql.Identifier(column.name))
    if is_first:
        return value
    later = f"(SELECT coalesce(strpos(current_setting('stepwell.t{names.id}_later', true), ',{column.number},'), 0))"
    return sql.SQL("CASE WHEN {} = 0 THEN {} END").format(raw(later), value)


def _log_rows(names: Names) -> sql.Composable:
    """The log, with the values that rows do not hold worked out by the table's own expressions."""
    table = names.table
    computed = [column for column in table.columns if column.computed is not None]
    if not computed:
        return names.log
    # Where the expressions stand, no names but those of the table's own columns are in sight.
    named = _each(table.stored, lambda c: sql.SQL("rows.{} AS {}").format(kept(c), sql.Identifier(c.name)))
    values = _each(
        computed,
        lambda c: sql.SQL("({})::{} AS {}").format(
            raw(c.computed or ""), raw(c.kept), sql.Identifier(f"v{c.number}")
        ),
    )
    return sql.SQL(
        "(SELECT rows.*, worked.* FROM {log} AS rows"
        " CROSS JOIN LATERAL (SELECT {values} FROM (SELECT {named}) AS named) AS worked)"
    ).format(log=names.log, values=values, named=named)


def view(names: Names) -> sql.Composed:
    return sql.SQL("CREATE OR REPLACE VIEW {0} WITH (security_invoker = true) AS SELECT * FROM {0}()").format(
        names.past
    )


def row_trigger(names: Names) -> list[sql.Composed]:
    """On the whole of the table: partitions, later ones too, get theirs from it."""
    parts = {"name": sql.Identifier(TRIGGER), "table": names.relation, "capture": names.capture}
    return [
        sql.SQL(
            "CREATE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION {capture}()"
        ).format(**parts),
        sql.SQL("ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}").format(**parts),
    ]


def truncate_triggers(names: Names, relation: sql.Identifier) -> list[sql.Composed]:
    """On the table and on each partition, which has no such trigger from its parent."""
    found = []
    for when, suffix in ((raw("BEFORE"), ""), (raw("AFTER"), "d")):
        parts = {"name": sql.Identifier(f"{TRIGGER} truncate{suffix}"), "when": when, "table": relation,
                 "truncate": names.truncate}  # fmt: skip
        found += [
            sql.SQL("CREATE TRIGGER {name} {when} TRUNCATE ON {table} EXECUTE FUNCTION {truncate}()").format(
                **parts
            ),
            sql.SQL("ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}").format(**parts),
        ]
    return found
