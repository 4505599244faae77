"""What a script recorded of its own classes, which are its `__main__`'s, is replayed through its module."""

from __future__ import annotations

import importlib
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from uuid import UUID

import pytest

import stepwell
from stepwell.cli import main
from stepwell.core.codec import encode
from stepwell.core.divergence import Kind
from stepwell.replay.recorded import load
from stepwell.rerun.files import ANEW
from stepwell.rerun.scripts import as_main
from stepwell.store.connect import resolve
from tests.conftest import create_database, drop_database
from tests.rerun.project import Project

SCRIPT = """
import sys
import traceback
from dataclasses import dataclass
import stepwell

@dataclass
class Order:
    number: int

class LostError(Exception):
    def __init__(self, order):
        super().__init__(f"order {order.number}")
        self.order = order

def find(order):
    return Order(order.number + 1)

def fields(kind):
    return kind

def lose(order):
    raise LostError(order)

def main(run):
    found = run.tool(find, Order(1))
    assert isinstance(found, Order)
    assert run.tool(fields, Order) is Order
    try:
        run.tool(lose, found)
    except LostError as error:
        run.state({"order": error.order, "said": traceback.format_exception_only(error)})
    raise LostError(found)

if __name__ == "__main__":
    recorder = stepwell.Recorder(sys.argv[1])
    try:
        with recorder.run("script") as run:
            main(run)
    except LostError:
        print(run.run_id)
    recorder.close()
"""
CHANGED = SCRIPT.replace("Order(1)", "Order(2)")


@pytest.fixture(scope="module")
def project(server: str, schema_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder, dsn = tmp_path_factory.mktemp("script"), create_database(server, schema_template)
    (folder / "script.py").write_text(SCRIPT)
    (folder / "changed.py").write_text(CHANGED)
    words = [sys.executable, "script.py", dsn]
    said = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=True).stdout
    yield Project(folder, dsn, UUID(said.strip()))
    drop_database(server, dsn)


@pytest.fixture
def script(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script as a module of this process, of which all is as it was after a test."""
    monkeypatch.chdir(project.folder)
    monkeypatch.syspath_prepend(project.folder)
    module, before = importlib.import_module("script"), sys.modules["__main__"]
    order = encode(module.Order(3))
    yield module
    assert sys.modules["__main__"] is before
    assert (module.Order.__module__, module.LostError.__module__) == ("script", "script")
    assert (encode(module.Order(3)), "script:Order" in str(order.exact)) == (order, True)
    for name in ("script", "changed"):
        sys.modules.pop(name, None)


def check(error: stepwell.Diverged) -> None:
    found = error.divergence
    assert (found.kind, found.step, found.path) == (Kind.INPUT, 1, "$.order.number")
    assert (found.expected, found.actual) == (1, 2)


def test_in_a_process_of_its_own(project: Project) -> None:
    with project.process("script:main") as process:
        report = process.replay()
    assert (report.divergence, report.refused, report.served) == (None, None, 4)
    with project.process("changed:main") as process:
        report = process.replay()
    assert report.divergence is not None
    check(stepwell.Diverged(report.divergence))


def test_in_this_process(project: Project, script: ModuleType) -> None:
    for agent in (script.main, partial(script.main), lambda run: script.main(run)):
        assert stepwell.replay(project.run_id, agent, dsn=project.dsn).served == 4
    changed = importlib.import_module("changed")
    with pytest.raises(stepwell.Diverged) as caught:
        stepwell.replay(project.run_id, changed.main, dsn=project.dsn)
    check(caught.value)


def test_in_a_test_that_was_exported(project: Project, script: ModuleType) -> None:
    for module in (script.__name__, "changed"):
        words = ["--pytest", f"test_{module}.py", "--agent", f"{module}:main"]
        assert main(["export", "--dsn", project.dsn, project.run_id.hex, *words]) == 0
    test = runpy.run_path("test_script.py")["test_script"]
    test()
    told: list[str] = []
    token = ANEW.set(told)
    try:
        test()
    finally:
        ANEW.reset(token)
    assert told[0].endswith("ended with script.LostError: order 2")
    test()
    with pytest.raises(stepwell.Diverged) as caught:
        runpy.run_path("test_changed.py")["test_changed"]()
    check(caught.value)


def test_what_the_module_does_not_have_stays_that_of_the_script_that_replays(project: Project) -> None:
    recorded, before = load(resolve(project.dsn), str(project.run_id)), sys.modules["__main__"]
    with as_main(sys.modules["json"], recorded):  # the other module that had all is not loaded any more
        assert sys.modules["__main__"] is before
