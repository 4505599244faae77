"""Agents whose module makes a recorder, as people write them: it connects when they are run, and not in a replay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

import stepwell
from tests.conftest import create_database, drop_database
from tests.rerun.project import AGENT, Project, made

OWN = f"""
import stepwell
recorder = stepwell.Recorder()
{AGENT}
def own():
    with recorder.run("own") as run:
        return main(run)

async def awaited():
    async with recorder.run("own") as run:
        return main(run)

def resumed():
    return main(recorder.resume("@last"))

def swallowed(run):
    try:
        recorder.start("own")
    except Exception:
        pass

def live(run):
    run.tool(search, "something else")
    with recorder.run("own") as own:
        own.state({{"for": "real"}})

if __name__ == "__main__":
    own()
"""
NOWHERE = "postgresql://127.0.0.1:1/nothing"


@pytest.fixture(scope="module")
def project(server: str, schema_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    dsn = create_database(server, schema_template)
    with made(tmp_path_factory.mktemp("project"), dsn) as project:
        project.write("own", OWN)
        yield project
    drop_database(server, dsn)


def test_its_agent_is_replayed_without_a_word_wherever_it_would_record_to(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", NOWHERE)
    with project.process("own:main") as process:
        report = process.replay()
    assert (report.served, report.refused, report.divergence, report.notes) == (6, None, None, ())


@pytest.mark.parametrize("agent", ["own", "awaited", "resumed", "swallowed"])
def test_what_begins_a_run_of_its_own_is_told_which_function_is_the_agent(
    project: Project, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", project.dsn)
    with project.process(f"own:{agent}") as process:
        report = process.replay()
    assert report.refused is not None
    assert report.refused.startswith("own.py:")
    assert f"in {agent} begins a run of its own; a replay gives it one: the agent is the" in report.refused


def test_a_module_that_begins_one_when_it_is_imported_is_told_so(project: Project) -> None:
    project.write("script", OWN.replace('if __name__ == "__main__":', "if True:"))
    with (
        project.process("script:main") as process,
        pytest.raises(
            stepwell.UsageError, match=r"^script.py:\d+: .* it begins a run, which goes under if __name__"
        ),
    ):
        process.replay()


def test_once_the_agent_goes_on_for_real_it_records(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", project.dsn)
    with project.process("own:live") as process:
        asked = process.replay()
        assert asked.leave is not None
        report = process.replay(live=asked.leave.step)
    assert (report.stopped, report.refused) == (None, None)
    with psycopg.connect(project.dsn) as connection:
        row = connection.execute(
            "SELECT count(*) FROM agent_steps JOIN agent_runs AS run USING (run_id) WHERE run.name = 'own'"
        ).fetchone()
    assert row == (1,)


def test_so_it_is_in_this_process_where_other_threads_record_as_ever(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", NOWHERE)
    runs: list[stepwell.Run] = []

    def agent(_: stepwell.Run) -> None:
        recorder = stepwell.Recorder(on_failure="spool")
        thread = threading.Thread(target=lambda: runs.append(other.start("beside")))
        thread.start()
        thread.join()
        recorder.start("own")

    with closing(stepwell.Recorder(project.dsn)) as other:
        with pytest.raises(stepwell.Refused, match=r"in .*agent begins a run of its own"):
            stepwell.replay(project.run_id, agent, dsn=project.dsn)
        runs[0].finish()
