"""How a run that went to a file ends, whatever the clocks of those who wrote it say."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from stepwell import Recorder
from stepwell.cli import main
from stepwell.core import spooling
from stepwell.recorder import clock
from tests.recorder.conftest import Look

Line = tuple[str, dict[str, object]]
Import = Callable[[UUID, int, Sequence[Line]], str]
HOUR = 3600 * 10**6


def begin(number: int, at: int) -> Line:
    fields = {"number": number, "step_type": "tool_call", "name": "f", "started_at": at, "input": "{}"}
    return "begin", fields


def end(at: int, status: str = "ok", result: str | None = None) -> Line:
    return "end", {"status": status, "finished_at": at, "result": result}


@pytest.fixture
def import_file(schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """Imports a file of these lines for a run, and returns what the command says."""

    def do(run_id: UUID, last: int, lines: Sequence[Line]) -> str:
        records = (spooling.record(kind, fields) for kind, fields in lines)
        file = tmp_path / "file"
        file.write_bytes(spooling.header(run_id, last, 0, "gone") + b"".join(records))
        assert main(["import", "--dsn", schema_dsn, str(file)]) == 0
        return capsys.readouterr().out

    return do


def test_a_clock_that_was_put_back_between_its_steps_and_its_end(import_file: Import, run_row: Any) -> None:
    run_id = UUID(int=8)
    import_file(run_id, 0, [("open", {"started_at": 5}), begin(1, HOUR), begin(2, 6), end(8)])
    assert run_row(run_id)["status"] == "ok"


def test_the_clock_of_one_that_recorded_before_is_ahead(
    recorder: Recorder, import_file: Import, steps: Look, run_row: Any
) -> None:
    with recorder.run() as run:
        run.tool(len, "a")
    earlier = clock.now() - HOUR
    import_file(run.run_id, 1, [("resume", {}), begin(2, earlier), end(earlier + 1, "failed")])
    assert len(steps(run.run_id)) == 2
    assert run_row(run.run_id)["status"] == "failed"


def test_one_that_others_have_taken_up_since_goes_on(
    recorder: Recorder, import_file: Import, steps: Look, run_row: Any
) -> None:
    with recorder.run() as run:
        run.tool(len, "a")
    again = recorder.resume(run.run_id)
    again.tool(len, "ab")
    earlier = clock.now() - HOUR
    import_file(run.run_id, 1, [begin(2, earlier), end(earlier + 1, "failed")])
    assert len(steps(run.run_id)) == 3
    assert run_row(run.run_id)["status"] == "running"


@pytest.mark.parametrize(("steps", "more"), [([begin(1, 6)], [begin(2, 8)]), ([begin(1, 6)], []), ([], [])])
def test_one_that_ended_in_the_file_and_was_taken_up_there_again_has_not_ended(
    import_file: Import, run_row: Any, steps: list[Line], more: list[Line]
) -> None:
    """Whoever took it up died with it. What it had returned is still there, as it is in a database."""

    def became() -> tuple[object, object]:
        row = run_row(run_id)
        return row["status"], row["result"]

    run_id = UUID(int=8)
    lines: list[Line] = [("open", {"started_at": 5}), *steps, end(7, result="1"), ("resume", {}), *more]
    import_file(run_id, 0, lines)
    assert became() == ("running", 1)
    assert "already" in import_file(run_id, 0, lines)
    assert became() == ("running", 1)
    import_file(run_id, 0, [*lines, end(9, "failed")])
    assert became() == ("failed", 1)
    assert "already" in import_file(run_id, 0, [*lines, end(9, "failed")])
    assert became() == ("failed", 1)


def test_no_run_has_ended_before_its_last_step(
    recorder: Recorder, steps: Look, run_row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that slept puts its wall clock forward; monotonic time has not gone on meanwhile."""
    with recorder.run() as run:
        now = clock.now
        monkeypatch.setattr(clock, "now", lambda: now() + HOUR)
        run.tool(len, "a")
    (step,) = steps(run.run_id)
    assert run_row(run.run_id)["finished_at"] >= step["finished_at"]
