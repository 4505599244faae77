"""`stepwell replay RUN --agent … --live`: it asks, and then the agent goes on for real in a branch of the run."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.app.present.leaving import warning
from stepwell.commands.leave import may_go_on
from stepwell.core.recorded import RecordedRun
from stepwell.core.rerun import Leave
from stepwell.replay.recorded import load
from stepwell.store.connect import resolve
from tests.commands.cases import stepwell
from tests.conftest import create_database, drop_database
from tests.e2e.terminal import RawTerminal, is_running, wait_until
from tests.rerun.project import AGENT, Project, made

Capture = pytest.CaptureFixture[str]
QUESTION = b"go on? [y/N] "


@pytest.fixture(scope="module")
def shared(server: str, schema_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Its agent `changed` does otherwise from step 2 on."""
    dsn = create_database(server, schema_template)
    with made(tmp_path_factory.mktemp("project"), dsn) as project:
        project.write("changed", AGENT.replace("search, texts[-1]", "search, texts[-1], limit=2"))
        yield project
    drop_database(server, dsn)


@pytest.fixture
def project(shared: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The current folder is the project's."""
    monkeypatch.chdir(shared.folder)
    yield shared
    (shared.folder / "act").unlink(missing_ok=True)


@pytest.fixture
def terminal(project: Project) -> Iterator[RawTerminal]:
    """The command, asking."""
    words = ["--dsn", project.dsn, "replay", project.run_id.hex, "--agent", "changed:main", "--live"]
    there = ["sh", "-c", 'cd "$0" && exec "$@"', str(project.folder)]
    opened = RawTerminal([*there, sys.executable, "-m", "stepwell", *words], os.environ)
    opened.wait_for(QUESTION)
    yield opened
    opened.close()


def go_on(project: Project, *words: str, agent: str = "changed:main") -> int:
    return stepwell(project.dsn, "replay", project.run_id.hex, "--agent", agent, "--live", *words)


def last_run(project: Project) -> RecordedRun:
    return load(resolve(project.dsn), "@last")


def test_it_says_what_will_be_called_and_goes_on_after_a_yes(project: Project, terminal: RawTerminal) -> None:
    assert b"step 2: input changed at $.limit" in terminal.read()
    assert b"from step 2 on the agent will call models and tools for real" in terminal.written
    assert (
        b"the recorded run called from there on: search x3, model x2; the agent may call" in terminal.written
    )
    terminal.send(b"y\n")
    assert terminal.wait() == 0
    branch = last_run(project)
    said = f"went on for real: steps 2-6 of the branch {branch.head.run_id.hex[:4]}, ok".encode()
    assert said in terminal.written
    assert (branch.head.parent, branch.head.forked_at, branch.head.status) == (project.run_id, 2, "ok")
    assert branch.by_number[2].payload.output == '["answer to 0", "answer to 0"]'


@pytest.mark.parametrize(("key", "status"), [(b"\n", 1), (b"\x03", 130)])
def test_nothing_goes_on_without_a_yes(
    project: Project, terminal: RawTerminal, key: bytes, status: int
) -> None:
    before = last_run(project).head
    terminal.send(key)
    assert terminal.wait() == status
    assert b"Traceback" not in terminal.written
    assert last_run(project).head == before


def test_ctrl_c_in_the_middle_leaves_a_branch_that_died_and_no_process(
    project: Project, terminal: RawTerminal
) -> None:
    project.act("pathlib.Path('pid').write_text(f'{os.getpid()}\\n')\nsignal.pause()")
    pid = Path("pid")
    terminal.send(b"y\n")
    wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"), "the agent does not get there")
    assert last_run(project).head.status == "running"
    terminal.send(b"\x03")
    assert terminal.wait() == 130
    assert b"Traceback" not in terminal.written
    assert not is_running(int(pid.read_text()))
    short = last_run(project).head.run_id.hex[:4]
    said = f"went on for real: steps 2-4 of the branch {short}, died\r\nit was interrupted\r\nopen it: stepwell {short}"
    assert said.encode() in terminal.written
    wait_until(lambda: last_run(project).head.status == "died", "its branch lives on")
    assert len(last_run(project).steps) == 4


def test_what_has_no_terminal_to_ask_on_says_yes_beforehand(project: Project, capsys: Capture) -> None:
    assert go_on(project) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "there is no terminal to ask on; --yes says yes" in err
    assert go_on(project, "--yes", "--json") == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert err.startswith("from step 2 on the agent will call models and tools for real")
    assert report["branch"] == str(last_run(project).head.run_id)
    assert report["refused"] is report["stopped"] is None


def test_of_one_that_dies_there_the_branch_is_said(project: Project, capsys: Capture) -> None:
    project.act("os._exit(7)")
    assert go_on(project, "--yes") == 1
    out = capsys.readouterr().out
    assert re.search(r"went on for real: steps 2-4 of the branch \w+, died\nit ended by os\._exit\(7\)", out)


@pytest.mark.parametrize(
    ("turns", "status", "why"),
    [
        (3, 0, "the recording had an answer to all that the agent asked"),
        (2, 1, "the agent ended before it asked for anything that has no recorded answer"),
    ],
)
def test_where_nothing_can_be_gone_on_for_it_says_why(
    project: Project, capsys: Capture, turns: int, status: int, why: str
) -> None:
    before = last_run(project).head
    project.write("ends", AGENT.replace("range(3)", f"range({turns})"))
    assert go_on(project, "--yes", agent="ends:main") == status
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == f"nothing went on for real, and no branch was made: {why}"
    assert last_run(project).head == before


def test_where_no_question_came_it_says_what_did(project: Project, capsys: Capture) -> None:
    nothing = "nothing went on for real, and no branch was made: "
    project.act("os._exit(7)")
    assert go_on(project, "--yes", agent="agent:main") == 2
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith(
        f"{nothing}the agent got to no question without a recorded answer; ended by os._exit"
    )
    Path("act").unlink()
    project.write("other", AGENT.replace("[query] * limit", "[query]"))
    assert go_on(project, "--yes", "--pure", "search", agent="other:main") == 1
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == (
        f"{nothing}what step 2 gave is no question, and only one without a recorded answer is gone on from"
    )


def test_it_does_not_go_with_a_step(project: Project, capsys: Capture) -> None:
    words = ["replay", f"{project.run_id.hex}:3", "--agent", "agent:main", "--live", "--yes"]
    assert stepwell(project.dsn, *words) == 2
    assert "it does not go with a step" in capsys.readouterr().err


def test_in_a_terminal_what_is_said_before_breaks_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    leave = Leave(6, (("gpt-5-mini", 24), ("search_orders", 23)), connection=True)
    assert may_go_on(leave, asked=False)
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) == " ".join(warning(leave))
