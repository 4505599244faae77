"""Runs that go to files while things happen: others record too, rows are refused, disks are full, processes fork."""

import json
import os
import resource
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from stepwell import Recorder, RecordingError
from stepwell.cli import main
from stepwell.core import spooling
from stepwell.recorder import batches, link
from stepwell.recorder.intents import StartStep
from stepwell.recorder.outcomes import Outcomes
from tests.pooler import pooler
from tests.recorder.conftest import Look
from tests.recorder.spools import Outage, files, until_in_database
from tests.recorder.test_failures import Observer, add_check, in_threads, kill_recorders

pytestmark = pytest.mark.usefixtures("quick")


def test_a_step_that_was_committed_before_the_database_went_is_there_once(
    spooling_recorder: Recorder, outage: Outage, steps: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = batches.write
    gone: list[int] = []

    def breaking(connected: Any, intents: Any, books: Any, *sent: Any) -> Any:
        if not gone and any(isinstance(intent, StartStep) for intent in intents):
            gone.append(1)
            copies = [StartStep(intent.row) for intent in intents]
            write(connected, copies, {}, Outcomes(lazy=False))
            for intent, copy in zip(intents, copies, strict=True):
                intent.sent = copy.sent
            outage(True)
        return write(connected, intents, books, *sent)

    run = spooling_recorder.start()
    run.state({"a": 1})
    monkeypatch.setattr(link, "write", breaking)
    run.state({"a": 2})
    run.tool(len, "ab")
    outage(False)
    until_in_database()
    run.state({"a": 3})
    rows = steps(run.run_id)
    assert [(row["step_number"], row["step_type"]) for row in rows] == [
        (1, "state_update"),
        (2, "state_update"),
        (3, "tool_call"),
        (4, "state_update"),
    ]
    assert rows[1]["given"] == {"$patch": [{"set": ["a"], "to": 2}]}
    assert rows[3]["given"] == {"$patch": [{"set": [], "to": {"a": 3}}]}


def test_steps_of_others_in_the_meantime_move_the_numbers_and_nothing_else(
    schema_dsn: str, steps: Look, shut: Outage, connection: Observer
) -> None:
    with Recorder(schema_dsn, on_failure="spool") as recorder, Recorder(schema_dsn) as other:
        run = recorder.start()
        theirs = other.resume(run.run_id)
        run.tool(len, "a")
        shut(True)
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (recorder._writer._link.backend,))
        with run.step("tool_call", "outer") as outer:
            assert outer.number == 2
            in_threads(lambda: theirs.tool(str, "theirs"))
            in_threads(lambda: theirs.tool(str, "theirs too"))
            run.tool(len, "ab")
            shut(False)
            until_in_database()
            run.tool(len, "abc")
            outer.output = "end"
        run.finish()
    assert [(row["step_number"], row["parent_step"], row["got"]) for row in steps(run.run_id)] == [
        (1, None, 1),
        (2, None, "theirs"),
        (3, None, "theirs too"),
        (4, None, "end"),
        (5, 4, 2),
        (6, 4, 3),
    ]


