"""What another database has of a run that was exported and imported there."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell.cli import main
from stepwell.core import cassette
from stepwell.core.recorded import RecordedRun
from stepwell.replay.cassettes import load as load_file
from stepwell.replay.recorded import load
from stepwell.rerun.playing import play
from stepwell.store.connect import resolve
from tests.commands.cases import FAILED, WELL, fill
from tests.commands.exporting import record
from tests.rerun import shop
from tests.rerun.agents import AGENTS

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize("name", AGENTS)
def test_a_run_that_was_exported_and_imported_is_the_same(
    name: str, schema_dsn: str, other_dsn: str, capsys: Capture
) -> None:
    def agent(run: stepwell.Run) -> None:
        result = AGENTS[name](run)
        if inspect.isawaitable(result):
            asyncio.run(_wait(result))

    run = record(schema_dsn, agent)
    assert main(["export", "@last", "run.json"]) == 0
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert f"imported 1 run, {len(run.steps)} steps from run.json (recording): " in capsys.readouterr().out
    found = load(resolve(other_dsn), str(run.head.run_id))
    assert cassette.pack(found) == Path("run.json").read_bytes()
    assert play(found, AGENTS[name]).same
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert capsys.readouterr().out.startswith("already there: run.json (recording): ")


async def _wait(result: Any) -> None:
    await result


def test_what_a_move_needs_is_imported_too(recorded: RecordedRun, schema_dsn: str, other_dsn: str) -> None:
    assert main(["export", "@last", "run.json.gz"]) == 0
    assert main(["import", "--dsn", other_dsn, "run.json.gz"]) == 0
    runs = "SELECT name, status, tags, steps, finished, agents, source, seed, started_at, finished_at FROM agent_runs"
    steps = (
        "SELECT step_number, input, output, seed, finished_order, finished_before, started_before, lane, started_at,"
        " call_hash IS NULL FROM agent_steps ORDER BY 1"
    )
    for question in (runs, steps):
        with psycopg.connect(schema_dsn) as one, psycopg.connect(other_dsn) as other:
            assert one.execute(question).fetchall() == other.execute(question).fetchall()
    assert len(recorded.steps) == 4


@pytest.mark.parametrize("run_id", [FAILED, WELL])
def test_a_run_of_other_hands_keeps_what_it_has_and_gets_no_more(
    run_id: UUID, schema_dsn: str, other_dsn: str
) -> None:
    fill(schema_dsn)
    assert main(["export", str(run_id), "run.json"]) == 0
    assert "\x1b" not in Path("run.json").read_text()
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert cassette.pack(load(resolve(other_dsn), str(run_id))) == Path("run.json").read_bytes()


def test_a_file_that_a_database_does_not_take_is_refused_in_one_line(
    recorded: RecordedRun, other_dsn: str, capsys: Capture
) -> None:
    assert main(["export", "@last", "run.json"]) == 0
    text = Path("run.json").read_text()
    for old, new in (
        ('"number": 2', '"number": 1'),
        ('"lane": 0', '"lane": 99999999999'),
        ("lamp", "\\u0000"),
    ):
        assert old in text
        Path("run.json").write_text(text.replace(old, new))
        capsys.readouterr()
        assert main(["import", "--dsn", other_dsn, "run.json"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("stepwell: run.json: ")
    assert len(recorded.steps) == 4
    with psycopg.connect(other_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM agent_runs").fetchone() == (0,)


def test_laps_of_a_loop_are_told_in_an_imported_run(schema_dsn: str, other_dsn: str) -> None:
    def loops(run: stepwell.Run) -> None:
        for _ in range(12):
            run.tool(shop.called, "again")

    run = record(schema_dsn, loops)
    assert main(["export", "@last", "run.json"]) == 0
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert run.head.loop is not None
    assert load(resolve(other_dsn), "@last").head.loop == run.head.loop
    with psycopg.connect(other_dsn) as connection:
        hashes = connection.execute("SELECT DISTINCT call_hash FROM agent_steps").fetchall()
    assert len(hashes) == 1
    assert hashes[0][0] is not None


def test_long_prompts_are_differences_in_the_file_and_in_the_other_database(
    schema_dsn: str, other_dsn: str
) -> None:
    def talks(run: stepwell.Run) -> None:
        messages: list[dict[str, str]] = []
        for number in range(20):
            messages.append({"role": "user", "content": f"{number} {'word ' * 500}"})
            run.llm(shop.complete, model="m", messages=list(messages))

    run = record(schema_dsn, talks)
    assert main(["export", "@last", "run.json"]) == 0
    assert (
        Path("run.json").stat().st_size < 150_000 < sum(len(step.payload.input or "") for step in run.steps)
    )
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    found = load(resolve(other_dsn), "@last")
    assert [step.payload.input for step in found.steps] == [step.payload.input for step in run.steps]
    with psycopg.connect(other_dsn) as connection:
        assert connection.execute("SELECT count(input_base) > 10 FROM agent_steps").fetchone() == (True,)


def test_a_run_that_died_is_imported_as_one_that_died(
    schema_dsn: str, other_dsn: str, capsys: Capture
) -> None:
    recorder = stepwell.Recorder(schema_dsn)
    run = recorder.start("dies")
    run.tool(shop.called, "once")
    recorder.close()
    assert main(["export", str(run.run_id), "run.json"]) == 0
    assert load_file(Path("run.json")).head.status == "died"
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    capsys.readouterr()
    assert main(["runs", "--json", "--dsn", other_dsn]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "died"
