"""The parts of the SQL screen that are functions: what rows mean, a mistake's place, a table in cells, commands."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stepwell.app.panes.answer import (
    meaning_lines,
    refused_document,
    replay_words,
    tables_document,
    watched_lines,
)
from stepwell.app.panes.grid import Grid, Place
from stepwell.app.present import cells, line_cells, line_text, lines, plain_text
from stepwell.app.present.spans import Role
from stepwell.app.result import Result
from stepwell.app.sql_commands import Meta, parse_meta, runs, table_named
from stepwell.app.sql_history import MOST, History
from stepwell.core.past import Answer, Certainty, Instant, Rows, Seen, Table, Verdict
from stepwell.core.world import Replay
from stepwell.errors import StatementError, UsageError

EXACT = Verdict(Certainty.EXACT)
UNCERTAIN = Verdict(Certainty.UNCERTAIN, "its log has a gap since 11:40; stepwell watch stock closes it")
REPLAY = Replay("SERIALIZABLE READ ONLY DEFERRABLE", 3.2, 0, 0, "number")
NONE = Rows((), (), ())
SEEN = (
    Seen("orders", "past", EXACT),
    Seen("stock", "past", UNCERTAIN),
    Seen("public.users", "today"),
    Seen("total()", "opaque"),
)


def meaning(answer: Answer, width: int = 200, most: int = 3) -> list[str]:
    return [line_text(line) for line in meaning_lines(answer, "7f3a:11 after", width, most)]


def test_what_is_least_certain_comes_first() -> None:
    answer = Answer(NONE, SEEN, (), REPLAY, Instant("1:1:"))
    (line,) = meaning_lines(answer, "7f3a:11 after", 200, 3)
    assert line_text(line) == (
        "as of 7f3a:11 after: public.users today; stock uncertain: its log has a gap since 11:40;"
        " stepwell watch stock closes it; total() opaque; orders exact"
    )
    roles = {span.text: span.role for span in line}
    assert roles["public.users today"] is roles[f"stock uncertain: {UNCERTAIN.why}"] is Role.ERROR
    assert roles["orders exact"] is Role.PLAIN


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_it_takes_no_more_rows_than_it_may(width: int, most: int) -> None:
    """And says that it is cut."""
    answer = Answer(NONE, SEEN * 4, (), REPLAY, Instant("1:1:"))
    shown = meaning(answer, width, most)
    assert len(shown) == most
    assert shown[-1].endswith("…")
    for line in meaning_lines(answer, "7f3a:11 after", width, most):
        assert line_cells(line) <= width + 1  # a blank at the end is not shown


def test_without_a_snapshot_everything_is_of_today() -> None:
    answer = Answer(NONE, SEEN[2:], (), REPLAY, None)
    assert meaning(answer) == ["7f3a:11 after has no snapshot: today's rows; total() opaque"]


def test_of_a_watched_table_that_is_read_as_it_is_today_the_name_of_its_past_is_told() -> None:
    """Where there is one: another table may have it too, or the past be unknown."""
    read = (Seen("shop.orders", "today"),)
    orders = Table("shop", "orders", ("id",), ("id",), UNCERTAIN)
    for tables, words in (
        ((orders,), "shop.orders today: without its schema it is of this step"),
        ((orders, replace(orders, schema="old")), "shop.orders today"),
        ((replace(orders, verdict=Verdict(Certainty.UNKNOWN, "it was dropped")),), "shop.orders today"),
    ):
        shown = meaning(Answer(NONE, read, tables, REPLAY, Instant("1:1:")))
        assert shown == [f"as of 7f3a:11 after: {words}"]


def test_a_statement_that_reads_no_watched_table_says_so() -> None:
    assert meaning(Answer(NONE, (), (), REPLAY, Instant("1:1:"))) == [
        "as of 7f3a:11 after: no watched table is read"
    ]


def test_without_a_statement_it_tells_how_many_tables_are_watched() -> None:
    tables = tuple(Table("public", f"t{n}", ("id",), ("id",), UNCERTAIN if n else EXACT) for n in range(3))
    (line,) = watched_lines(Answer(NONE, (), tables, REPLAY, Instant("1:1:")), "7f3a:11 after", 80)
    assert line_text(line).rstrip() == "as of 7f3a:11 after: 3 watched tables, 2 not exact"
    shown = list(plain_text(tables_document(tables, 60)))
    assert shown[0] == "public.t0  exact"
    assert shown[1:3] == [
        "public.t1  uncertain: its log has a gap since 11:40;",
        "           stepwell watch stock closes it",
    ]


def test_how_it_was_read_is_shortened_only_where_it_has_to_be() -> None:
    assert replay_words(REPLAY, 80) == "3 ms SERIALIZABLE READ ONLY DEFERRABLE, rolled back"
    assert replay_words(REPLAY, 40) == "3 ms SERIALIZABLE, rolled back"
    weaker = Replay("REPEATABLE READ READ ONLY", 3.2, 0, 0, "number", notes=("standby",))
    assert replay_words(weaker, 80) == "3 ms REPEATABLE READ READ ONLY, rolled back: standby"


@pytest.mark.parametrize(
    ("text", "position", "line", "caret"),
    [
        ("selec 1", 1, "LINE 1: selec 1", 8),
        ("select\n\t1,\n  日本 x, no", 15, "LINE 3:   日本 x, no", 12),
        ("select 1 +", 11, "LINE 1: select 1 +", 18),
        ("select " + "1, " * 100 + "oops", 308, None, None),
        ("select " + "日" * 100 + " oops, 2, 3", 109, None, None),
    ],
)
def test_the_place_of_a_mistake_is_marked(
    text: str, position: int, line: str | None, caret: int | None
) -> None:
    shown = list(lines(refused_document(text, StatementError("no", position=position), 60)))
    pointed, marks = shown[1:3]
    assert max(map(line_cells, shown)) <= 60
    at = line_cells(marks[:1])
    if line is not None:
        assert line_text(pointed) == line
        assert at == caret
    else:
        assert "…" in line_text(pointed)
        assert line_text(pointed).endswith(("oops", "oops, 2, 3"))
        assert cells(line_text(pointed).partition("oops")[0]) == at


def test_all_that_a_database_says_is_shown() -> None:
    problem = StatementError("no", detail="Key\x1b is there.", hint="Perhaps.", sqlstate="42703")
    assert list(plain_text(refused_document("x", problem, 60))) == [
        "! no", "DETAIL: Key\\x1b is there.", "HINT: Perhaps.", "SQLSTATE 42703",
    ]  # fmt: skip


def table(*rows: tuple[str | None, ...], types: tuple[str, ...] = ("integer", "text", "text")) -> Rows:
    return Rows(("id", "long", "other"), types, rows)


def test_columns_are_as_wide_as_they_need_and_share_what_there_is() -> None:
    rows = table(("7", "x" * 50, "y" * 18), ("1234", None, "NULL"))
    grid = Grid(rows)
    assert line_text(grid.header(0, 100)) == "    id  long" + " " * 48 + "other"
    assert line_text(grid.line(1, 0, 60)) == "  1234  NULL" + " " * 30 + "'NULL'"
    assert line_text(grid.line(0, 0, 60)) == "     7  " + "x" * 31 + "…  " + "y" * 18
    assert grid.fitting(0, 60) == 3
    assert grid.fitting(0, 30) == 2
    for width in (10, 30, 60, 100):
        for row in range(2):
            assert line_cells(grid.line(row, 0, width)) <= width + 2


def test_numbers_that_count_up_are_whole_in_the_last_of_many_rows() -> None:
    rows = table(*((str(number), "x" * 50, None) for number in range(1, 10_001)))
    assert line_text(Grid(rows).line(9_999, 0, 80)).startswith("  10000  x")


def test_the_chosen_value_is_marked_by_more_than_colour() -> None:
    line = Grid(table(("7", "a", "b"))).line(0, 0, 80, Place(0, 1))
    assert line[0].text == "> "
    assert [span.text.strip() for span in line if span.role is Role.CURSOR] == ["a"]


def test_a_cursor_stays_in_the_table_and_in_view() -> None:
    result = Result(table(*((str(n), "x" * 50, "y" * 50) for n in range(100))))
    moves = [
        "page_down",
        "down",
        "right",
        "right",
        "right",
        "page_down",
        "bottom",
        "down",
        "last",
        "top",
        "left",
    ]
    for how in moves:
        result.move(how)
        shown = result.lines(30, 10, chosen=True)
        assert len(shown) == 10
        assert sum(line[0].text == "> " for line in shown[1:]) == 1
    assert result.at == (0, 1)
    assert result.where() == "columns 2-2/3  1-9/100"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("select 1", None),
        (r"\d", Meta("d")),
        (r" \d orders ;", Meta("d", "orders")),
        (r"\more", Meta("more")),
        (r"\?", Meta("?")),
    ],
)
def test_commands_begin_with_a_backslash(text: str, wanted: Meta | None) -> None:
    assert parse_meta(text) == wanted


@pytest.mark.parametrize("text", ["\\", r"\dx", r"\more 5", r"\copy orders to x"])
def test_an_unknown_command_names_those_that_there_are(text: str) -> None:
    with pytest.raises(UsageError, match=r"\\d TABLE"):
        parse_meta(text)


def test_a_table_is_found_with_its_schema_and_without() -> None:
    one, other = (Table(schema, "orders", ("id",), ("id",), EXACT) for schema in ("a", "b"))
    assert table_named([one, other], "b.orders") is other
    assert table_named([one], '"orders"') is one
    with pytest.raises(UsageError, match="in a and b"):
        table_named([one, other], "orders")


def test_a_line_runs_and_lines_run_when_they_are_complete() -> None:
    assert runs("select 1")
    assert runs("select\n1;")
    assert not runs("select\n1")
    assert not runs("select ';\n'")


def test_the_history_is_bounded_and_survives_any_file(tmp_path: Path) -> None:
    history = History(tmp_path / "new")
    for number in range(MOST + 5):
        history.add(f"select {number}")
    assert len(history.texts) == MOST
    for number in (1, 2, 1):
        history.keep(f"select {number}")
    history.save()
    assert json.loads(history.path.read_text()) == ["select 2", "select 1"]
    for broken in ("", "{}", "[1, null]", "[" * 10_000, '["\\ud800"]'):
        history.path.write_text(broken)
        found = History(tmp_path / "new")
        found.keep("select 3")
        found.save()
        assert found.recall(1, "") is None
    history.path.unlink()
    history.path.mkdir()
    history.keep("select 4")
    history.save()
