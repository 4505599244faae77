"""The schema: applied once by whoever comes first, by psql as well, and kind to tables that were there."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell.errors import DatabaseError
from stepwell.store import reading
from stepwell.store.heads import read_heads
from stepwell.store.migrate import applied, migrate
from stepwell.store.queries import query, schema_files, sql_folder

VERSIONS = [version for version, _ in schema_files()]
RUN = UUID("7f3a0000-0000-4000-8000-000000000001")
IDS = {
    "serial": "id serial PRIMARY KEY",
    "uuid": "id uuid PRIMARY KEY DEFAULT gen_random_uuid()",
}


def bare_table(
    dsn: str, id_column: str, index: str = "CREATE INDEX by_run ON agent_steps (run_id, step_number)"
) -> None:
    """The eight columns as people make them by hand, and two rows."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            f"CREATE TABLE agent_steps ({id_column}, run_id uuid, step_number int, step_type text,"
            " input jsonb, output jsonb, created_at timestamptz DEFAULT now(), seed bigint)"
        )
        connection.execute(index)
        for number, output in ((1, '"hi"'), (2, None)):
            connection.execute(
                "INSERT INTO agent_steps (run_id, step_number, step_type, input, output, seed)"
                " VALUES (%s, %s, 'llm_call', '{}', %s, 7)",
                [RUN, number, output],
            )


def scalars(dsn: str, statement: str) -> list[object]:
    with psycopg.connect(dsn) as connection:
        return [row[0] for row in connection.execute(statement).fetchall()]


def indexes(dsn: str) -> list[object]:
    return scalars(
        dsn,
        "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'agent_steps'::regclass"
        " AND NOT indisprimary AND indpred IS NULL ORDER BY 1",
    )


def test_versions_have_no_gaps() -> None:
    assert list(range(1, len(VERSIONS) + 1)) == VERSIONS


def test_the_first_applies_all_and_the_second_nothing(dsn: str) -> None:
    assert migrate(dsn) == VERSIONS
    assert migrate(dsn) == []


def test_only_what_is_missing_is_applied(dsn: str) -> None:
    migrate(dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("ALTER TABLE agent_runs DROP COLUMN keep")
        connection.execute("DELETE FROM stepwell_migrations WHERE version = 4")
        connection.commit()
        assert applied(connection) == set(VERSIONS) - {4}
    assert migrate(dsn) == [4]


def test_of_many_at_once_one_applies_and_the_others_wait(dsn: str) -> None:
    together = Barrier(4)

    def one(_: int) -> list[int]:
        together.wait()
        return migrate(dsn)

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(one, range(4))) == [[], [], [], VERSIONS]


def test_a_migration_that_fails_leaves_nothing_behind(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE agent_runs (unrelated int)")
    with pytest.raises(
        DatabaseError, match=r'cannot be brought up to date: column "started_at".*nothing was changed'
    ):
        migrate(dsn)
    assert scalars(dsn, "SELECT to_regclass('agent_steps')::text") == [None]


def test_a_role_that_may_not_create_is_told_who_can(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        connection.execute("CREATE ROLE stepwell_test_guest LOGIN PASSWORD 'guest'")
    try:
        with pytest.raises(
            DatabaseError, match=r"stepwell_test_guest may not create .*stepwell init.* as their owner"
        ):
            migrate(make_conninfo(dsn, user="stepwell_test_guest", password="guest"))
    finally:
        with psycopg.connect(dsn) as connection:
            connection.execute("DROP ROLE stepwell_test_guest")


def test_psql_applies_the_files_too_and_twice(dsn: str) -> None:
    psql = shutil.which("psql")
    if psql is None:
        pytest.skip("psql is not installed")
    files = sorted(str(file) for file in Path(str(sql_folder() / "schema")).glob("*.sql"))
    command = [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn]
    for _ in range(2):
        done = subprocess.run(
            [*command, *(word for file in files for word in ("-f", file))],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert migrate(dsn) == []


@pytest.mark.parametrize("id_column", IDS.values(), ids=IDS)
def test_a_table_made_by_hand_keeps_its_rows_and_its_index(dsn: str, id_column: str) -> None:
    bare_table(dsn, id_column)
    before = scalars(dsn, "SELECT id::text FROM agent_steps ORDER BY step_number")
    assert migrate(dsn) == VERSIONS
    assert scalars(dsn, "SELECT id::text FROM agent_steps ORDER BY step_number") == before
    assert scalars(dsn, "SELECT seed FROM agent_steps") == [7, 7]
    assert indexes(dsn) == ["by_run"]
    with psycopg.connect(dsn) as connection:
        heads = read_heads(connection, RUN)
    assert [(head.number, head.in_doubt, head.name) for head in heads] == [(1, False, None), (2, True, None)]


def test_an_index_on_other_columns_does_not_count(dsn: str) -> None:
    bare_table(dsn, IDS["serial"], "CREATE INDEX by_number ON agent_steps (step_number, run_id)")
    migrate(dsn)
    assert indexes(dsn) == ["agent_steps_run_id_step_number", "by_number"]


def test_a_longer_index_that_begins_so_counts(dsn: str) -> None:
    bare_table(
        dsn, IDS["serial"], "CREATE INDEX covering ON agent_steps (run_id, step_number) INCLUDE (step_type)"
    )
    migrate(dsn)
    assert indexes(dsn) == ["covering"]


def test_numbers_that_were_written_twice_do_not_stop_it(dsn: str) -> None:
    bare_table(dsn, IDS["serial"], "INSERT INTO agent_steps (run_id, step_number) VALUES (NULL, 0)")
    with psycopg.connect(dsn) as connection:
        connection.execute("DELETE FROM agent_steps WHERE run_id IS NULL")
        connection.execute(
            "INSERT INTO agent_steps (run_id, step_number, step_type) SELECT run_id, step_number, step_type"
            " FROM agent_steps"
        )
    assert migrate(dsn) == VERSIONS
    assert indexes(dsn) == ["agent_steps_run_id_step_number"]


def test_runs_of_which_only_steps_exist_are_adopted_once(dsn: str) -> None:
    bare_table(dsn, IDS["serial"])
    migrate(dsn)
    with psycopg.connect(dsn) as connection:
        assert connection.execute(query("adopt_runs")).rowcount == 1
        assert connection.execute(query("adopt_runs")).rowcount == 0
        (run,) = reading.list_runs(connection, limit=9)
    assert (run.run_id, run.status, run.steps, run.unfinished) == (RUN, "unknown", 2, 1)
    assert (run.unfinished_number, run.unfinished_name) == (2, "llm_call")


def test_adopting_nothing_is_no_error(schema_dsn: str) -> None:
    with psycopg.connect(schema_dsn) as connection:
        assert connection.execute(query("adopt_runs")).rowcount == 0
