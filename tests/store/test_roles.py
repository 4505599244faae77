"""roles.sql: two roles, each enough for its job and for nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import IsolationLevel, sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

import stepwell
from stepwell.core.world import Moment
from stepwell.replay import Replayer
from stepwell.replay.runs import Runs
from stepwell.store.connect import connect, resolve
from stepwell.store.migrate import migrate
from stepwell.store.queries import sql_folder
from stepwell.store.transaction import read_snapshot
from tests.commands.cases import stepwell as command_line
from tests.store.rows import add_run, add_step, run_id

RUN = run_id(1)
REFUSED = psycopg.errors.InsufficientPrivilege


def grant_roles(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute((sql_folder() / "roles.sql").read_bytes())


@contextmanager
def login(server: str, dsn: str, role: str) -> Iterator[str]:
    """A conninfo of somebody who was granted `role`, whom the server then forgets."""
    name = sql.Identifier(f"stepwell_test_{role}")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(name))
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'it'").format(name))
        connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), name))
        yield make_conninfo(dsn, user=f"stepwell_test_{role}", password="it")
        connection.execute(sql.SQL("DROP ROLE {}").format(name))


@pytest.fixture
def debugger(server: str, schema_dsn: str) -> Iterator[str]:
    grant_roles(schema_dsn)
    with login(server, schema_dsn, "stepwell_debugger") as conninfo:
        yield conninfo


@pytest.fixture
def recorder(server: str, schema_dsn: str) -> Iterator[str]:
    grant_roles(schema_dsn)
    with login(server, schema_dsn, "stepwell_recorder") as conninfo:
        yield conninfo


def refused(dsn: str, *statements: str) -> list[str]:
    """Those of the statements that are not allowed."""
    found = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            try:
                connection.execute(statement)
            except REFUSED:
                found.append(statement)
                connection.rollback()
    return found


def test_the_file_may_be_run_again(schema_dsn: str) -> None:
    grant_roles(schema_dsn)
    grant_roles(schema_dsn)


def test_a_debugger_lists_finds_opens_and_steps(schema_dsn: str, debugger: str) -> None:
    add_run(schema_dsn, RUN, name="refund", steps=2, finished=2)
    add_step(schema_dsn, RUN, 1, "state_update", output=Jsonb({"tries": 1}))
    add_step(schema_dsn, RUN, 2, "llm_call", output=Jsonb("hi"))
    runs, replayer = Runs(resolve(debugger)), Replayer(resolve(debugger), RUN)
    assert [run.name for run in runs.page(10)] == ["refund"]
    assert runs.count() == (1, True)
    assert runs.find("@last").status == "died"
    assert len(replayer.heads()) == 2
    assert replayer.payload(2).output == '"hi"'
    for moment in Moment:
        world = replayer.at(2, moment)
        assert world.states == {None: {"tries": 1}}
        assert world.replay.isolation == "SERIALIZABLE READ ONLY DEFERRABLE"
    assert replayer.at(2).replay.notes == ()
    runs.close()
    replayer.close()


def test_a_debugger_runs_every_command_that_looks(
    schema_dsn: str, debugger: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add_run(schema_dsn, RUN, name="refund", steps=1, finished=1)
    add_step(schema_dsn, RUN, 1, "state_update", output=Jsonb({"tries": 1}))
    for words in (["runs"], ["steps", "@last"], ["show", "@last:1"], ["replay", "@last"]):
        assert command_line(debugger, *words) == 0
        assert capsys.readouterr().err == ""


def test_a_debugger_changes_nothing(schema_dsn: str, debugger: str) -> None:
    add_run(schema_dsn, RUN)
    statements = [
        "INSERT INTO agent_steps (run_id, step_number, step_type) SELECT gen_random_uuid(), 1, 'x'",
        "UPDATE agent_steps SET output = NULL",
        "DELETE FROM agent_steps",
        "TRUNCATE agent_runs",
        "UPDATE agent_runs SET status = 'ok'",
        "DELETE FROM agent_runs",
        "DELETE FROM stepwell_migrations",
        "BEGIN; LOCK TABLE agent_steps IN EXCLUSIVE MODE",
        "DROP TABLE agent_steps",
        "CREATE TABLE mine ()",
    ]
    assert refused(debugger, *statements) == statements


@pytest.mark.parametrize(("name", "told"), [("shop", "shop"), ("", "another session")])
def test_a_debugger_is_told_whom_a_move_waits_for_as_far_as_it_may_know(
    schema_dsn: str, debugger: str, name: str, told: str
) -> None:
    with psycopg.connect(schema_dsn, application_name=name) as writer:
        writer.isolation_level = IsolationLevel.SERIALIZABLE
        writer.execute("UPDATE agent_runs SET steps = 1")
        with connect(resolve(debugger)) as reader:
            _, report = read_snapshot(
                reader,
                lambda connection: connection.info.status,
                standby=False,
                observer=lambda: connect(resolve(debugger)),
                safe_wait_ms=400,
            )
        pid = writer.info.backend_pid
    assert report.notes == [f"no safe snapshot in 400 ms behind {told} (pid {pid})"]


def test_a_recorder_records_finishes_and_resumes(recorder: str, debugger: str) -> None:
    with stepwell.Recorder(recorder) as recording:
        with recording.run("refund", tags={"tenant": "a"}) as run:
            assert run.tool(str.upper, "lamp") == "LAMP"
            run.state({"tries": 1})
        with pytest.raises(ValueError, match="no order"), recording.resume(run.run_id) as again:
            again.tool(refuse)
    runs = Runs(resolve(debugger))
    found = runs.find("@last")
    runs.close()
    assert (found.name, found.status, found.steps, found.unfinished) == ("refund", "failed", 3, 0)


def refuse() -> None:
    raise ValueError("no order")


def test_a_recorder_may_read_and_correct_what_it_wrote(recorder: str) -> None:
    add_run(recorder, RUN)
    add_step(recorder, RUN, 1)
    assert (
        refused(
            recorder,
            "UPDATE agent_runs SET steps = 1, finished = 1, status = 'ok'",
            "UPDATE agent_steps SET output = 'null'",
            "SELECT * FROM agent_steps, agent_runs, stepwell_migrations",
        )
        == []
    )


def test_a_recorder_neither_deletes_nor_changes_the_tables(recorder: str) -> None:
    statements = [
        "DELETE FROM agent_steps",
        "DELETE FROM agent_runs",
        "TRUNCATE agent_steps",
        "ALTER TABLE agent_steps ADD COLUMN mine int",
        "DELETE FROM stepwell_migrations",
        "INSERT INTO stepwell_migrations VALUES (99)",
        "DROP TABLE agent_runs",
        "CREATE TABLE mine ()",
    ]
    assert refused(recorder, *statements) == statements


def test_a_recorder_writes_to_a_table_whose_id_is_serial(server: str, dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "CREATE TABLE agent_steps (id serial PRIMARY KEY, run_id uuid, step_number int, step_type text,"
            " input jsonb, output jsonb, created_at timestamptz DEFAULT now(), seed bigint)"
        )
    migrate(dsn)
    grant_roles(dsn)
    with login(server, dsn, "stepwell_recorder") as conninfo:
        add_step(conninfo, RUN, 1)


def test_the_view_of_whole_prompts_gives_nobody_more_than_the_table(schema_dsn: str, debugger: str) -> None:
    add_step(schema_dsn, RUN, 1, "llm_call", input=Jsonb({"messages": ["a"]}))
    delta = {"input_base": 1, "input_keep": 1, "input_list": "messages"}
    add_step(schema_dsn, RUN, 2, "llm_call", input=Jsonb({"messages": ["b"]}), **delta)
    with psycopg.connect(debugger) as connection:
        found = connection.execute("SELECT input FROM agent_steps_full ORDER BY step_number").fetchall()
    assert found == [({"messages": ["a"]},), ({"messages": ["a", "b"]},)]
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("REVOKE SELECT ON agent_steps FROM stepwell_debugger")
    assert refused(debugger, "SELECT input FROM agent_steps_full") == ["SELECT input FROM agent_steps_full"]
