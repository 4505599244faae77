"""`stepwell prune`: says what went, or would; an interruption keeps what was done."""

import json
import os
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from stepwell.store.watching import watch
from tests.commands.cases import DIED, FAILED, WELL, fill, stepwell
from tests.store.rows import NOON, run_id
from tests.store.test_roles import grant_roles, login


@pytest.fixture
def marked(schema_dsn: str) -> str:
    """The failed run, of four steps, is not worth keeping."""
    fill(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("UPDATE agent_runs SET keep = '' WHERE run_id = %s", [FAILED])
    return schema_dsn


def left(dsn: str) -> set[object]:
    with psycopg.connect(dsn) as connection:
        return {row[0] for row in connection.execute("SELECT run_id FROM agent_runs")}


def test_it_says_what_would_go_and_what_went(marked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert stepwell(marked, "prune", "--dry-run") == 0
    titles, failed, total = capsys.readouterr().out.splitlines()
    assert titles.split() == ["RUN", "NAME", "WHY"]
    assert failed.split() == ["7f3a", "refund-triage", "not", "worth", "keeping"]
    assert total.endswith(": would delete 1 run with 4 steps")
    assert left(marked) == {FAILED, DIED, WELL}
    assert stepwell(marked, "prune") == 0
    assert capsys.readouterr().out.endswith(": deleted 1 run with 4 steps\n")
    assert left(marked) == {DIED, WELL}
    assert stepwell(marked, "prune") == 0
    assert capsys.readouterr().out.endswith(": deleted nothing\n")


def test_who_may_not_delete_is_told_beside_what_would_go(
    marked: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grant_roles(marked)
    with psycopg.connect(marked, autocommit=True) as owner:
        owner.execute('CREATE TABLE "My Stock" (id int PRIMARY KEY)')
        watch(owner, '"My Stock"')
    for role, lines in (("stepwell_debugger", 2), ("stepwell_pruner", 0)):
        with login(server, marked, role) as conninfo:
            assert stepwell(conninfo, "prune", "--dry-run") == 0
            out, err = capsys.readouterr()
            assert out.endswith(": would delete 1 run with 4 steps\n")
            assert err.count("\n") == lines
            if lines:
                assert err.startswith("this role may not delete runs; that takes the role stepwell_pruner")
                assert err.endswith("have its owner run stepwell watch 'public.\"My Stock\"' again\n")


def test_what_is_gone_by_the_time_that_it_is_refused_is_told_first(
    marked: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grant_roles(marked)
    with psycopg.connect(marked, autocommit=True) as owner:
        owner.execute("CREATE TABLE stock (id int PRIMARY KEY)")
        watch(owner, "stock")
        owner.execute("CREATE SCHEMA other; CREATE TABLE other.agent_runs (LIKE agent_runs)")
    with login(server, marked, "stepwell_pruner") as conninfo:
        assert stepwell(conninfo, "prune") == 2
    gone, why = capsys.readouterr().err.splitlines()
    assert gone == "deleted before that: 1 run with 4 steps"
    assert "may not read other.agent_runs" in why


def test_an_age_takes_all_that_ended_or_died_before(marked: str, capsys: pytest.CaptureFixture[str]) -> None:
    with psycopg.connect(marked) as connection:
        connection.execute(
            "UPDATE agent_runs SET started_at = %s, finished_at = finished_at - interval '2 d'", [NOON]
        )
        connection.execute("UPDATE agent_steps SET created_at = %s", [NOON])
    assert stepwell(marked, "prune", "--older-than", "3d", "--json") == 0
    assert stepwell(marked, "prune", "--older-than", "47h", "--json", "--dry-run") == 0
    died, both = map(json.loads, capsys.readouterr().out.splitlines())
    assert died == {
        "database": died["database"],
        "runs": 1,
        "steps": 1,
        "log_entries": 0,
        "dry_run": False,
        "interrupted": False,
    }
    assert (both["runs"], both["steps"], both["dry_run"]) == (2, 5, True)
    assert set(both["run_ids"]) == {str(FAILED), str(WELL)}
    assert left(marked) == {FAILED, WELL}


def test_only_the_oldest_runs_are_listed_and_why(marked: str, capsys: pytest.CaptureFixture[str]) -> None:
    with psycopg.connect(marked) as connection:
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, started_at)"
            " SELECT gen_random_uuid(), 'run' || n, 'running', now() - make_interval(days => 50 - n)"
            " FROM generate_series(1, 22) AS n"
        )
    assert stepwell(marked, "prune", "--older-than", "1d", "--dry-run") == 0
    _, *listed, more, total = capsys.readouterr().out.splitlines()
    assert [text.split()[1] for text in listed] == [f"run{n}" for n in range(1, 21)]
    assert listed[0].endswith("died, 49 d ago")
    assert more == "and 2 more"
    assert ": would delete 22 runs" in total


@pytest.mark.parametrize("age", ["30", "d", "-3d", "1.5h", "3 days", "5y", "9999999d"])
def test_an_age_that_is_none_is_refused(age: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert stepwell("nowhere", "prune", f"--older-than={age}") == 2
    assert "is no age; 30d is thirty days" in capsys.readouterr().err


def test_an_age_of_nothing_is_refused_with_the_least_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert stepwell("nowhere", "prune", "--older-than", "0d") == 2
    assert "'0d' is no age: the least is 1m, a minute" in capsys.readouterr().err


@pytest.fixture
def slow(schema_dsn: str) -> str:
    """So many runs as are deleted in a thousand transactions that take a moment each."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO agent_runs (run_id, status, steps, keep) VALUES (%s, 'ok', 10000, '')",
                [[run_id(number)] for number in range(1, 1001)],
            )
        connection.execute(
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END $$"
        )
        connection.execute("CREATE TRIGGER wait AFTER DELETE ON agent_runs EXECUTE FUNCTION wait()")
    return schema_dsn


def test_an_interruption_keeps_what_was_deleted_before_and_says_so(slow: str) -> None:
    command = [sys.executable, "-m", "stepwell", "--dsn", slow, "prune", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while len(left(slow)) > 995:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    said = json.loads(out)
    assert (process.returncode, said["interrupted"]) == (130, True)
    assert said["runs"] in (1000 - len(left(slow)), 999 - len(left(slow)))
    assert len(left(slow)) > 0
