"""Names as they are to be typed."""

import shlex

import pytest

from stepwell.core.names import command_name, sql_name


@pytest.mark.parametrize(
    ("schema", "name", "sql", "command"),
    [
        ("shop", "orders", "shop.orders", "shop.orders"),
        ("shop", "Odd Name!", 'shop."Odd Name!"', "'shop.\"Odd Name!\"'"),
        ("Shop", 'a"b', '"Shop"."a""b"', '\'"Shop"."a""b"\''),
        ("shop", "o'clock", 'shop."o\'clock"', "'shop.\"o'\"'\"'clock\"'"),
        ("shop", "a.b", 'shop."a.b"', "'shop.\"a.b\"'"),
        ("shop", "é$", 'shop."é$"', "'shop.\"é$\"'"),
    ],
)
def test_names_are_quoted_where_sql_and_a_shell_need_it(
    schema: str, name: str, sql: str, command: str
) -> None:
    assert (sql_name(schema, name), command_name(schema, name)) == (sql, command)
    assert shlex.split(command) == [sql]
