"""What agent_steps has to have: said early, in one line with the remedy, wherever it is opened."""

from contextlib import closing

import psycopg
import pytest

import stepwell
from stepwell import DatabaseError
from stepwell.cli import main
from stepwell.replay.runs import Runs
from stepwell.store.columns import check_columns
from stepwell.store.connect import connect, resolve
from tests.replay.rows import RUN, add_step, bare_table

Capture = pytest.CaptureFixture[str]

ENTRIES = (
    ["runs"],
    ["steps", str(RUN)],
    ["show", f"{RUN}:1"],
    ["replay", str(RUN)],
    ["init"],
)


def changed(dsn: str, *statements: str) -> None:
    bare_table(dsn)
    add_step(dsn, 1, "llm_call", output=1)
    with psycopg.connect(dsn) as connection:
        for statement in statements:
            connection.execute(statement)


def remedy(problem: str) -> str:
    return problem.partition("; change it: ")[2].rstrip("\n")


@pytest.mark.parametrize(
    ("statements", "fault"),
    [
        (["ALTER TABLE agent_steps DROP id"], "lacks id (bigint)"),
        (["ALTER TABLE agent_steps DROP id, DROP seed"], "lacks id (bigint), seed (bigint)"),
        (["ALTER TABLE agent_steps ALTER run_id TYPE text"], "has other types: run_id is text, not uuid"),
        (["ALTER TABLE agent_steps DROP id, ALTER output TYPE json"], "output is json, not jsonb"),
    ],
)
def test_every_entry_says_what_is_wrong_and_its_remedy_makes_it_right(
    dsn: str, capsys: Capture, statements: list[str], fault: str
) -> None:
    changed(dsn, *statements)
    told = set()
    for words in ENTRIES:
        assert main(["--dsn", dsn, *words]) == 2
        told.add(capsys.readouterr().err.removeprefix("stepwell: "))
    with pytest.raises(DatabaseError) as refused:
        stepwell.Recorder(dsn)
    assert str(refused.value) in told.pop()
    assert not told
    assert fault in str(refused.value)
    with psycopg.connect(dsn) as connection:
        connection.execute(remedy(str(refused.value)).encode())
    for words in ENTRIES:
        assert main(["--dsn", dsn, *words]) == 0, words


@pytest.mark.parametrize(
    "column",
    ["id TYPE text", "step_number TYPE bigint", "step_type TYPE varchar(20)", "created_at TYPE timestamp"],
)
def test_types_that_serve_as_well_are_taken(dsn: str, capsys: Capture, column: str) -> None:
    changed(dsn, f"ALTER TABLE agent_steps ALTER {column}")
    for words in ENTRIES:
        assert main(["--dsn", dsn, *words]) == 0, capsys.readouterr().err


def test_of_a_domain_the_type_below_counts_and_a_view_is_no_table_to_alter(dsn: str) -> None:
    changed(
        dsn,
        "CREATE DOMAIN run_key AS uuid",
        "ALTER TABLE agent_steps ALTER run_id TYPE run_key",
        "ALTER TABLE agent_steps RENAME TO kept",
        "CREATE VIEW agent_steps AS SELECT * FROM kept",
    )
    with connect(resolve(dsn)) as connection:
        check_columns(connection)
        connection.execute("DROP VIEW agent_steps")
        connection.execute("CREATE VIEW agent_steps AS SELECT * FROM kept")
        connection.execute("ALTER VIEW agent_steps RENAME id TO number")
        with pytest.raises(DatabaseError, match=r"lacks id \(bigint\); change it: have the view give it so$"):
            check_columns(connection)


def test_a_table_that_is_put_right_is_read_over_the_same_reader(dsn: str) -> None:
    changed(dsn, "ALTER TABLE agent_steps DROP id")
    with closing(Runs(resolve(dsn))) as runs:
        for _ in range(2):
            with pytest.raises(DatabaseError, match="lacks id") as told:
                runs.page(10)
        with psycopg.connect(dsn) as connection:
            connection.execute(remedy(str(told.value)).encode())
        assert [run.run_id for run in runs.page(10)] == [RUN]