def test_a_locked_table_does_not_hold_the_agent_up(
    schema_dsn: str, connection: Observer, steps: Look, run_row: Any
) -> None:
    with Recorder(f"{schema_dsn} options='-c lock_timeout=50ms'", on_failure="spool") as recorder:
        run = recorder.start()
        connection.execute("BEGIN; LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
        assert in_threads(*[lambda n=n: run.tool(str, n) for n in range(8)]) == [str(n) for n in range(8)]
        connection.execute("COMMIT")
        until_in_database()
        run.finish()
    assert [row["step_number"] for row in steps(run.run_id)] == list(range(1, 9))
    assert run_row(run.run_id)["finished"] == 8


def test_what_the_database_would_never_take_fails_as_ever_and_alone(
    spooling_recorder: Recorder,
    connection: Observer,
    steps: Look,
    outage: Outage,
    caplog: pytest.LogCaptureFixture,
) -> None:
    add_check(connection, "input::text NOT LIKE '%bad%'")
    run = spooling_recorder.start()
    with pytest.raises(RecordingError, match="refused"):
        run.tool(len, "bad")
    assert files() == []
    outage(True)
    with run.step("tool_call", "outer", "bad"):
        run.tool(len, "ab")
    outage(False)
    deadline = time.monotonic() + 30
    while "is not recorded" not in caplog.text:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert run.tool(len, "abc") == 3
    assert [(row["step_number"], row["parent_step"], row["got"]) for row in steps(run.run_id)] == [
        (1, None, None),
        (2, 1, 2),
        (3, None, 3),
    ]
    assert "violates check constraint" in steps(run.run_id)[0]["given"]["refused"]
    assert len(files()) == 1, "the file stays, for what it holds is nowhere else"


def test_where_the_file_cannot_be_made_either_both_causes_are_named(
    spooling_recorder: Recorder, outage: Outage
) -> None:
    run = spooling_recorder.start()
    outage(True)
    folder = Path(os.environ["XDG_DATA_HOME"], "stepwell")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spool").write_text("in the way")
    with pytest.raises(
        RecordingError, match=r"not currently accepting connections.*; nor can it be spooled: File exists"
    ):
        run.tool(len, "a")
    (folder / "spool").unlink()
    assert run.tool(len, "ab") == 2


def test_a_file_that_cannot_grow_keeps_what_is_in_it(
    spooling_recorder: Recorder, outage: Outage, steps: Look
) -> None:
    run = spooling_recorder.start()
    outage(True)
    assert run.tool(len, "a") == 1
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (files()[0].stat().st_size + 1000, limits[1]))
    try:
        with pytest.raises(RecordingError, match="nor can it be spooled: File too large"):
            run.tool(len, "b" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (file,) = files()
    assert not spooling.read(file.read_bytes(), "file").torn
    assert run.tool(len, "ab") == 2
    outage(False)
    until_in_database()
    assert [(row["step_number"], row["got"]) for row in steps(run.run_id)] == [(1, 1), (2, 2)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_a_file_of_its_own(
    spooling_recorder: Recorder, outage: Outage, steps: Look
) -> None:
    with spooling_recorder.run() as run:
        outage(True)
        with run.step("tool_call", "outer"):
            child = os.fork()
            if child == 0:
                try:
                    run.named("child's").tool(len, "ab")
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            assert len(files()) == 2
            run.named("parent's").tool(len, "abc")
        outage(False)
        theirs = next(file for file in files() if f"-{child}-" in file.name)
    deadline = time.monotonic() + 30
    while files() != [theirs]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert main(["import", "--dsn", spooling_recorder._target.conninfo, str(theirs)]) == 0
    assert [(row["name"], row["parent_step"], row["got"]) for row in steps(run.run_id)] == [
        ("outer", None, None),
        ("parent's", 1, 3),
        ("child's", None, 2),
    ]


def test_a_file_of_another_database_or_of_a_later_version_is_refused(
    schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = UUID(int=7)
    file = tmp_path / "file"
    file.write_bytes(spooling.header(run_id, 3, 0, "why") + spooling.record(spooling.RESUME, {}))
    assert main(["import", "--dsn", schema_dsn, str(file)]) == 2
    assert "which this file goes on with, is not in database" in capsys.readouterr().err
    file.write_bytes(b'{"stepwell_spool": 3, "run_id": "x"}\n')
    assert main(["import", "--dsn", schema_dsn, str(file)]) == 2
    assert "version 3 of the spool" in capsys.readouterr().err
    file.write_bytes(spooling.header(run_id, 3, 0, "why") + b"{}\n")
    assert main(["import", "--dsn", schema_dsn, str(file)]) == 2
    assert "line 2: not a JSON object" in capsys.readouterr().err


def test_a_file_of_the_first_version_is_imported(
    schema_dsn: str, tmp_path: Path, steps: Look, run_row: Any
) -> None:
    run_id = UUID(int=8)
    lines: list[dict[str, object]] = [
        {"stepwell_spool": 1, "run_id": str(run_id), "last": 0, "at": 5, "why": "gone"},
        {"open": {"name": "early", "started_at": 5}},
        {"begin": {"number": 1, "step_type": "tool_call", "name": "f", "started_at": 6, "input": "{}"}},
        {"finish": {"step_number": 1, "output": "2", "finished_at": 7, "call_hash": 3}},
        {"end": {"status": "ok", "finished_at": 8}},
    ]
    file = tmp_path / "file"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["import", "--dsn", schema_dsn, str(file)]) == 0
    (row,) = steps(run_id)
    assert (row["name"], row["got"], row["lane"], row["drawn"], row["form"]) == ("f", 2, None, None, None)
    row = run_row(run_id)
    assert [row[name] for name in ("name", "status", "seed", "random", "result")] == [
        "early",
        "ok",
        *[None] * 3,
    ]


def test_a_run_is_taken_up_while_the_database_is_away(
    schema_dsn: str, shut: Outage, steps: Look, run_row: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with Recorder(schema_dsn) as recorder, recorder.run("first") as run:
        run.tool(len, "a")
    shut(True)
    with Recorder(schema_dsn, on_failure="spool") as recorder:
        unknown = recorder.resume(UUID(int=7))
        unknown.tool(len, "nowhere")
        with recorder.resume(run.run_id) as again, again.step("tool_call", "outer"):
            again.tool(len, "ab")
        shut(False)
        deadline = time.monotonic() + 30
        while len(files()) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert unknown.tool(len, "still nowhere") == 13
    assert [(row["step_number"], row["parent_step"], row["got"]) for row in steps(run.run_id)] == [
        (1, None, 1),
        (2, None, None),
        (3, 2, 2),
    ]
    assert run_row(run.run_id)["status"] == "ok"
    assert [file.name[:36] for file in files()] == [str(UUID(int=7))]
    assert caplog.text.count("which this file goes on with, is not in database") == 1


def test_a_pooler_that_keeps_statements_waiting_does_not_hold_the_agent_up(
    schema_dsn: str, short_folder: Path, shut: Outage, connection: Observer, steps: Look
) -> None:
    with (
        pooler(schema_dsn, short_folder, server_login_retry=0.1) as pooled,
        Recorder(pooled, on_failure="spool") as recorder,
        recorder.run() as run,
    ):
        run.tool(len, "a")
        shut(True)
        kill_recorders(connection)
        assert in_threads(*[lambda: run.tool(len, "ab")] * 3) == [2, 2, 2]
        assert files()
        shut(False)
        until_in_database()
        run.tool(len, "abc")
    assert [row["got"] for row in steps(run.run_id)] == [1, 2, 2, 2, 3]
