"""A table that is to be watched: its columns, and why it cannot be where it cannot."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, errors
from psycopg.rows import dict_row

from stepwell.errors import DatabaseError, NotFoundError
from stepwell.store.queries import query

OURS = frozenset({"!maker", "!position", "!remover", "!there", "!own"})
"""Names of columns in `sql/watching/past.sql`."""
ROOM = 7900
"""Bytes that the columns of a logged row may take where none of them is moved out of line; a page holds 8160."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a watched table. Types are as `format_type` gives them."""

    number: int
    """Its `attnum`, which it keeps when it is renamed."""
    name: str
    native: bool
    """Whether its type, or that below its domains, is one of Postgres's own. Others are logged as their texts."""
    type: str
    """The type without domains and modifiers."""
    declared: str
    collation: str | None
    """Where it is another than the default."""
    own_collation: bool
    computed: str | None
    """The expression of a virtual generated column, whose value no row holds."""
    width: int
    """The bytes that a value takes at most in the row itself."""

    @property
    def kept(self) -> str:
        """The type that the log keeps it in."""
        return self.type if self.native else "text"


@dataclass(frozen=True, slots=True)
class Watchable:
    """What there is to know of a table before it is watched."""

    oid: int
    schema: str
    name: str
    partitioned: bool
    owner: str
    by_superuser: bool
    """Whether the owner is one."""
    key: tuple[Column, ...]
    columns: tuple[Column, ...]
    readers: tuple[str, ...]
    """Who may read it beside its owner; `public` for everybody."""

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns whose values rows hold."""
        return tuple(column for column in self.columns if column.computed is None)


@contextmanager
def looking_up(name: str) -> Iterator[None]:
    """Raises NotFoundError for what names no table whatever there is, DatabaseError where this role may not look."""
    try:
        yield
    except (errors.InvalidName, errors.SyntaxError, errors.FeatureNotSupported) as problem:
        said = problem.diag.message_primary
        raise NotFoundError(f"{name!r} is not the name of a table: {said}") from problem
    except errors.InsufficientPrivilege as problem:
        raise DatabaseError(f"{name} cannot be looked up: {problem.diag.message_primary}") from problem


def read_watchable(connection: Connection[Any], name: str) -> Watchable:
    """The table of that name, as SQL writes it. Raises NotFoundError, and DatabaseError for one that is refused."""
    with looking_up(name), connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query("read_watchable"), {"name": name}).fetchone()
    if row is None:
        raise NotFoundError(f"no table {name} in database {connection.info.dbname}; name it with its schema")
    if (why := _refusal(row)) is not None:
        raise DatabaseError(f"{row['schema']}.{row['name']} cannot be watched: {why}")
    columns = tuple(Column(**column) for column in row["columns"])
    numbered = {column.number: column for column in columns}
    found = Watchable(
        oid=row["oid"],
        schema=row["schema"],
        name=row["name"],
        partitioned=row["kind"] == "p",
        owner=row["owner"],
        by_superuser=row["by_superuser"],
        key=tuple(numbered[number] for number in row["key"]),
        columns=columns,
        readers=tuple(row["readers"] or ()),
    )
    if (why := _refusal_of_columns(found)) is not None:
        raise DatabaseError(f"{found.schema}.{found.name} cannot be watched: {why}")
    return found


_READS = "; watch the tables that it reads"
_KINDS = {"v": f"a view{_READS}", "m": f"a materialized view{_READS}", "f": "a foreign table, whose rows are elsewhere",
          "S": "a sequence", "i": "an index", "I": "an index", "c": "a type", "t": "a TOAST table"}  # fmt: skip


def _refusal(row: dict[str, Any]) -> str | None:
    """Why its past could not be told exactly, and what would help; None where it can."""
    if row["is_system"]:
        return "it belongs to Postgres or to Stepwell itself"
    if row["kind"] not in ("r", "p"):
        return f"it is {_KINDS.get(row['kind'], 'no table')}"
    if row["is_partition"]:
        return f"it is a partition; watch the whole: {row['root']}"
    if row["persistence"] != "p":
        kind = "temporary" if row["persistence"] == "t" else "unlogged"
        return f"it is {kind}, and a crash or the end of its session empties it unseen"
    if row["has_foreign"]:
        return "one of its partitions is a foreign table, whose rows change elsewhere"
    if row["inherits"]:
        return "it has inheritance children or parents, whose rows mix; use partitions"
    if row["secured"] or row["part_secured"]:
        return "it has row-level security, which its log would not have"
    if not row["key"]:
        return "it has no primary key to tell its rows by; add one"
    if row["deferrable"]:
        return (
            "its primary key is deferrable, so two rows may share a key for a while; make it NOT DEFERRABLE"
        )
    if not row["owned"]:
        return f"only its owner may put triggers on it; run this as {row['owner']}"
    return None


def _refusal_of_columns(table: Watchable) -> str | None:
    for column in table.key:
        if column.own_collation:
            return f"the key {column.name} has a collation of its own, {column.collation}; give it one of Postgres's"
    if ours := [column.name for column in table.columns if column.name in OURS]:
        return f"its column {', '.join(ours)} has a name that the view of its past needs itself; rename it"
    if sum(column.width for column in table.stored) > ROOM:
        return f"its columns may take more than {ROOM} bytes in a row, and a logged row takes a little more"
    return None
