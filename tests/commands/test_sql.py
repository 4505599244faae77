"""`stepwell sql`: a query at a step, printed for people, as CSV and as JSON."""

import json
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import psycopg
import pytest

from tests.commands.cases import stepwell
from tests.store.conftest import wait_until

Out = pytest.CaptureFixture[str]
CAUTION = "superuser role; Stepwell only reads; safer: sql/roles.sql"


def printed(capsys: Out, dsn: str, *words: str) -> tuple[str, list[str]]:
    """What is printed, and the lines beside it without that about the role, which is the last of them."""
    assert stepwell(dsn, "sql", *words) == 0
    out, beside = capsys.readouterr()
    *lines, last = beside.splitlines() or [CAUTION]
    assert last.endswith(CAUTION)
    return out, lines


def said(capsys: Out, dsn: str, *words: str) -> tuple[int, str]:
    """The exit status and the one line that is said."""
    status = stepwell(dsn, "sql", *words)
    out, said = capsys.readouterr()
    assert (out, said.count("\n")) == ("", 1)
    return status, said.rstrip("\n")


def test_people_get_a_table_and_what_it_is(shop: str, capsys: Out) -> None:
    query = "SELECT id, note, NULL AS nothing, 'NULL' AS text FROM orders WHERE id IN (1, 10) ORDER BY id"
    out, beside = printed(capsys, shop, "7f3a:1", query, "--asked")
    assert out.splitlines() == [
        "id  note     nothing  text",
        " 1  note 1   NULL     'NULL'",
        "10  note 10  NULL     'NULL'",
    ]
    assert beside == ["as of 7f3a:1 asked (shop), exact"]


def test_what_is_not_of_then_is_named(shop: str, capsys: Out) -> None:
    out, beside = printed(
        capsys, shop, "@last:1", "SELECT o.note, newest() FROM public.orders AS o WHERE id = 1"
    )
    assert out.splitlines() == ["note  newest", "new     1200"]
    assert beside == [
        "7f3a:1 after (shop): no watched table is read",
        "public.orders: today's rows, not those of step 1",
        "public.newest(): what it reads cannot be told",
    ]


@pytest.mark.parametrize("words", [("7f3a",), ("7f3a:3",), ("7f3a:100%",)])
def test_a_step_without_a_snapshot_is_told(shop: str, capsys: Out, words: tuple[str, ...]) -> None:
    _, beside = printed(capsys, shop, *words, "TABLE parts")
    assert beside[0] == "7f3a:3 after (shop): recorded without a snapshot, so that all rows are today's"
    assert beside[1].startswith("parts: today's rows, not those of step 3")


def test_more_rows_than_are_shown_are_told(shop: str, capsys: Out) -> None:
    assert stepwell(shop, "sql", "7f3a:1", "TABLE orders") == 0
    out, beside = capsys.readouterr()
    assert len(out.splitlines()) == 501
    assert beside.splitlines()[-1] == (
        "there are more rows than these 500: --limit N, or all of them with --csv or --json"
    )
    assert len(printed(capsys, shop, "7f3a:1", "TABLE orders", "--limit", "1200")[0].splitlines()) == 1201


def test_no_rows_are_told_with_the_names_of_the_columns(shop: str, capsys: Out) -> None:
    assert printed(capsys, shop, "7f3a:1", "SELECT * FROM orders LIMIT 0")[0] == "id  note\n(no rows)\n"


def test_csv_has_all_rows_and_tells_nothing_from_an_empty_text(shop: str, capsys: Out) -> None:
    query = "SELECT NULL AS a, '' AS b, 'x,\"y\"' AS \"c,d\", E'1\\n2' AS e"
    out, beside = printed(capsys, shop, "7f3a:1", "--csv", query)
    assert out == 'a,b,"c,d",e\r\n,"","x,""y""","1\n2"\r\n'
    assert beside == ["7f3a:1 after (shop): no watched table is read"]
    assert len(printed(capsys, shop, "7f3a:1", "TABLE orders", "--csv")[0].splitlines()) == 1201


def test_json_keeps_what_json_can(shop: str, capsys: Out) -> None:
    query = """SELECT 12345678901234567890.10 AS n, 1.5::float8, 'NaN'::float8, true, NULL, 7::bigint,
                      '{"a": [1, 100000000000000000000]}'::jsonb, 'x'::text, date '2025-03-01', note
               FROM orders WHERE id = 1"""
    out, _ = printed(capsys, shop, "7f3a:1", "--json", query, "--asked")
    assert "[[12345678901234567890.10, 1.5, " in out
    found = json.loads(out)
    assert found["rows"][0][2:] == [
        "NaN", True, None, 7, {"a": [1, 10**20]}, "x", "2025-03-01", "note 1",
    ]  # fmt: skip
    assert found["types"][:3] == ["numeric", "double precision", "double precision"]
    assert (found["address"], found["name"], found["moment"]) == (
        "7f3a0000000040008000000000000001:1",
        "shop",
        "asked",
    )
    assert found["seen"] == [{"name": "orders", "how": "past", "certainty": "exact", "why": ""}]
    assert found["tables"][0] == {
        "schema": "public", "name": "orders", "key": ["id"], "columns": ["id", "note"], "certainty": "exact", "why": "",
    }  # fmt: skip
    assert (found["more"], found["caution"]) == (False, CAUTION)
    assert found["replay"]["rolled_back"] is True


