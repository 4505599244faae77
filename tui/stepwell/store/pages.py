"""Rows of a watched table as of an instant, page by page by its key: no page takes longer than another."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import Connection, sql
from psycopg.rows import dict_row

from stepwell.core.names import quoted, sql_name
from stepwell.core.pages import Start
from stepwell.core.past import Certainty, Rows
from stepwell.errors import DatabaseError
from stepwell.store.asof import Standing
from stepwell.store.queries import query
from stepwell.store.texts import Texts, read_texts, shortened

CUT = 1_000
"""Characters of a value on a page; those of keys are whole."""
ROW_CUT = 10_000_000
"""Of a value of a row that is shown alone."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What rows are read from: the past of a table, or where that is unknown the table itself."""

    relation: sql.Identifier
    name: tuple[str, str]
    """Schema and name of the table."""
    columns: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]
    is_past: bool
    """Then the types of the key are Postgres's own."""


def read_layout(connection: Connection[Any], standing: Standing) -> Layout:
    """Raises DatabaseError where there is nothing to read from, and what psycopg raises."""
    table = standing.table
    known = table.verdict.certainty is not Certainty.UNKNOWN
    schema = standing.shadow if known else table.schema
    right = _rights(connection, table.schema, table.name, "USAGE ON SCHEMA {schema}")
    with connection.cursor(row_factory=dict_row) as cursor, right:
        parts = {"schema": schema, "name": table.name}
        found = cursor.execute(query("read_layout"), parts, prepare=False).fetchall()
    if not found:
        raise DatabaseError(f"there is no table {table.schema}.{table.name} now")
    own = sorted((row["place"], row["name"]) for row in found if row["place"] is not None)
    key = table.key if known else tuple(name for _, name in own)
    if not key:
        raise DatabaseError(
            f"{table.schema}.{table.name} has no primary key now to page by; s asks it in SQL"
        )
    return Layout(
        sql.Identifier(schema, table.name),
        (table.schema, table.name),
        tuple(row["name"] for row in found),
        tuple(row["type"] for row in found),
        key,
        known,
    )


def read_page(connection: Connection[Any], layout: Layout, start: Start, limit: int) -> Rows:
    """At most `limit` rows from a start on, the lowest key first.

    Raises DatabaseError where this role may not read them or the key is another one, and what psycopg raises.
    """
    _check_key(layout, start.key, least=0)
    statement = sql.SQL("SELECT {values} FROM {relation} AS p {where} ORDER BY {order} LIMIT {limit}").format(
        values=sql.SQL(", ").join(
            value if name in layout.key else shortened(value, CUT)
            for name in layout.columns
            for value in [sql.Identifier("p", name)]
        ),
        relation=layout.relation,
        where=_where(layout, start),
        order=sql.SQL(", ").join(
            sql.SQL("{} DESC" if start.backwards else "{}").format(sql.Identifier("p", name))
            for name in layout.key
        ),
        limit=sql.Literal(limit + 1),
    )
    found = _read(connection, layout, statement)
    rows = found[:limit]
    if start.backwards:
        rows.reverse()
    return Rows(layout.columns, layout.types, tuple(rows), len(found) > limit)


def read_row(connection: Connection[Any], layout: Layout, key: Texts, most: int = ROW_CUT) -> Rows:
    """One row, of each value at most so many characters; none where it is not there.

    Raises DatabaseError where this role may not read it or the key is another one, and what psycopg raises.
    """
    _check_key(layout, key, least=len(layout.key))
    statement = sql.SQL("SELECT {values} FROM {relation} AS p WHERE {same}").format(
        values=sql.SQL(", ").join(shortened(sql.Identifier("p", name), most) for name in layout.columns),
        relation=layout.relation,
        same=sql.SQL(" AND ").join(
            sql.SQL("{} {} {}").format(sql.Identifier("p", name), _operator(layout, "="), sql.Literal(value))
            for name, value in zip(layout.key, key, strict=True)
        ),
    )
    return Rows(layout.columns, layout.types, tuple(_read(connection, layout, statement)[:1]))


def _check_key(layout: Layout, key: Texts, *, least: int) -> None:
    if not least <= len(key) <= len(layout.key):
        columns = ", ".join(map(quoted, layout.key))
        raise DatabaseError(f"the key of {sql_name(*layout.name)} is {columns} now: q, and open it again")


def _read(connection: Connection[Any], layout: Layout, statement: sql.Composed) -> list[Texts]:
    with _rights(connection, *layout.name, "SELECT ON {table}"):
        return read_texts(connection, statement)


@contextmanager
def _rights(connection: Connection[Any], schema: str, name: str, lacks: str) -> Iterator[None]:
    """Tell a role that may not read a table what it `lacks` then."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as problem:
        table = sql_name(schema, name)
        right = lacks.format(table=table, schema=quoted(schema))
        role = quoted(connection.info.user)
        raise DatabaseError(f"this role may not read {table}: GRANT {right} TO {role}") from problem


def _where(layout: Layout, start: Start) -> sql.Composable:
    if not start.key:
        return sql.SQL("")
    order: LiteralString = ("<" if start.backwards else ">") + ("=" if start.inclusive else "")
    return sql.SQL("WHERE ({}) {} ({})").format(
        sql.SQL(", ").join(sql.Identifier("p", name) for name in layout.key[: len(start.key)]),
        _operator(layout, order),
        sql.SQL(", ").join(map(sql.Literal, start.key)),
    )


def _operator(layout: Layout, name: LiteralString) -> sql.SQL:
    """Of the past Postgres's own, whatever the search path has; a table of today may have keys of any type."""
    return sql.SQL(f"OPERATOR(pg_catalog.{name})" if layout.is_past else name)
