"""What becomes of recordings that are imported where they are already, and of those that nobody says the end of."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import stepwell
from stepwell.cli import main
from stepwell.core.branching import tail_of
from stepwell.core.whatif import what_if
from stepwell.replay.recorded import load
from stepwell.replay.whatif import save
from stepwell.store.connect import resolve

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def file(schema_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An exported branch, of which nobody knows how it would have ended."""
    monkeypatch.setenv("DATABASE_URL", schema_dsn)
    with closing(stepwell.Recorder()) as recorder, recorder.run("refund") as run:
        found = run.tool(str, "order 8841 is paid")
        run.tool(print, found)
    target = resolve(schema_dsn)
    branch = save(
        target, run.run_id, tail_of(what_if(load(target, str(run.run_id)), 1, "order 8841 is lost"))
    )
    assert main(["export", str(branch), str(tmp_path / "run.json")]) == 0
    return tmp_path / "run.json"


def test_a_run_of_which_only_the_steps_are_there_is_there(
    file: Path, schema_dsn: str, capsys: Capture
) -> None:
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("DELETE FROM agent_runs")
    capsys.readouterr()
    assert main(["import", str(file)]) == 0
    out, err = capsys.readouterr()
    assert (out.startswith(f"already there: {file} (recording): "), out.count("\n"), err) == (True, 1, "")


def test_one_of_which_nobody_says_how_it_ended_is_pruned_once_it_is_old(
    file: Path, schema_dsn: str, capsys: Capture
) -> None:
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("DELETE FROM agent_runs")
        connection.execute("DELETE FROM agent_steps")
    assert main(["import", str(file)]) == 0
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("UPDATE agent_runs SET finished_at = finished_at - interval '9 days'")
        assert connection.execute("SELECT status FROM agent_runs").fetchone() == (None,)
    capsys.readouterr()
    assert main(["prune", "--older-than", "1d", "--dry-run"]) == 0
    assert "imported, 9 d ago" in capsys.readouterr().out
    assert main(["prune", "--older-than", "1d"]) == 0
    with psycopg.connect(schema_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM agent_runs").fetchone() == (0,)
