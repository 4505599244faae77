"""`Recorder(on_failure="spool")`: the agent goes on without its database, and the run is whole afterwards."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from stepwell import Recorder, Run
from stepwell.cli import main
from stepwell.core.state import StateStep, fold
from stepwell.recorder import finder
from tests.recorder.conftest import Look, Row
from tests.recorder.spools import Outage, files, until_in_database
from tests.recorder.test_failures import in_threads

pytestmark = pytest.mark.usefixtures("quick")

OTHER = {"id", "run_id", "created_at", "started_at", "finished_at", "error", "given", "got"}
OTHER |= {"snapshot_before", "snapshot_after"}
"""What differs between two runs that are the same."""


def comparable(rows: list[Row]) -> list[dict[str, object]]:
    return [{name: row[name] for name in row.keys() - OTHER} | {"error": bool(row["error"])} for row in rows]


def folded(rows: list[Row]) -> dict[str | None, object]:
    states = [row for row in rows if row["step_type"] == "state_update"]
    found = fold([StateStep(row["step_number"], row["agent"], row["given"], row["got"]) for row in states], 0)
    assert not found.odd
    return found.states


def whole(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Without what depends on whether a state was stored whole."""
    states = [row for row in rows if row["step_type"] == "state_update"]
    for row in states:
        row |= dict.fromkeys(("input", "output", "input_exact", "output_exact"))
    return rows


LONG = [{"role": "user", "content": "x" * 20_000}]


def converse(run: Run, between: Callable[[str], None]) -> None:
    """Steps of every kind; `between` is called at places where the database may come and go."""

    def model(messages: list[object]) -> dict[str, object]:
        return {"content": "done", "usage": {"prompt_tokens": 3}, "n": len(messages)}

    def fail() -> None:
        raise ValueError("no")

    messages = [*LONG]
    run.llm(model, messages=messages)
    run.state({"a": 1, "b": 2})
    between("before")
    with run.step("tool_call", "outer", {"n": 1}) as outer:
        between("inside")
        messages = [*messages, {"role": "user", "content": "more"}]
        run.llm(model, messages=messages)
        with pytest.raises(ValueError, match="no"):
            run.agent("b").tool(fail)
        run.state({"a": 2, "b": 2})
        for _ in range(3):
            run.agent("b").tool(len, "abc")
        run.agent("c").state([1])
        between("late")
        outer.output = float("nan")
    messages = [*messages, {"role": "user", "content": "still more"}]
    run.llm(model, messages=messages)
    run.state({"a": 3, "b": 2})
    between("after")
    run.tool(len, "ab")


@pytest.mark.parametrize(
    ("begins", "ends"),
    [("before", "late"), ("inside", "late"), ("inside", "after"), ("before", "never"), ("late", "never")],
)
def test_an_outage_leaves_no_trace_in_the_run(
    spooling_recorder: Recorder,
    steps: Look,
    run_row: Any,
    outage: Outage,
    begins: str,
    ends: str,
) -> None:
    with spooling_recorder.run("plain") as plain:
        converse(plain, lambda _: None)

    def between(place: str) -> None:
        if place == begins:
            outage(True)
        if place == ends:
            outage(False)
            until_in_database()

    with spooling_recorder.run("troubled") as run:
        converse(run, between)
    outage(False)
    until_in_database()
    assert whole(comparable(steps(run.run_id))) == whole(comparable(steps(plain.run_id)))
    one, other = run_row(run.run_id), run_row(plain.run_id)
    for name in ("status", "steps", "finished", "agents", "loop"):
        assert one[name] == other[name]
    assert one["status"] == "ok"
    assert one["loop"]["laps"] == 3
    assert folded(steps(run.run_id)) == folded(steps(plain.run_id)) == {None: {"a": 3, "b": 2}, "c": [1]}


