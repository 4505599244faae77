"""Nothing of a replay outlives whoever asked for it, and nothing of one replay the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepwell.errors import UsageError
from stepwell.rerun.child.process import AgentProcess
from stepwell.store.connect import resolve
from tests.rerun.project import Project, descriptors, in_group, made


@pytest.fixture
def project(schema_dsn: str, tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    with made(folder, schema_dsn) as project:
        return project


def members(session: int) -> set[int]:
    """The processes of a session that are there, and the remains of those that it has to clear away itself."""
    words = ["ps", "-A", "-o", "pid=,ppid=,sess=,stat="]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    found = {int(pid): (int(parent), state) for pid, parent, own, state in rows if own == str(session)}
    return {
        pid
        for pid, (parent, state) in found.items()
        if pid == session or parent in found or not state.startswith("Z")
    }


def wait_until_gone(session: int) -> None:
    """All but its first process, whose remains are whoever asked's to clear away."""
    while members(session) - {session}:
        time.sleep(0.01)


def session_of(process: AgentProcess) -> int:
    assert process._child is not None
    return process._child._process.pid


WRITE_PIDS = "pathlib.Path('pids').write_text(f'{os.getsid(0)} {os.getpid()}')\n"
LEAVE_ONE = "if os.fork() == 0:\n    signal.pause()\n"


@pytest.mark.long
def test_two_hundred_replays_leave_no_process_and_no_descriptor(project: Project) -> None:
    with project.process() as process:
        assert process.replay().same
        session, before = session_of(process), descriptors()
        resident = members(session)
        for number in range(200):
            assert process.replay(number % 6 + 1).same
        assert descriptors() == before
        assert members(session) == resident
    assert members(session) == set()


def test_what_the_agent_has_forked_is_ended_with_it(project: Project) -> None:
    project.act(LEAVE_ONE)
    with project.process() as process:
        assert process.replay(3).same
        session = session_of(process)
        resident = members(session)
        report = process.replay()
        assert report.same
        assert report.notes == ("act.py:1 forked a process, in which nothing is seen",)
        while members(session) != resident:
            time.sleep(0.01)


@pytest.mark.parametrize(
    "act",
    [
        LEAVE_ONE + "while True: pass",
        pytest.param("signal.pause()", marks=pytest.mark.long),
        pytest.param("os.setpgid(0, 0); signal.pause()", marks=pytest.mark.long),
    ],
)
def test_what_is_under_way_ends_with_whoever_asked_however_that_ends(project: Project, act: str) -> None:
    project.act(WRITE_PIDS + act)
    script = (
        "import sys, threading, os, pathlib\n"
        "from uuid import UUID\n"
        "from tests.rerun.project import Project\n"
        "project = Project(pathlib.Path(sys.argv[1]), sys.argv[2], UUID(sys.argv[3]))\n"
        "project.process().replay()\n"
    )
    words = [str(project.folder), project.dsn, str(project.run_id)]
    asker = subprocess.Popen([sys.executable, "-c", script, *words], cwd=Path(__file__).parents[2])
    pids = project.folder / "pids"
    while not pids.exists() or len(pids.read_text().split()) != 2:
        assert asker.poll() is None
        time.sleep(0.01)
    session, playing = map(int, pids.read_text().split())
    assert in_group(playing)
    asker.send_signal(signal.SIGKILL)
    asker.wait()
    wait_until_gone(session)
    while state(session).strip("\n ") and not state(session).startswith("Z"):
        time.sleep(0.01)


def state(process: int) -> str:
    """Empty for none."""
    words = ["ps", "-o", "stat=", "-p", str(process)]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def test_a_keeper_that_is_killed_is_started_again(project: Project) -> None:
    with project.process() as process:
        assert process.replay().same
        session = session_of(process)
        os.kill(session, signal.SIGKILL)
        wait_until_gone(session)
        assert process.replay().same
        project.act("os.kill(os.getsid(0), signal.SIGKILL); signal.pause()")
        with pytest.raises(UsageError, match="kept ready for replays was ended by SIGKILL"):
            process.replay()


def test_one_that_is_closed_replays_no_more(project: Project) -> None:
    process = project.process()
    process.close()
    process.close()
    with pytest.raises(UsageError, match="closed"):
        process.replay()


def test_an_interpreter_without_stepwell_is_told(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import venv

    monkeypatch.delenv("PYTHONPATH", raising=False)  # there it might be found after all
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    with project.process(python=tmp_path / "bare") as process, pytest.raises(UsageError) as raised:
        process.replay()
    python = tmp_path / "bare/bin/python"
    checkout = Path(__file__).parents[2]
    assert (
        str(raised.value)
        == f"{python} has no Stepwell; install this one there: {python} -m pip install {checkout}"
    )


def test_the_interpreter_of_a_virtual_environment_is_the_one_that_runs(project: Project) -> None:
    project.act("print(sys.prefix)")
    with project.process(python=sys.prefix) as process:
        assert f"{sys.prefix}\n" in process.replay().output


@pytest.mark.long
def test_what_the_process_takes_to_start_is_no_time_of_the_agents(project: Project, tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 4\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    with project.process(python=slow, timeout=1) as process:
        assert any(process.replay(1).same for _ in range(3))


def test_where_the_current_folder_is_gone_that_is_said(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="the current folder is gone"):
        AgentProcess(resolve(project.dsn), project.run_id, "agent:main")


@pytest.mark.parametrize("python", ["/nowhere/python", "/", __file__])
def test_what_is_no_interpreter_is_refused(project: Project, python: str) -> None:
    with pytest.raises(UsageError, match="neither a Python interpreter nor the folder"):
        project.process(python=python)


def test_secrets_show_in_no_list_of_processes(project: Project) -> None:
    with project.process() as process:
        process.replay(1)
        said = subprocess.run(
            ["ps", "-o", "args=", "-p", str(session_of(process))], capture_output=True, text=True, check=True
        ).stdout
    assert said.split()[1:3] == ["-m", "stepwell.rerun.child"]
    assert len(said.split()) == 4
