"""Tests that replay a recording, run by pytest in a process of its own, as a user has them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from stepwell.core import cassette
from stepwell.core.recorded import RecordedRun
from stepwell.core.steps import RunHead
from stepwell.core.testing import agent_at, source
from stepwell.replay.cassettes import load
from stepwell.rerun import pytest_plugin
from stepwell.rerun.memory import record
from tests.rerun import shop

RECORDING = "test_refund.stepwell.json"
OTHER_TEST = "\n\ndef test_that_has_nothing_to_do_with_it() -> None:\n    assert True\n"


@dataclass(frozen=True)
class Project:
    """A folder with an agent, and a test of it that was exported."""

    folder: Path

    @property
    def recording(self) -> Path:
        return self.folder / RECORDING

    @property
    def calls(self) -> list[str]:
        """What the agent's model and tool were called for."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def change(self, old: str, new: str) -> None:
        """Change the agent's code."""
        path = self.folder / "shop.py"
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    def pytest(self, *options: str, plugin: bool = True) -> tuple[int, str]:
        """The status and the output, without the plugins of others that are installed here."""
        own = ["-p", pytest_plugin.__name__] if plugin else []
        command = [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            *own,
            *options,
        ]
        alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "120"}
        env = {**os.environ, **alone, "SHOP_CALLS": str(self.folder / "calls")}
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    like = RecordedRun(RunHead(shop.RUN, "unknown", "refund"), (), seed=3)
    made, error = record(shop.triage, like, None)
    assert error is None
    (folder / RECORDING).write_bytes(cassette.pack(made))
    (folder / "shop.py").write_text(Path(shop.__file__).read_text())
    test = source(made.head, agent_at("shop:triage"), "test_refund", RECORDING)
    (folder / "test_refund.py").write_text(test + OTHER_TEST)
    return Project(folder)


def test_a_test_passes_as_long_as_the_agent_does_what_it_did_and_calls_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (project.folder / "shop.py").open(
        "a"
    ) as module:  # as people have it, where the test has no database
        module.write("\nimport stepwell\nRECORDER = stepwell.Recorder()\n")
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/nothing")
    status, said = project.pytest()
    assert (status, project.calls) == (0, []), said
    assert "2 passed" in said


@pytest.mark.parametrize("plugin", [True, False])
def test_a_test_shows_what_the_agent_does_otherwise_and_no_code_of_stepwells(
    plugin: bool, project: Project
) -> None:
    project.change("limit=5", "limit=20")
    status, said = project.pytest(plugin=plugin)
    assert (status, project.calls) == (1, []), said
    assert "1 failed, 1 passed" in said
    assert "Diverged: step 2: input changed at $.limit: recorded 5, now 20\n" in said
    failure = [line.removeprefix("E").strip() for line in said.splitlines() if line.startswith("E  ")]
    assert failure[1].startswith(f"asked at {project.folder / 'shop.py'}:")
    assert failure[1].endswith(" in triage")
    assert failure[2:] == [
        "--- recorded: tool_call search_orders",
        "+++ now: tool_call search_orders",
        "@@ -1,1 +1,1 @@",
        '-{"query": "broken lamp", "limit": 5}',
        '+{"query": "broken lamp", "limit": 20}',
        "If that is meant, record test_refund.stepwell.json anew: pytest --stepwell-record",
    ]
    assert "replaying.py" not in said
    assert "files.py" not in said


def test_a_flag_records_anew_by_real_calls_and_says_which(project: Project) -> None:
    before = load(project.recording)
    project.change("limit=5", "limit=20")
    status, said = project.pytest("--stepwell-record")
    assert (status, project.calls) == (0, ["gpt-5-mini", "search_orders", "gpt-5-mini"]), said
    assert "recorded anew, by calls that were made for real" in said
    assert f"{RECORDING}: 4 steps; model calls: gpt-5-mini ×2; tool calls: search_orders ×1" in said
    after = load(project.recording)
    assert (after.head.name, after.seed, after.head.run_id == before.head.run_id) == ("refund", 3, False)
    status, said = project.pytest()
    assert (status, len(project.calls)) == (0, 3), said
    assert sorted(path.name for path in project.folder.iterdir() if path.name != "calls") == [
        "shop.py",
        "test_refund.py",
        RECORDING,
    ]


def test_a_run_that_fails_is_not_recorded_in_place_of_one_that_did_not(project: Project) -> None:
    before = project.recording.read_bytes()
    project.change('raise LookupError("no such order")', 'raise OSError("no network")')
    project.change("if not found", "if found")
    status, said = project.pytest("--stepwell-record")
    assert status == 1, said
    assert "OSError: no network" in said
    assert f"{RECORDING} stays as it is" in said
    assert project.recording.read_bytes() == before


LOADED = """
import sys

def pytest_sessionfinish():
    print("loaded:", [name for name in ("psycopg", "textual", "time_machine", "stepwell.core") if name in sys.modules])
"""


def test_the_plugin_loads_nothing_where_nothing_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(LOADED)
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    status, said = Project(tmp_path).pytest("-s")
    assert status == 0, said
    assert "loaded: []" in said
    status, said = Project(tmp_path).pytest("-s", "--stepwell-record")
    assert status == 0, said
    assert "psycopg" in said
    assert "recorded anew" not in said


def test_pytest_finds_the_plugin_where_stepwell_is_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"stepwell": pytest_plugin.__name__}
