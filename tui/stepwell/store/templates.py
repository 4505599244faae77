"""SQL files with names to be put in: what `stepwell watch` makes for one table."""

from collections.abc import Mapping

from psycopg import sql

from stepwell.store.queries import sql_folder


def template(name: str, parts: Mapping[str, sql.Composable] | None = None) -> sql.Composed:
    """`sql/watching/NAME.sql` with its `{…}` filled in. Raises KeyError for one that is not among the parts."""
    text = (sql_folder() / "watching" / f"{name}.sql").read_text()
    return sql.SQL(text).format(**(parts or {}))
