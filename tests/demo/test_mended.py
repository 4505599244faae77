"""The demo's agent without its fault, on the recording of the run that loops."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from stepwell.demo import agent
from stepwell.replay.recorded import load
from stepwell.store.connect import resolve
from tests.conftest import create_database, drop_database

FAULT, MENDED = "TOOL_BUDGET = 512", "TOOL_BUDGET = 8192"


@pytest.fixture
def own_dsn(server: str, demo_dsn: str) -> Iterator[str]:
    """A copy of the demo's database, to be written to."""
    conninfo = create_database(server, str(conninfo_to_dict(demo_dsn)["dbname"]))
    yield conninfo
    drop_database(server, conninfo)


def replay(dsn: str, folder: Path, run: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepwell", "replay", run, "--agent", "triage:looping", "--dsn", dsn]
    return subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True, env=os.environ)


def test_it_parts_where_the_model_sees_the_whole_answer_and_comes_to_an_end(
    own_dsn: str, tmp_path: Path
) -> None:
    source = Path(agent.__file__).read_text()
    assert source.count(FAULT) == 1
    (tmp_path / "triage.py").write_text(source)
    same = replay(own_dsn, tmp_path, "@failed")
    assert (same.returncode, "52 of 52 steps, the same" in same.stdout) == (0, True), same
    (tmp_path / "triage.py").write_text(source.replace(FAULT, MENDED))
    went = replay(own_dsn, tmp_path, "@failed", "--live", "--yes")
    assert "step 6: input changed at $.messages[5].content: alike for 2,048 characters" in went.stdout
    assert went.returncode == 0, went
    branch = load(resolve(own_dsn), "@last")
    assert (branch.head.status, branch.head.forked_at, branch.head.steps) == ("ok", 6, 12)
    assert branch.steps[-2].name == "gpt-5-mini"
    assert "Refunded 69.50 for order 8841" in (branch.steps[-2].payload.output or "")
    again = replay(own_dsn, tmp_path, str(branch.head.run_id))
    assert (again.returncode, "12 of 12 steps, the same" in again.stdout) == (0, True), again
