"""Rows as the texts that Postgres writes, which keep what values of Python's types would not."""

from typing import Any

from psycopg import Connection, sql

Texts = tuple[str | None, ...]


def read_texts(connection: Connection[Any], statement: sql.Composed) -> list[Texts]:
    """What a statement gives, None for NULL. Raises what psycopg raises."""
    with connection.cursor(binary=False) as cursor:
        cursor.execute(statement, prepare=False)
        result = cursor.pgresult
        assert result is not None
        encoding = connection.info.encoding
        return [
            tuple(
                None
                if (value := result.get_value(row, column)) is None
                else value.decode(encoding, "backslashreplace")
                for column in range(result.nfields)
            )
            for row in range(result.ntuples)
        ]
