"""Agents as people have them, replayed in a process of its own."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from stepwell import Recorder
from stepwell.core.divergence import Kind
from stepwell.rerun.child.process import AgentProcess
from stepwell.store.connect import resolve
from stepwell.store.watching import watch
from tests.rerun.project import Project

TABLES = """
import os, time

def weigh(order):
    return {"order": order, "weight": os.getpid()}

def double(order):
    return order * 2

def main(run):
    print("begun")
    with run.connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM orders")
        before = cursor.fetchone()[0]
        cursor.execute("INSERT INTO orders VALUES (7, 'mine')")
        cursor.execute("SELECT count(*) FROM orders")
        after = cursor.fetchone()[0]
    print(before, after)
    run.tool(weigh, before)
    run.tool(double, after)
    return run.result([before, after])
"""


def test_it_reads_the_tables_of_then_and_its_own_writes_and_pure_tools_are_executed(
    schema_dsn: str, tmp_path: Path
) -> None:
    (tmp_path / "tables.py").write_text(TABLES)
    scope: dict[str, object] = {"__name__": "tables"}
    exec(compile(TABLES, str(tmp_path / "tables.py"), "exec"), scope)
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        connection.execute("INSERT INTO orders VALUES (1, 'one')")
        watch(connection, "orders")
    recorder = Recorder(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        with recorder.run("tables", connection=connection) as run:
            scope["main"](run)  # type: ignore[operator]  # what the text above defines
        connection.commit()
    recorder.close()
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("INSERT INTO orders VALUES (8, 'later')")
    project = Project(tmp_path, schema_dsn, run.run_id)
    with project.process("tables:main", pure=["double"]) as process:
        for _ in range(2):  # the first finds out that the agent writes, the second knows
            report = process.replay()
            assert (report.divergence, report.refused, report.result) == (None, None, [1, 2])
            assert report.output == "begun\n1 2\n"
    with psycopg.connect(schema_dsn) as connection:
        row = connection.execute("SELECT count(*) FROM orders").fetchone()
    assert row == (3,)
    with project.process("tables:main", pure=["double", "weigh"]) as process:
        report = process.replay()
    assert report.divergence is not None
    assert (report.divergence.kind, report.divergence.step) == (Kind.OUTCOME, 1)


def test_the_database_is_the_one_of_before_whatever_the_agent_sets_in_its_environment(
    schema_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "moody.py").write_text(
        "import os\nos.environ['PGHOST'] = '/nowhere'\ndef main(run): run.connection.execute('SELECT 1')\n"
    )
    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        pass
    given = conninfo_to_dict(schema_dsn)
    for option in Conninfo.get_defaults():
        if option.envvar is not None and (value := given.get(option.keyword.decode())):
            monkeypatch.setenv(option.envvar.decode(), str(value))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with AgentProcess(resolve(None), run.run_id, "moody:main", cwd=tmp_path) as process:
        assert process.replay().same
