"""A run that is still being recorded, looked at meanwhile."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import Terminal


class Agent:
    """A process that records a step whenever it is told to."""

    def __init__(self, dsn: str) -> None:
        command = [sys.executable, str(Path(__file__).with_name("agent.py")), dsn]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def record(self, *questions: str) -> None:
        for question in questions:
            assert self._ask(question) == "recorded\n"

    def hang(self) -> None:
        """Begin a step that never ends."""
        assert self._ask("hang") == "hanging\n"

    def _ask(self, question: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def finish(self) -> None:
        self._process.communicate()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def agent(schema_dsn: str) -> Iterator[Agent]:
    started = Agent(schema_dsn)
    yield started
    started.kill()


def test_follow_shows_each_step_as_it_is_recorded(
    terminal: Callable[..., Terminal], schema_dsn: str, agent: Agent
) -> None:
    agent.record("order 1", "order 2")
    debugger = terminal(*STEPWELL, "--dsn", schema_dsn, "@last")
    debugger.wait_for("1/2+", "RUNNING")
    agent.record("order 3")
    debugger.wait_for("1/3+")
    debugger.type("F")
    debugger.wait_for("3/3+", "order 3: found")
    agent.record("order 4", "order 5")
    debugger.wait_for("5/5+", "order 5: found")
    debugger.type("p")
    debugger.wait_for("4/5+", "order 4: found")
    agent.record("order 6")
    debugger.wait_for("4/6+", "order 4: found", "+1 new")
    debugger.type("F")
    debugger.wait_for("6/6+", "order 6: found")
    agent.finish()
    debugger.wait_for("6/6 100%", lambda screen: "RUNNING" not in screen[0])


def test_a_new_run_appears_and_its_end_shows(
    terminal: Callable[..., Terminal], schema_dsn: str, agent: Agent
) -> None:
    runs = terminal(*STEPWELL, "--dsn", schema_dsn)
    runs.wait_for("newest first")
    agent.record("order 1")
    runs.wait_for("~running  live-triage")
    agent.finish()
    runs.wait_for("ok       live-triage")


def test_a_recorder_that_is_killed_shows_as_died(
    terminal: Callable[..., Terminal], schema_dsn: str, agent: Agent
) -> None:
    agent.record("order 1")
    runs = terminal(*STEPWELL, "--dsn", schema_dsn)
    runs.wait_for("~running  live-triage")
    agent.kill()
    runs.wait_for("?died     live-triage")
    runs.type("Enter")
    runs.wait_for("DIED", "1/1 100% after")


def test_a_run_that_dies_while_it_is_stepped_through_is_told_in_title_and_flags(
    terminal: Callable[..., Terminal], schema_dsn: str, agent: Agent
) -> None:
    agent.record("order 1")
    agent.hang()
    debugger = terminal(*STEPWELL, "--dsn", schema_dsn, "@last:2")
    debugger.wait_for(
        "RUNNING", "2/2+", lambda screen: any("2 T look_up" in row and "~" in row for row in screen)
    )
    agent.kill()
    debugger.wait_for(
        lambda screen: "DIED in doubt: look_up" in screen[0],
        "2/2 100%",
        lambda screen: any("2 T look_up" in row and "?" in row and "~" not in row for row in screen),
    )
