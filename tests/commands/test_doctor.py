"""`stepwell doctor`: what a role can and cannot do, said of a real server."""

import json
from pathlib import Path

import psycopg
import pytest

from stepwell.commands.doctor import lines
from stepwell.core.doctor import Finding, Level
from stepwell.store.watching import watch
from tests.commands.cases import fill, stepwell
from tests.pooler import pooler
from tests.store.test_roles import grant_roles, login

Capture = pytest.CaptureFixture[str]


def findings(dsn: str, capsys: Capture) -> tuple[int, dict[str, list[dict[str, str | None]]]]:
    """The exit status, and what was found, by topic."""
    capsys.readouterr()
    status = stepwell(dsn, "doctor", "--json")
    found: dict[str, list[dict[str, str | None]]] = {}
    for line in capsys.readouterr().out.splitlines():
        told = json.loads(line)
        found.setdefault(str(told["topic"]), []).append(told)
    return status, found


def test_a_database_that_is_well_gives_no_warning(schema_dsn: str, server: str, capsys: Capture) -> None:
    fill(schema_dsn)
    grant_roles(schema_dsn)
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE orders (id int PRIMARY KEY); GRANT SELECT ON orders TO stepwell_debugger"
        )
        watch(connection, "orders")
    with login(server, schema_dsn, "stepwell_debugger") as conninfo:
        status, found = findings(conninfo, capsys)
    assert status == 0
    assert [told["level"] for told in found["role"] + found["watched"] + found["clock"] + found["move"]] == [
        "ok"
    ] * 4
    assert found["runs"][0]["text"] == "1 died, 1 of them with a step in doubt"
    assert {told["level"] for each in found.values() for told in each} <= {"ok", "note"}


def test_an_empty_database_lacks_the_tables(dsn: str, capsys: Capture) -> None:
    assert stepwell(dsn, "doctor") == 1
    (warning,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WARN")]
    assert warning.split(maxsplit=1)[1] == (
        "tables    agent_steps, agent_runs: not there, or not in the search path; stepwell init"
    )


def test_what_is_not_well_with_watched_tables_is_a_warning(
    schema_dsn: str, server: str, capsys: Capture
) -> None:
    grant_roles(schema_dsn)
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE orders (id int PRIMARY KEY, v text); CREATE VIEW today AS SELECT * FROM orders;"
            "CREATE FUNCTION fixed() RETURNS int LANGUAGE sql SET search_path = public AS 'SELECT 1';"
            "CREATE FUNCTION bound() RETURNS bigint LANGUAGE sql RETURN (SELECT count(*) FROM orders);"
            "CREATE FUNCTION other() RETURNS bigint LANGUAGE sql RETURN 7"
        )
        watch(connection, "orders")
        assert findings(schema_dsn, capsys)[0] == 0
        connection.execute('ALTER TABLE orders DISABLE TRIGGER "!stepwell"')
        connection.execute("GRANT SELECT ON orders TO stepwell_debugger")
        status, found = findings(schema_dsn, capsys)
    assert status == 1
    trigger, readers = found["watched"]
    assert "a trigger of Stepwell's on public.orders was disabled" in str(trigger["text"])
    assert "stepwell_debugger may read either the table or its log" in str(readers["text"])
    assert {trigger["remedy"], readers["remedy"]} == {"stepwell watch public.orders"}
    assert found["views"][0]["text"] == "these read today's rows of watched tables: today"
    assert str(found["functions"][0]["text"]).endswith(": bound(), fixed()")
    with login(server, schema_dsn, "stepwell_debugger") as conninfo:
        status, found = findings(conninfo, capsys)
    assert "may not read its log" in str(found["watched"][0]["text"])
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        watch(connection, "orders")
    assert findings(schema_dsn, capsys)[0] == 0


def test_a_role_without_rights_is_told_table_by_table(schema_dsn: str, server: str, capsys: Capture) -> None:
    grant_roles(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("REVOKE SELECT ON agent_runs FROM stepwell_pruner")
    with login(server, schema_dsn, "stepwell_pruner") as conninfo:
        status, found = findings(conninfo, capsys)
    assert status == 1
    assert [told["level"] for told in found["tables"]] == ["ok", "WARN"]


def test_a_serializable_writer_that_keeps_moves_waiting_is_named(schema_dsn: str, capsys: Capture) -> None:
    with psycopg.connect(schema_dsn, application_name="shop") as writer:
        writer.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        writer.execute("UPDATE agent_runs SET steps = 1")
        status, found = findings(schema_dsn, capsys)
    assert status == 1
    assert "REPEATABLE READ READ ONLY: no safe snapshot in 1000 ms behind shop" in str(
        found["move"][0]["text"]
    )


def test_a_pooler_between_is_found(schema_dsn: str, short_folder: Path, capsys: Capture) -> None:
    with pooler(schema_dsn, short_folder) as conninfo:
        _, found = findings(conninfo, capsys)
    assert found["pooler"][0]["level"] == "note"


def test_a_standby_is_told(standby_dsn: str, capsys: Capture) -> None:
    _, found = findings(standby_dsn, capsys)
    assert (found["standby"][0]["level"], found["move"][0]["level"]) == ("note", "note")


def test_a_finding_takes_the_width_of_the_terminal_and_begins_with_its_level() -> None:
    finding = Finding(Level.WARN, "functions", "read " * 30, "stop")
    shown = lines(finding, 80)
    assert shown[0].startswith("WARN  functions read")
    assert max(map(len, shown)) <= 80
    assert all(text.startswith(" " * 16) for text in shown[1:])
    assert lines(finding, None) == [f"WARN  functions {'read ' * 30}; stop"]
