"""What may be sent, told by its first word; what else stands in the text is found whatever its quotes and comments."""

import pytest

from stepwell.core.statements import DECLARE, EXPLAIN, ONLY, is_complete, parse
from stepwell.core.tokens import Kind, tokens
from stepwell.errors import StatementError

LOCK = "pg_advisory_lock"


def names(text: str) -> list[str]:
    """The words and names in it."""
    return [token.value for token in tokens(text) if token.kind in (Kind.WORD, Kind.NAME)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a/* b /* c */ d */e", ["a", "e"]),
        ("a -- b\nc", ["a", "c"]),
        ("a -- b\rc", ["a", "c"]),
        ("a+--b\nc", ["a", "c"]),
        ("a*/*b*/c", ["a", "c"]),
        ("'it''s' a", ["a"]),
        (r"'\' a", ["a"]),
        (r"E'\' b' a", ["a"]),
        (r"e'\\' a", ["a"]),
        ("E'' -- x\n'\\' b' a", ["a"]),
        ("E'x'\n '\\' b' a", ["a"]),
        ("'x'\n '\\' a", ["a"]),
        ("E'x' '\\' a", ["a"]),  # without a new line the second is one of its own
        (r"U&'\' a", ["a"]),
        ("n'b' a", ["a"]),
        ("$$ b $$ a", ["a"]),
        ("$x$ $y$ b $$ $x$ a", ["a"]),
        ("a$x$ b", ["a$x$", "b"]),
        ("$1 a", ["a"]),
        ("$é$b$é$ a", ["a"]),
        ('"B""c" a', ['B"c', "a"]),
        (r'U&"\0061b" a', ["ab", "a"]),
        (r'U&"\+000061b" a', ["ab", "a"]),
        (r'U&"!0061\b" uescape ' + "'!' a", ["a\\b", "a"]),
        ("U & b", ["u", "b"]),
        ("ABC Éa", ["abc", "Éa"]),
        ("a\xa0b", ["a\xa0b"]),
        ("a\u3000b", ["a\u3000b"]),
    ],
)  # fmt: skip
def test_words_are_told_from_what_is_quoted(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize("text", ["'a", "E'a\\'", '"a', "$x$ a $$", "/* /* */", 'U&"a', "'a'\n'b", "'a''"])
def test_a_quote_that_does_not_end_is_the_last_token(text: str) -> None:
    *_, last = tokens(text)
    assert (last.kind, last.end) == (Kind.OPEN, len(text))


@pytest.mark.parametrize(
    "text",
    [
        "select 1", "SELECT 1;", "/* x */ -- y\n sElEcT 1", "(((select 1)))", "values (1)", "table t",
        "with a as (select 1) table a", "select",
    ],
)  # fmt: skip
def test_a_query_is_sent_as_that_of_a_cursor(text: str) -> None:
    statement = parse(text)
    assert (statement.kind, statement.sent) == ("query", DECLARE + text)


@pytest.mark.parametrize(
    ("head", "query"),
    [
        ("explain ", "select 1"),
        ("EXPLAIN analyze VERBOSE ", "(select 1)"),
        ("explain (analyze, costs off, format json) ", "table t"),
        ("explain ((", ""),
        ("/* x */ explain /* y */ ", "with a as (select 1) table a"),
        ("explain ", "(select 1) union (select 2)"),
        ("explain analyse /* z */ ", "values (1)"),
    ],
)
def test_what_is_explained_is_sent_as_that_of_a_cursor_too(head: str, query: str) -> None:
    if not query:
        with pytest.raises(StatementError, match="EXPLAIN takes"):
            parse(head)
        return
    statement = parse(head + query)
    assert (statement.kind, statement.sent) == ("explain", head + DECLARE + query)
    assert statement.explained == EXPLAIN + DECLARE + query


@pytest.mark.parametrize(
    "text",
    [
        "commit", "insert into t values (1)", "explain insert into t values (1)", "explain analyze execute x",
        "explain (analyze) delete from t", '"select" 1', "'select'", "execute x", "declare c cursor for select 1",
        "fetch c", "set x = 1", "do $$ select $$", "begin", "; select 1", "\xa0select 1", "\u017felect 1",
        "\ufeffselect 1",
        "copy (select 1) to program 'x'", "prepare x as select 1", "explain declare c cursor for select 1",
        "explain create table x as select 1", "e'x' select", "/* select", "{select}", "(delete from t)",
    ],
)  # fmt: skip
def test_anything_else_is_not_sent(text: str) -> None:
    with pytest.raises(StatementError) as raised:
        parse(text)
    assert ONLY in str(raised.value)
    assert raised.value.position is not None


@pytest.mark.parametrize("text", ["", " \n", "-- x", "/* x */"])
def test_nothing_is_not_sent(text: str) -> None:
    with pytest.raises(StatementError, match="there is no statement"):
        parse(text)


@pytest.mark.parametrize("text", ["select '\0'", "select '\ud800'"])
def test_what_no_database_takes_as_a_text_is_not_sent(text: str) -> None:
    with pytest.raises(StatementError, match="holds what is no text"):
        parse(text)


@pytest.mark.parametrize(
    "call",
    [
        f"{LOCK}(1)", f"{LOCK} (1)", f"{LOCK.upper()}(1)", f"{LOCK}/* x */(1)", f"{LOCK}--\n(1)", f'"{LOCK}"(1)',
        f"pg_catalog.{LOCK}(1)", f'"pg_catalog" . "{LOCK}" (1)', r'U&"\0070g_advisory_lock"(1)',
        "U&\"!0070g_advisory_lock\" UESCAPE '!' (1)", "U&\"!0070g_advisory_lock\" /**/ uescape --\n '!' (1)",
        f"(1).{LOCK}", f'(1::bigint) . "{LOCK}"', f"'a'\n'\\', {LOCK}(1)", f"E'\\'', {LOCK}(1)", f"$$'$$, {LOCK}(1)",
        f"1{LOCK}(1)", f"'', e'', {LOCK}(1)", f"(select {LOCK}(1))", f"\v{LOCK}\v(1)", "pg_advİsory_lock(1)",
    ],
)  # fmt: skip
def test_a_function_that_acts_beyond_the_transaction_is_found_however_it_is_written(call: str) -> None:
    for text in (
        f"select {call}",
        f"explain analyze select {call}",
        f"with a as (select 1 as {LOCK}) select {call}",
    ):
        with pytest.raises(StatementError, match="does not run here") as raised:
            parse(text)
        assert raised.value.position is not None


@pytest.mark.parametrize(
    "text",
    [
        f"select '{LOCK}(1)'",
        f"select 1 as {LOCK}",
        f"select /* {LOCK}(1) */ 1",
        f"select $${LOCK}(1)$$",
        f"select 1 {LOCK}",
    ],
)
def test_its_name_alone_is_no_call(text: str) -> None:
    assert parse(text).kind == "query"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('select * from t as "!stepwell_1"', "Stepwell's own"),
        ("select * from t as U&\"#0021stepwell\" uescape '#'", "Stepwell's own"),
        (
            r"""select * from t as U&"#0021stepwell" uescape E'\x23'""",
            "UESCAPE takes one sign in plain quotes",
        ),
        (f"values (treat(7::bigint as {LOCK})), (null)", r"TREAT\(\) does not run here"),
    ],
)
def test_what_would_hide_names_is_not_sent(text: str, why: str) -> None:
    with pytest.raises(StatementError, match=why):
        parse(text)


@pytest.mark.parametrize("text", ["select o.treat from o", "select treat, uescape from t"])
def test_what_only_looks_like_it_is_sent(text: str) -> None:
    assert parse(text).kind == "query"


@pytest.mark.parametrize("text", ["select é, x", "explain select x", " explain (costs off) /* é */ select x"])
def test_places_in_what_was_sent_are_those_in_the_text(text: str) -> None:
    statement = parse(text)
    place = text.index("x", statement.query_at)
    assert statement.position(statement.sent.rindex("x") + 1) == place + 1
    assert statement.position(statement.explained.rindex("x") + 1, explained=True) == place + 1
    assert statement.position(None) is None
    assert statement.position(1, explained=True) is None


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("select 1;", True),
        ("select 1 ; -- so", True),
        ("select 1", False),
        ("select (1;", False),
        ("select ';", False),
        ("select ';'", False),
        ("select $$;", False),
        ("select 1 /* ;", False),
        ("", False),
    ],
)
def test_a_statement_is_complete_with_its_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) is complete
