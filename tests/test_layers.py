"""What an agent in production loads when it imports Stepwell: the recorder, and nothing of the debugger."""

import json
import subprocess
import sys

import pytest

import stepwell

SCREEN = {"pygments", "rich", "textual"}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after `statement`."""
    script = f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "module",
    [
        "stepwell",
        "stepwell.recorder",
        "stepwell.replay",
        "stepwell.importers",
        "stepwell.store.reading",
        "stepwell.core.world",
    ],
)
def test_nothing_of_the_terminal_is_loaded_below_the_app(module: str) -> None:
    assert loaded_by(f"import {module}") & SCREEN == set()


def test_what_replays_loads_no_writer_before_an_agent_goes_on_for_real() -> None:
    script = "import sys, stepwell.rerun.child.keeper; sys.exit('stepwell.recorder.writer' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


VERSION = """
import sys
sys.argv = ["stepwell", "--version"]
import stepwell.cli
try:
    stepwell.cli.main()
except SystemExit:
    pass
print("textual" in sys.modules)
"""


def test_asking_for_the_version_loads_no_screen() -> None:
    done = subprocess.run([sys.executable, "-c", VERSION], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_public_names_are_sorted_and_all_there() -> None:
    assert list(stepwell.__all__) == sorted(stepwell.__all__)
    missing = [name for name in stepwell.__all__ if not hasattr(stepwell, name)]
    assert missing == []


@pytest.mark.parametrize("first", ["stepwell.replay.recorded", "stepwell.rerun.files", "stepwell"])
def test_replay_is_a_function_whatever_was_imported_before(first: str) -> None:
    script = f"import {first}, stepwell; from stepwell import replay; print(replay.__name__, stepwell.replay is replay)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "replay True\n"


def test_public_names_are_documented() -> None:
    undocumented = [name for name in stepwell.__all__ if not (getattr(stepwell, name).__doc__ or "").strip()]
    assert undocumented == []