def test_the_agent_hears_once_where_the_run_goes_and_nobody_else_may_read_it(
    spooling_recorder: Recorder, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    run = spooling_recorder.start()
    outage(True)
    assert in_threads(*[lambda n=n: run.tool(str, n) for n in range(4)]) == ["0", "1", "2", "3"]
    (file,) = files()
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert str(file) in warnings[0]
    assert "not currently accepting connections" in warnings[0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_recorder_begins_without_a_database_and_finds_it_later(
    schema_dsn: str, shut: Outage, steps: Look, run_row: Any
) -> None:
    shut(True)
    with Recorder(schema_dsn, on_failure="spool") as recorder:
        with recorder.run("early", tags={"a": 1}) as run:
            assert run.tool(len, "ab") == 2
        assert files()
        shut(False)
        until_in_database()
        with recorder.run("late") as late:
            late.tool(len, "abc")
    assert [row["got"] for row in steps(run.run_id)] == [2]
    assert run_row(run.run_id) | {"name": "early", "tags": {"a": 1}, "status": "ok"} == run_row(run.run_id)
    assert [row["got"] for row in steps(late.run_id)] == [3]


def test_what_is_in_files_goes_to_the_database_when_the_recorder_is_closed(
    schema_dsn: str, outage: Outage, steps: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "RETRY_SECONDS", 60)
    recorder = Recorder(schema_dsn, on_failure="spool")
    run = recorder.start()
    outage(True)
    run.tool(len, "ab")
    outage(False)
    recorder.close()
    assert files() == []
    assert [row["got"] for row in steps(run.run_id)] == [2]


DYING = """
import sys, stepwell
from stepwell.recorder import finder
finder.SPOOL_SECONDS = 0.1
recorder = stepwell.Recorder(sys.argv[1], on_failure="spool")
run = recorder.start("dying")
run.tool(len, "a")
with run.step("tool_call", "outer") as outer:
    print(run.run_id, flush=True)
    sys.stdin.readline()
    run.tool(len, "ab")
    run.state({"a": 1})
    outer.output = 3
run.step("tool_call", "in doubt").__enter__()
print("there", flush=True)
sys.stdin.readline()
"""


def test_the_file_of_a_killed_process_is_imported_once_however_often(
    schema_dsn: str, outage: Outage, steps: Look, run_row: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DYING, schema_dsn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        run_id = UUID(agent.stdout.readline().strip())
        outage(True)
        print(file=agent.stdin, flush=True)
        assert agent.stdout.readline() == "there\n"
        agent.send_signal(signal.SIGKILL)
    outage(False)
    (file,) = files()
    with file.open("ab") as torn:
        torn.write(b'{"finish": {"step_num')
    assert main(["import", "--dsn", schema_dsn, str(file)]) == 0
    said = capsys.readouterr()
    assert "imported 1 run, 3 steps" in said.out
    assert said.out.endswith(f"everything in {file} is in the database now; the file may be deleted\n")
    assert "its last line was cut off" in said.err
    rows = steps(run_id)
    assert [(row["step_number"], row["name"], row["parent_step"], row["got"]) for row in rows] == [
        (1, "len", None, 1),
        (2, "outer", None, 3),
        (3, "len", 2, 2),
        (4, None, 2, ["$"]),
        (5, "in doubt", None, None),
    ]
    assert [row["finished_order"] for row in rows] == [1, 4, 2, 3, None]
    before = rows, run_row(run_id)
    assert main(["import", "--json", "--dsn", schema_dsn, str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["already_there"] == [str(run_id)]
    assert (steps(run_id), run_row(run_id)) == before
    assert before[1]["status"] == "running"


def test_the_next_recorder_says_what_those_that_are_gone_left_in_files_and_nothing_of_one_at_work(
    spooling_recorder: Recorder,
    schema_dsn: str,
    outage: Outage,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = spooling_recorder.start()
    outage(True)
    run.tool(len, "a")
    (file,) = files()
    said = f"in {file.parent}; put {{}} into the database: stepwell import {file.parent}/*.jsonl"
    Recorder(schema_dsn, on_failure="spool").close()
    assert "spooled run" not in caplog.text
    for left in (UUID(int=1), UUID(int=2)):
        for part in ("aaaaaaaa", "bbbbbbbb"):  # with the number of a process that is there, as in a container
            (file.parent / f"{left}-{os.getpid()}-{part}.jsonl").write_bytes(file.read_bytes())
    Recorder(schema_dsn, on_failure="spool").close()
    assert caplog.messages[-1] == "2 spooled runs wait " + said.format("them")
    for path in file.parent.glob(f"{UUID(int=2)}-*"):
        path.unlink()
    Recorder(schema_dsn, on_failure="spool").close()
    assert caplog.messages[-1] == "1 spooled run waits " + said.format("it")
    for path in file.parent.glob(f"{UUID(int=1)}-*"):
        path.unlink()
    outage(False)
    until_in_database()


def test_a_file_that_is_still_written_is_imported_and_not_called_done(
    spooling_recorder: Recorder,
    schema_dsn: str,
    outage: Outage,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finder, "RETRY_SECONDS", 60)
    run = spooling_recorder.start()
    outage(True)
    run.tool(len, "a")
    outage(False)
    (file,) = files()
    assert main(["import", "--dsn", schema_dsn, str(file)]) == 0
    said = capsys.readouterr().out
    assert "imported 1 run, 1 step" in said
    assert "deleted" not in said
