"""SQL that asks which tables are in sight is told of those that stand behind the past."""

import pytest

from stepwell.core.sql_sight import in_sight
from stepwell.core.tokens import tokens


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("SELECT current_schema(), CURRENT_SCHEMA", ["current_schema()", "CURRENT_SCHEMA"]),
        ("SELECT pg_catalog . current_schema ( )", ["pg_catalog . current_schema ( )"]),
        ("SELECT 1 FROM t WHERE n = ANY (current_schemas(false))", ["current_schemas(false)"]),
        ("SELECT pg_table_is_visible((c.oid)) AND b", ["pg_table_is_visible((c.oid))"]),
        ("SELECT pg_table_is_visible(f(')'))", ["pg_table_is_visible(f(')'))"]),
        (
            "SELECT pg_catalog.pg_get_constraintdef(c.oid, true)",
            ["pg_catalog.pg_get_constraintdef(c.oid, true)"],
        ),
    ],
)
def test_what_asks_for_that_is_found(text: str, asked: list[str]) -> None:
    assert [text[start:end] for start, end, _ in in_sight(tokens(text), text)] == asked


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'current_schema()', \"current_schema\", t.current_schema, 1 AS current_schema",
        "SELECT my.current_schemas(true)",
        "SELECT %(current_schema)s, current_schemata, pg_table_is_visible",
        "SELECT * FROM current_schema()",
        "SELECT pg_table_is_visible(1",
    ],
)
def test_what_does_not_is_left(text: str) -> None:
    assert list(in_sight(tokens(text), text)) == []