def test_the_statement_may_stand_in_a_file_or_come_in(
    shop: str, capsys: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "query.sql"
    file.write_text("-- eight\nSELECT 8 AS n;\n", encoding="utf-8")
    assert printed(capsys, shop, "7f3a:1", "-f", str(file))[0] == "n\n8\n"
    assert printed(capsys, shop, "--file", str(file), "7f3a:1", "--csv")[0] == "n\r\n8\r\n"
    monkeypatch.setattr("sys.stdin", StringIO("SELECT 9 AS n"))
    assert printed(capsys, shop, "7f3a:1", "-")[0] == "n\n9\n"
    monkeypatch.setattr("sys.stdin", StringIO("SELECT 7 AS n"))
    assert printed(capsys, shop, "7f3a:1", "-f", "-")[0] == "n\n7\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [("@last:1", "7f3a:1"), ("7F3A0:1", "7f3a0:1"), ("7f:1", "7f3a:1"), ("@last:50%", "7f3a:2")],
)
def test_the_run_and_the_step_that_were_found_are_told(shop: str, capsys: Out, given: str, told: str) -> None:
    assert (
        printed(capsys, shop, given, "SELECT FROM orders LIMIT 1")[1][0]
        == f"as of {told} after (shop), exact"
    )


def test_an_interruption_cancels_the_statement_and_says_so(shop: str) -> None:
    words = ["sql", "7f3a:1", "SELECT pg_sleep(60)", "--dsn", shop]
    command = subprocess.Popen(
        [sys.executable, "-m", "stepwell", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    asleep = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
    with command, psycopg.connect(shop, autocommit=True) as other:
        wait_until(lambda: bool(other.execute(asleep).fetchall()))
        command.send_signal(signal.SIGINT)
        assert command.communicate(timeout=60) == (b"", b"cancelled\n")
        assert command.returncode == 130
        wait_until(lambda: not other.execute(asleep).fetchall())


def test_the_usage_says_that_a_file_is_enough(capsys: Out) -> None:
    assert stepwell("", "sql", "--help") == 0
    assert "ADDRESS (SQL | -f FILE)" in capsys.readouterr().out


def test_the_watched_tables_and_their_columns_can_be_listed(shop: str, capsys: Out) -> None:
    assert stepwell(shop, "sql", "7f3a:1", "\\d") == 0
    out, beside = capsys.readouterr()
    assert beside == ""
    assert out.splitlines() == [
        "table          key  certainty  why",
        "public.orders  id   exact",
        "public.parts   id   exact",
    ]
    out, lines = printed(capsys, shop, "7f3a:1", "\\d orders;")
    assert out.splitlines() == ["column  type     key", "id      integer  key", "note    text"]
    assert lines == ["as of 7f3a:1 after (shop), exact"]


def test_what_runs_here_can_be_asked_without_a_database(capsys: Out) -> None:
    assert stepwell("host=/nowhere", "sql", "7f3a:1", "\\?") == 0
    assert "SELECT, WITH, VALUES, TABLE, EXPLAIN and SHOW run here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("beef:1", "SELECT 1"), 1, "no run's id begins with beef; list them: stepwell runs"),
        (("7f3a:9", "SELECT 1"), 1, "7f3a0000: step 9: the run has 1-3"),
        (("7f3a:1:$.output", "SELECT 1"), 2, "sql takes a step; a path goes with show"),
        (
            ("7f3a:1", "DELETE FROM orders"),
            2,
            "only SELECT, WITH, VALUES, TABLE, EXPLAIN and SHOW run here: the replay is read-only (line 1, column 1)",
        ),
        (
            ("7f3a:1", "SELECT\n  nota\nFROM orders"),
            2,
            'column "nota" does not exist; Perhaps you meant to reference the column "orders.note" (line 2, column 3)',
        ),
        (("7f3a:1", "SELECT 1/0"), 2, "division by zero"),
        (("7f3a:1", "\\d nothing"), 2, 'relation "nothing" does not exist'),
        (("7f3a:1", "\\dt"), 2, "no command \\dt: \\d, \\d NAME, \\?"),
        (("7f3a:1", "-f", "/nowhere.sql"), 2, "/nowhere.sql: No such file or directory"),
        (("7f3a:1", "-f", "x.sql", "SELECT 1"), 2, "one statement: either as a word or with -f"),
    ],
)
def test_what_is_wrong_is_one_line(
    shop: str, capsys: Out, words: tuple[str, ...], status: int, line: str
) -> None:
    assert said(capsys, shop, *words) == (status, f"stepwell: {line}")


def test_recorded_controls_are_spelled_out(shop: str, capsys: Out) -> None:
    out, _ = printed(capsys, shop, "7f3a:1", "SELECT E'\\x1b[31mred' AS \"\x1b]0;x\x07\"")
    assert out == "\\x1b]0;x\\x07\n\\x1b[31mred\n"
