"""`stepwell export --pytest`: the test that is written, and what it says and does."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from uuid import UUID

import pytest

import stepwell
from stepwell.cli import main
from stepwell.commands import export
from stepwell.core.steps import RunHead
from stepwell.core.testing import agent_at, source
from stepwell.errors import UsageError
from stepwell.rerun.files import ANEW
from tests.commands.exporting import record
from tests.rerun import shop

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.usefixtures("recorded")
def test_a_test_is_written_beside_its_recording_and_passes(capsys: Capture) -> None:
    arguments = ["--pytest", "tests/test_refund.py", "--agent", "tests.rerun.shop:triage"]
    assert main(["export", "@last", *arguments]) == 0
    wrote, holds = capsys.readouterr().err.splitlines()
    assert wrote.startswith("wrote tests/test_refund.py, and beside it tests/test_refund.stepwell.json: ")
    assert holds == export.HOLDS
    made = runpy.run_path("tests/test_refund.py")
    made["test_refund"]()
    assert made["__doc__"].startswith("Made of refund ")
    assert "which ended well after 4 steps." in made["__doc__"]


def test_a_test_of_a_large_run_has_a_compressed_recording(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(schema_dsn, shop.triage)
    monkeypatch.setattr(export, "LARGE", 1000)
    arguments = ["--pytest", "tests/test_a.py", "--agent", "tests.rerun.shop:triage", "--name", "big-one"]
    assert main(["export", "@last", *arguments]) == 0
    assert [path.name for path in Path("tests").iterdir() if path.suffix != ".py"] == [
        "test_a.stepwell.json.gz"
    ]
    runpy.run_path("tests/test_a.py")["test_big_one"]()


def fails(run: stepwell.Run) -> None:
    run.tool(shop.search_orders, "lamp", limit=1)
    raise LookupError('no """order\\ \x1b[31m\n8841')


def test_a_test_says_how_the_run_failed_whatever_the_words(schema_dsn: str) -> None:
    with pytest.raises(LookupError):
        record(schema_dsn, fails)
    arguments = ["--pytest", "tests/test_fails.py", "--agent", f"{__name__}:fails"]
    assert main(["export", "@failed", *arguments]) == 0
    text = Path("tests/test_fails.py").read_text()
    told = ast.get_docstring(ast.parse(text))
    assert told is not None
    assert "which failed after 1 step." in told
    assert "LookupError: no '''order\\\\ \\x1b[31m 8841" in told
    assert text.isprintable() or set(text) - {"\n"} == {c for c in text if c.isprintable()}
    sys.modules[__name__].fails = fails  # type: ignore[attr-defined]  # it is imported by name
    runpy.run_path("tests/test_fails.py")["test_fails"]()


@pytest.mark.usefixtures("recorded")
def test_an_agent_that_only_the_current_folder_has_is_found_by_the_command_that_the_import_names(
    here: Path, capsys: Capture
) -> None:
    (here / "refunds").mkdir()
    (here / "refunds/agent.py").write_text("raise AssertionError('it is not imported for that')")
    arguments = ["--pytest", "tests/test_a.py", "--agent", "refunds.agent:triage", "--force"]
    assert main(["export", "@last", *arguments]) == 0
    assert capsys.readouterr().err.count("\n") == 2
    (line,) = [line for line in Path("tests/test_a.py").read_text().splitlines() if "refunds" in line]
    assert line.startswith("from refunds.agent import triage  # not found? ")
    assert line.endswith(" python -m pytest")
    (here / "refunds/agent.py").unlink()
    assert main(["export", "@last", *arguments]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(
        f"no module refunds.agent in {here} or where {sys.executable} looks: the test fails"
    )
    assert "not found" not in Path("tests/test_a.py").read_text()
    assert main(["export", "@last", "--pytest", "tests/a.py", "--agent", "tests.rerun.shop:triage"]) == 0
    assert capsys.readouterr().err.endswith("others where they are named: pytest tests/a.py\n")


def test_names_with_quotes_stay_what_they_are_in_a_test() -> None:
    names = ["it's", 'a "b"', """it's "c\"""", "api_key"]
    text = source(RunHead(UUID(int=1), "ok"), agent_at("a:b"), "test_a", "r\"'.json", names)
    found = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert {*names, "r\"'.json"} <= set(found)


def hides(run: stepwell.Run) -> None:
    run.tool(dict, api_key="secret", query="lamp")


def test_a_recording_with_redacted_parts_is_not_made_anew_without_the_names_to_redact(
    schema_dsn: str,
) -> None:
    record(schema_dsn, hides, redact=["api_key"])
    assert main(["export", "@last", "--pytest", "tests/test_a.py", "--agent", "a:hides"]) == 0
    assert 'stepwell.replay_file(RECORDING, hides, redact=["api_key"])' in Path("tests/test_a.py").read_text()
    path = Path("tests/test_a.stepwell.json")
    before = path.read_bytes()
    assert b"secret" not in before
    told: list[str] = []
    token = ANEW.set(told)
    try:
        with pytest.raises(UsageError, match=r"api_key redacted in it; say what to redact"):
            stepwell.replay_file(path, hides)
        assert path.read_bytes() == before
        stepwell.replay_file(path, hides, redact=["api_key"])
    finally:
        ANEW.reset(token)
    assert b"secret" not in path.read_bytes() != before
    assert told == [f"{path}: 1 steps; tool calls: dict ×1"]
    assert stepwell.replay_file(path, hides).same
