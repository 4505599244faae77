"""The SQL files: all there, each one statement, and read as they lie on disk."""

import re

import pytest

from stepwell.store.queries import query, query_names, schema_files, sql_folder

# A dollar-quoted body, a quoted word, or a comment: a semicolon in there ends nothing.
_QUOTED = re.compile(r"(\$\w*\$).*?\1|'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def statements(text: str) -> list[str]:
    return [
        part
        for part in _QUOTED.sub(lambda m: "" if m[0][:2] in ("--", "/*") else "'q'", text).split(";")
        if part.strip()
    ]


def test_semicolons_inside_quotes_and_comments_end_no_statement() -> None:
    text = "SELECT ';' -- ; \n, \";\" /* ; */; DO $$ BEGIN; END $$; DO $x$ $$;$$ $x$;"
    assert len(statements(text)) == 3


@pytest.mark.parametrize("name", query_names())
def test_a_query_is_one_statement_with_a_comment_on_top(name: str) -> None:
    text = query(name).decode()
    assert len(statements(text)) == 1
    assert ";" not in _QUOTED.sub("", text)
    assert text.startswith("-- ") or text.count("\n") <= 1
    assert text.endswith("\n")


@pytest.mark.parametrize("name", query_names())
def test_a_query_is_named_verb_and_noun(name: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)+", name)


def test_queries_come_as_bytes() -> None:
    assert isinstance(query("list_runs"), bytes)


def test_a_name_that_is_not_there_raises() -> None:
    with pytest.raises(FileNotFoundError):
        query("no_such_query")


def test_migrations_come_in_order_and_write_down_their_version() -> None:
    versions = [version for version, _ in schema_files()]
    assert versions == sorted(set(versions))
    for version, text in schema_files():
        assert (
            f"INSERT INTO stepwell_migrations (version) VALUES ({version}) ON CONFLICT DO NOTHING"
            in text.decode()
        )


def test_no_sql_file_lies_elsewhere() -> None:
    assert sorted(entry.name for entry in sql_folder().iterdir()) == [
        "queries",
        "roles.sql",
        "schema",
        "watching",
    ]
