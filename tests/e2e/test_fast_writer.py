"""A run that is written as fast as an agent can, looked at and followed meanwhile."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import Terminal

WRITER = """
import sys, stepwell
with stepwell.Recorder(sys.argv[1]) as recorder, recorder.run("fast") as run:
    for number in range(1, 10**6):
        run.named("look_up").tool(lambda number: f"answer {number}", number=number)
        if number == 1:
            print(run.run_id, flush=True)
            sys.stdin.readline()
        if number == int(sys.argv[2]):
            break
"""
STEPS = 600


@pytest.fixture
def writer(schema_dsn: str) -> Iterator["subprocess.Popen[str]"]:
    """A recorder that goes on once it is told to."""
    command = [sys.executable, "-c", WRITER, schema_dsn, str(STEPS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def opened(
    terminal: Callable[..., Terminal], dsn: str, writer: "subprocess.Popen[str]", keys: str = ""
) -> Terminal:
    """The run at its first step; the writer goes on once the keys have been pressed."""
    assert writer.stdin is not None
    assert writer.stdout is not None
    debugger = terminal(*STEPWELL, "--dsn", dsn, writer.stdout.readline().strip())
    debugger.wait_for("1/1+", "RUNNING", "answer 1")
    if keys:
        debugger.type(keys)
        debugger.wait_for("following")
    writer.stdin.write("go\n")
    writer.stdin.flush()
    return debugger


def test_following_ends_at_the_last_step(
    terminal: Callable[..., Terminal], schema_dsn: str, writer: "subprocess.Popen[str]"
) -> None:
    debugger = opened(terminal, schema_dsn, writer, "F")
    assert writer.wait() == 0
    debugger.wait_for(f"{STEPS}/{STEPS} 100%", f"answer {STEPS}", " OK ", finished)


def test_looking_on_stays_where_it_was_and_no_step_is_missing(
    terminal: Callable[..., Terminal], schema_dsn: str, writer: "subprocess.Popen[str]"
) -> None:
    """Each step was seen unfinished or finished at some look; in the end all of them have finished."""
    debugger = opened(terminal, schema_dsn, writer)
    assert writer.wait() == 0
    debugger.wait_for(f"+{STEPS - 1} new", "answer 1", " OK ", finished)
    debugger.type("G")
    debugger.wait_for(f"{STEPS}/{STEPS} 100%", f"answer {STEPS}", finished)


def finished(screen: list[str]) -> bool:
    """Whether the timeline and the strip show no step that still runs or is in doubt."""
    return not any("~" in line or "?" in line for line in screen[1:22])
