"""Rows as the texts that Postgres writes, which keep what values of Python's types would not."""

from typing import Any

from psycopg import Connection, sql
from psycopg.pq.abc import PGresult

Texts = tuple[str | None, ...]
MOST = 40_000_000
"""Characters that the values of several rows may have together; each may have a few whatever that comes to."""
FEW, LONGEST = 10_000, 2_000_000
"""Characters of a value that are read in any case, but in a wide table, and at most."""
WIDE = 20
"""Up to so many columns a table is not wide."""


def read_texts(connection: Connection[Any], statement: sql.Composed) -> list[Texts]:
    """What a statement gives, None for NULL. Raises what psycopg raises."""
    with connection.cursor(binary=False) as cursor:
        cursor.execute(statement, prepare=False)
        assert cursor.pgresult is not None
        return texts_of(connection, cursor.pgresult)


def texts_of(connection: Connection[Any], result: PGresult) -> list[Texts]:
    """The rows of a result in the text format."""
    encoding, columns = connection.info.encoding, range(result.nfields)
    return [
        tuple(
            None
            if (value := result.get_value(row, column)) is None
            else value.decode(encoding, "backslashreplace")
            for column in columns
        )
        for row in range(result.ntuples)
    ]


def equal(one: sql.Composable, other: sql.Composable) -> sql.Composed:
    """Whether two values of one of Postgres's own types are equal, whatever operators the search path has."""
    return sql.SQL("{} OPERATOR(pg_catalog.=) {}").format(one, other)


def longest(rows: int, columns: int) -> int:
    """Characters of a value that are read where there are so many rows of so many columns."""
    return max(FEW * WIDE // max(WIDE, columns), min(LONGEST, MOST // (rows * columns)))


def shortened(value: sql.Composable, most: int) -> sql.Composed:
    """A value as its type's own output function writes it: whole, or the beginning, and its length and a hash.

    By these two long values that begin alike are told apart. It is cut in the server, and so takes no room elsewhere.
    """
    return sql.SQL(
        "CASE WHEN pg_catalog.num_nonnulls({value}) = 1 THEN (SELECT CASE WHEN pg_catalog.length(whole) <= {most}"
        " THEN whole ELSE pg_catalog.concat(pg_catalog.left(whole, {most}), '... (', pg_catalog.length(whole),"
        " ' characters, hash ', pg_catalog.to_hex(pg_catalog.hashtextextended(whole COLLATE pg_catalog.\"C\", 0)), ')')"
        " END FROM (SELECT pg_catalog.format('%s', {value}) OFFSET 0) AS value (whole)) END"
    ).format(value=value, most=sql.Literal(most))
