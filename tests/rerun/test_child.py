"""A replay in a process of its own: whatever the agent does there, it is a report."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.core.divergence import Kind
from stepwell.core.rerun import Report
from stepwell.errors import NotFoundError, UsageError
from stepwell.rerun.child.output import MOST, NOT_KEPT, Output
from stepwell.rerun.child.process import AgentProcess
from stepwell.rerun.child.setup import MARK
from tests.conftest import create_database, drop_database
from tests.rerun.project import Project, made


@pytest.fixture(scope="module")
def shared(server: str, schema_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    dsn = create_database(server, schema_template)
    with made(tmp_path_factory.mktemp("project"), dsn) as project:
        yield project
    drop_database(server, dsn)


@pytest.fixture(scope="module")
def kept(shared: Project) -> Iterator[AgentProcess]:
    """One process for all tests that may share it."""
    with shared.process(timeout=30) as process:
        yield process


@pytest.fixture(scope="module")
def hasty(shared: Project) -> Iterator[AgentProcess]:
    """One that does not wait for long."""
    with shared.process(timeout=1) as process:
        yield process


def at_last(process: AgentProcess) -> Report:
    """What comes of a replay that gets as far as what it is told to do: one that is not to wait for long may not."""
    reports = (process.replay() for _ in range(20))
    return next(report for report in reports if report.last == 4)


def goes_on(process: AgentProcess) -> bool:
    """Whether it replays after all that."""
    return any(process.replay(3).same for _ in range(20))


@pytest.fixture(scope="module")
def bad(shared: Project) -> Iterator[AgentProcess]:
    """One of an agent whose module each test writes."""
    shared.write("bad", "")
    with shared.process("bad:main") as process:
        yield process


@pytest.fixture
def project(shared: Project) -> Iterator[Project]:
    yield shared
    (shared.folder / "act").unlink(missing_ok=True)


def test_an_agent_does_the_same_and_what_it_prints_is_kept(kept: AgentProcess) -> None:
    report = kept.replay()
    assert report.same
    assert (report.served, report.last, report.stopped) == (6, 6, None)
    assert report.output == "turn 0\nturn 1\nturn 2\n"
    assert report.result == "answer to 2"
    assert report.notes == ()
    assert report.place is not None
    assert (Path(report.place.file).name, report.place.function) == ("agent.py", "main")


def test_it_goes_to_any_step_and_back(kept: AgentProcess) -> None:
    for number in (6, 1, 4, 2, 4):
        report = kept.replay(number)
        assert (report.last, report.same, report.notes) == (number, True, ())


@pytest.mark.parametrize(
    ("act", "says"),
    [
        ("os._exit(3)", "ended by os._exit(3) at act.py:1 in <module> (last step: 4)"),
        ("ctypes.string_at(0)", "died of SIGSEGV at act.py:1 in <module> (last step: 4)"),
        ("os.abort()", "died of SIGABRT at act.py:1 in <module> (last step: 4)"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "died of SIGTERM (last step: 4)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL; most likely"),
        ("raise MemoryError", "out of memory at act.py:1"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt at act.py:1"),
    ],
)
def test_what_ends_it_is_named_with_its_place_and_the_last_step(
    project: Project, kept: AgentProcess, act: str, says: str
) -> None:
    project.act(act)
    report = kept.replay()
    assert report.refused is not None
    assert report.refused.startswith(says)
    assert (report.same, report.last, report.served) == (False, 4, 4)
    assert report.output == "turn 0\nturn 1\n"
    assert kept.replay(3).same


def test_an_agent_that_ends_the_interpreter_ends_early(project: Project, kept: AgentProcess) -> None:
    project.act("sys.exit(3)")
    report = kept.replay()
    assert report.divergence is not None
    assert (report.divergence.kind, report.divergence.step) == (Kind.RAISED, 5)
    assert (report.divergence.actual, report.divergence.where) == ("SystemExit: 3", "act.py:1 in <module>")


@pytest.mark.parametrize(
    "act", [pytest.param("while True: pass", marks=pytest.mark.long), "threading.Event().wait()"]
)
def test_a_hang_is_found_where_it_is_and_ended(project: Project, hasty: AgentProcess, act: str) -> None:
    project.act(f"def wait():\n    {act}\nwait()")
    assert at_last(hasty).refused == "hangs at act.py:2 in wait, after 1 s (last step: 4)"
    assert goes_on(hasty)


def test_a_divergence_is_told_though_the_agent_swallows_whatever_ends_it(
    project: Project, hasty: AgentProcess
) -> None:
    project.act(
        "import inspect\nrun = inspect.currentframe().f_back.f_back.f_locals['run']\n"
        "while True:\n    try: run.tool(search, 'other')\n    except BaseException: pass"
    )
    report = at_last(hasty)
    assert report.divergence is not None
    assert (report.divergence.kind, report.divergence.step) == (Kind.OTHER, 5)
    assert report.notes[-1].startswith("the agent went on nevertheless: it hangs")


@pytest.mark.long
def test_an_agent_that_cannot_be_ended_politely_is_ended(project: Project, hasty: AgentProcess) -> None:
    project.act("import faulthandler; faulthandler.cancel_dump_traceback_later(); signal.pause()")
    assert at_last(hasty).refused == "hangs, after 1 s (last step: 4)"
    assert goes_on(hasty)


@pytest.mark.long
def test_memory_is_bounded(project: Project) -> None:
    project.act("x = []\nwhile True:\n    x.append(bytearray(10_000_000))")
    with project.process(memory=1 << 30) as process:
        report = process.replay()
    assert report.refused == "out of memory at act.py:3 in <module>"
    assert report.last == 4


def test_a_replay_can_be_given_up(project: Project, kept: AgentProcess) -> None:
    os.mkfifo(there := project.folder / "there")
    project.act("open('there', 'w').close()\nsignal.pause()")

    def give_up() -> None:
        there.read_bytes()
        kept.cancel()

    threading.Thread(target=give_up, daemon=True).start()
    report = kept.replay()
    assert report.refused == "cancelled (last step: 4)"
    assert kept.replay(3).same


def test_of_endless_printing_the_first_megabyte_is_kept_and_the_rest_counted(
    project: Project, kept: AgentProcess
) -> None:
    project.act("print('x' * 3_000_000); print('é' * 10, file=sys.stderr)")
    report = kept.replay()
    assert report.same
    assert report.output.count("x") == MOST - len("turn 0\nturn 1\n")
    assert report.output.endswith(NOT_KEPT)
    assert kept.replay().output.count("x") == MOST - len("turn 0\nturn 1\n")


def test_what_was_printed_before_it_was_begun_again_does_not_count() -> None:
    reading, writing = os.pipe()
    output = Output(reading)
    for part in (b"early", MARK[:3], MARK[3:] + b"late", b"r"):
        os.write(writing, part)
        output.read()
    assert output.take() == "later"
    os.close(writing)
    output.close()


def test_an_agent_may_do_without_its_streams(project: Project, kept: AgentProcess) -> None:
    project.act("sys.stdout = sys.stderr = None")
    assert kept.replay().same


def test_it_has_no_terminal_and_reads_nothing(project: Project, kept: AgentProcess) -> None:
    project.act(
        "print(repr(sys.stdin.read()))\n"
        "try:\n    os.open('/dev/tty', os.O_RDWR)\nexcept OSError:\n    print('no terminal')"
    )
    assert kept.replay().output.splitlines()[2:4] == ["''", "no terminal"]


def test_what_it_writes_and_reads_in_its_process_is_gone_with_the_next(
    project: Project, kept: AgentProcess
) -> None:
    project.act("seen = globals().get('seen', 0) + 1\nprint('seen', seen)")
    for _ in range(2):
        assert "seen 1\n" in kept.replay().output


def test_an_edit_may_be_of_any_size(kept: AgentProcess) -> None:
    report = kept.replay(edits={1: (json.dumps({"text": "x" * 3_000_000}), None)})
    assert report.divergence is not None
    assert (report.refused, report.divergence.step) == (None, 2)


def test_an_edited_file_is_imported_anew(project: Project, bad: AgentProcess) -> None:
    same = "from agent import main as real\ndef main(run):\n    return real(run)\n"
    project.write("bad", same)
    assert bad.replay().same
    # As long as it was, and within the same second.
    project.write("bad", same.replace("real(run)", "run.agent"))
    report = bad.replay()
    assert report.divergence is not None
    assert (report.divergence.kind, report.divergence.step) == (Kind.NEVER_ASKED, 1)
    project.write("bad", same)
    assert bad.replay().same


def test_what_the_agent_imports_late_is_read_anew_each_time(project: Project, bad: AgentProcess) -> None:
    project.write("bad", "def main(run):\n    import late\n    return late.main(run)\n")
    project.write("late", "from agent import main")
    assert bad.replay().same
    project.write("late", "def main(run): ...    ")
    assert bad.replay().divergence is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def mian(run): ...", "bad has no main; is it mian?"),
        ("main = 3", "bad:main is of type int, which cannot be called"),
        (
            "def main(run, log): ...",
            (
                "bad:main(run, log) cannot be called with the run alone, as an agent is;"
                " wrap it: def main(run): return main(run, …)"
            ),
        ),
        (
            "import nothing_such",
            "bad.py:1: importing bad raised ModuleNotFoundError: No module named 'nothing_such'",
        ),
        ("\n{}['KEY']", "bad.py:2: importing bad raised KeyError: 'KEY'"),
        (
            "import os\nos.environ['NO_SUCH_KEY']",
            "bad.py:2: importing bad raised KeyError: 'NO_SUCH_KEY'; the environment is that of here",
        ),
        ("\ndef main(run:", "bad.py:2: importing bad raised SyntaxError: '(' was never closed"),
        ("import sys; sys.exit('no')", "bad.py:1: importing bad raised SystemExit: no"),
    ],
)
def test_an_agent_that_cannot_be_had_is_one_line(
    project: Project, bad: AgentProcess, text: str, says: str
) -> None:
    project.write("bad", text)
    for _ in range(2):
        with pytest.raises(UsageError) as raised:
            bad.replay()
        assert str(raised.value) == says
    project.write("bad", "from agent import main")
    assert bad.replay().same


def test_a_module_that_is_not_there_is_said_with_where_it_was_looked_for(project: Project) -> None:
    with project.process("nowhere.deeper:main") as process, pytest.raises(UsageError) as raised:
        process.replay()
    assert str(raised.value) == f"no module nowhere in {project.folder} or where {sys.executable} looks"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os; os._exit(4)", "importing the agent ended by os._exit(4) at bad.py:1 in <module>"),
        ("import ctypes; ctypes.string_at(0)", "importing the agent died of SIGSEGV at bad.py:1 in <module>"),
    ],
)
def test_a_module_that_cannot_be_survived_is_a_report(
    project: Project, bad: AgentProcess, text: str, says: str
) -> None:
    project.write("bad", text)
    for _ in range(2):
        assert bad.replay().refused == says
    project.write("bad", "from agent import main")
    assert bad.replay().same


def test_a_module_that_hangs_is_found_where_it_does(project: Project) -> None:
    project.write("bad", "def wait():\n    while True: pass\nwait()")
    says = "importing the agent hangs at bad.py:2 in wait, after 1 s"
    with project.process("bad:main", timeout=1) as process:
        assert any(process.replay().refused == says for _ in range(20))


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("agent", "an agent reads package.module:callable"),
        ("agent:", "an agent reads package.module:callable"),
        ("./src/agent.py:main", "by its module, not by a file: src.agent:main"),
        ("/nowhere/agent.py", "by its module, not by a file: cd /nowhere, and agent:main"),
        ("agent;x:main", "an agent reads package.module:callable"),
    ],
)
def test_a_name_that_is_none_is_refused_at_once(project: Project, agent: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        project.process(agent)


def test_a_thread_that_importing_starts_is_survived(project: Project, bad: AgentProcess) -> None:
    project.write(
        "bad",
        "import threading, time\n"
        "lock = threading.Lock()\n"
        "def work():\n    while True:\n        with lock: time.sleep(0.001)\n"
        "threading.Thread(target=work, daemon=True, name='worker').start()\n"
        "from agent import main as real\n"
        "def main(run):\n    with lock: pass\n    return real(run)\n",
    )
    for _ in range(3):
        report = bad.replay()
        assert report.same
        assert report.notes == ("imported anew for each replay: importing starts a thread (worker)",)


def test_no_such_run_is_not_found(project: Project, schema_dsn: str) -> None:
    other = Project(project.folder, schema_dsn, project.run_id)
    with other.process() as process, pytest.raises(NotFoundError, match="no run's id begins with"):
        process.replay()
