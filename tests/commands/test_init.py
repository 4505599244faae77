"""`stepwell init`."""

import json

import psycopg
import pytest

from tests.commands.cases import stepwell
from tests.replay.rows import add_step, bare_table

Capture = pytest.CaptureFixture[str]


def test_init_says_what_it_applied_and_the_second_time_that_there_was_nothing(
    dsn: str, capsys: Capture
) -> None:
    assert stepwell(dsn, "init") == 0
    assert "applied 1, 2, 3" in capsys.readouterr().out
    assert stepwell(dsn, "init") == 0
    assert capsys.readouterr().out.endswith(": nothing to do\n")


def test_runs_of_which_only_steps_are_there_are_listed_from_then_on(dsn: str, capsys: Capture) -> None:
    bare_table(dsn)
    add_step(dsn, 1, "llm_call", output=1)
    add_step(dsn, 2, "tool_call")
    assert stepwell(dsn, "init", "--json") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["adopted"] == 1
    assert done["applied"][0] == 1
    assert stepwell(dsn, "runs", "--json") == 0
    run = json.loads(capsys.readouterr().out)
    assert (run["status"], run["steps"], run["unfinished"]) == ("unknown", 2, 1)


def test_who_may_not_create_tables_is_told_who_may(dsn: str, capsys: Capture) -> None:
    role = bare_table(dsn)
    assert stepwell(f"{dsn} user={role}", "init") == 2
    err = capsys.readouterr().err
    assert "as their owner" in err
    assert err.count("\n") == 1


def test_who_may_only_look_has_nothing_to_do_or_is_told_who_lists_runs(dsn: str, capsys: Capture) -> None:
    role = bare_table(dsn)
    assert stepwell(dsn, "init") == 0
    with psycopg.connect(dsn) as connection:
        connection.execute(f"GRANT SELECT ON agent_runs, stepwell_migrations TO {role}")
    capsys.readouterr()
    assert stepwell(f"{dsn} user={role}", "init") == 0
    assert capsys.readouterr().out.endswith(": nothing to do\n")
    add_step(dsn, 1, "llm_call", output=1)
    assert stepwell(f"{dsn} user={role}", "init") == 2
    err = capsys.readouterr().err
    assert "may not list runs of which only steps are there" in err
    assert "as the owner of the tables" in err
