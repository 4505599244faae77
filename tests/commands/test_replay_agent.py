"""`stepwell replay RUN --agent`: what the agent's own code does on its recording."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.cases import stepwell
from tests.conftest import create_database, drop_database
from tests.rerun.project import AGENT, Project, made

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def shared(server: str, schema_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    dsn = create_database(server, schema_template)
    with made(tmp_path_factory.mktemp("project"), dsn) as project:
        yield project
    drop_database(server, dsn)


@pytest.fixture
def project(shared: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The current folder is the project's."""
    monkeypatch.chdir(shared.folder)
    yield shared
    (shared.folder / "act").unlink(missing_ok=True)


def replay(project: Project, *words: str) -> int:
    return stepwell(project.dsn, "replay", project.run_id.hex[:8], "--agent", *words)


def test_an_agent_that_does_the_same_is_said_in_a_line(project: Project, capsys: Capture) -> None:
    assert replay(project, "agent:main") == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == f"project {project.run_id.hex[:8]}, recorded: ok"
    assert second.startswith("6 of 6 steps, the same, in ")
    assert third == "it printed 3 lines; --output shows them"


def test_of_more_than_is_kept_no_number_of_lines_is_told(project: Project, capsys: Capture) -> None:
    project.act("print('x\\n' * 600_000)")
    assert replay(project, "agent:main") == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "it printed more than 1.0 MB; --output shows the beginning"
    ]


def test_up_to_a_step_with_its_output(project: Project, capsys: Capture) -> None:
    assert replay(project, "agent:main", "--to", "50%", "--output") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("3 of 6 steps, the same, in ")
    assert lines[1].endswith("; stopped: step 3")
    assert lines[2:] == ["OUTPUT", "turn 0"]


def test_a_divergence_is_shown_with_both_sides_and_its_place(project: Project, capsys: Capture) -> None:
    project.write(
        "changed", AGENT.replace("run.tool(search, texts[-1])", "run.tool(search, texts[-1], limit=2)")
    )
    assert replay(project, "changed:main") == 1
    out = capsys.readouterr().out
    assert "step 2: input changed at $.limit: recorded nothing, now 2" in out or "recorded 3, now 2" in out
    line = 1 + project.folder.joinpath("changed.py").read_text().splitlines().index(
        "        run.tool(search, texts[-1], limit=2)"
    )
    assert (
        f"asked at {project.folder}/changed.py:{line} in main" in out or f"asked at changed.py:{line}" in out
    )
    assert "--- recorded: tool_call search" in out
    assert "+++ now: tool_call search" in out
    assert "1 of 6 steps until then" in out


def test_as_json_it_is_one_object(project: Project, capsys: Capture) -> None:
    project.act(
        "print(urllib.request)\ntry:\n    urllib.request.urlopen('http://example.com')\nexcept OSError: pass"
    )
    assert replay(project, "agent:main", "--json", "--to", "6") == 0
    out = capsys.readouterr().out
    made = json.loads(out)
    assert out.count("\n") == 1
    assert list(made) == [
        "run_id", "agent", "to", "milliseconds", "same", "served", "steps", "last", "place", "divergence",
        "stopped", "refused", "result", "notes", "leave", "branch", "output",
    ]  # fmt: skip
    assert (made["run_id"], made["agent"], made["to"]) == (str(project.run_id), "agent:main", 6)
    assert (made["same"], made["served"], made["steps"], made["last"]) == (True, 6, 6, 6)
    assert made["divergence"] is made["refused"] is None
    assert made["notes"] == ["act.py:3 looked up example.com: refused"]
    assert made["place"]["function"] == "main"


def test_one_that_dies_is_status_2_and_says_of_what(project: Project, capsys: Capture) -> None:
    project.act("os._exit(7)")
    assert replay(project, "agent:main") == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "ended by os._exit(7) at act.py:1 in <module> (last step: 4)"
    assert lines[2].startswith("4 of 6 steps until then, in ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["agent.py:main"], "an agent is named by its module, not by a file: agent:main"),
        (["nowhere:main"], "no module nowhere in "),
        (["agent:main", "--asked"], "--asked shows a world"),
        (["agent:main", "--timeout", "0"], "a timeout is a number of seconds above 0"),
        (["agent:main", "--timeout", "nan"], "a timeout is a number of seconds above 0"),
        (["agent:main", "--memory", "-1"], "--memory is a number of MB from 1 to 268435456, not -1"),
        (["agent:main", "--memory", "99999999999999999"], "--memory is a number of MB from 1 to 268435456"),
        (["agent:main", "--memory", "10"], "memory: 10 MB are too few: the process has "),
        (["agent:main", "--to", "-1"], "no step: '-1'"),
        (["agent:main", "--python", "/nowhere"], "neither a Python interpreter"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    project: Project, capsys: Capture, words: list[str], says: str
) -> None:
    assert replay(project, *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err


@pytest.mark.parametrize("words", [["--output"], ["--pure", "x"], ["--timeout", "3"], ["--memory", "0"]])
def test_what_goes_with_an_agent_alone_is_refused_without(
    project: Project, capsys: Capture, words: list[str]
) -> None:
    assert stepwell(project.dsn, "replay", project.run_id.hex, *words) == 2
    assert f"{words[0]} goes with --agent package.module:callable" in capsys.readouterr().err


def test_ctrl_c_ends_all_at_once(project: Project) -> None:
    project.act("pathlib.Path('pid').write_text(f'{os.getpid()}\\n')\nsignal.pause()")
    words = ["--dsn", project.dsn, "replay", project.run_id.hex, "--agent", "agent:main"]
    command = subprocess.Popen([sys.executable, "-m", "stepwell", *words], stderr=subprocess.PIPE)
    pid = Path("pid")
    while not pid.exists() or not pid.read_text().endswith("\n"):
        assert command.poll() is None
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    assert command.communicate()[1] == b""
    assert command.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
