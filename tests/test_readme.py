"""What the README says is so."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psycopg
import pytest
from textual.binding import Binding

from stepwell.app import keys
from stepwell.app.panes.help import key_name
from stepwell.cli import build_parser, main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows(bindings: Iterable[Binding]) -> list[str]:
    """The rows of the README's table for these bindings."""
    return [
        f"| {' '.join(f'`{key_name(key)}`' for key in binding.key.split(','))}"
        f" | {binding.description} | {binding.tooltip} |"
        for binding in bindings
    ]


@pytest.mark.parametrize("bindings", [keys.DEBUGGER, keys.SQL, keys.BROWSER, keys.RUNS])
def test_every_key_has_its_row_and_no_row_is_left_over(bindings: list[Binding]) -> None:
    wanted = rows(bindings)
    assert wanted[0] in README
    start = README.index(wanted[0])
    assert README[start:].split("\n\n")[0].splitlines() == wanted


def commands() -> dict[str, argparse.ArgumentParser]:
    found = next(
        action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return dict(found.choices)


@pytest.mark.parametrize("name", commands())
def test_every_command_and_each_of_its_flags_is_named(name: str) -> None:
    line = next(
        (line for line in README.splitlines() if line.startswith("|") and f"`stepwell {name}" in line), ""
    )
    assert line, f"the README does not name stepwell {name}"
    for action in commands()[name]._actions:
        for flag in action.option_strings:
            if flag.startswith("--"):
                where = README if flag in ("--help", "--dsn", "--json") else line
                assert f"`{flag}`" in where, f"stepwell {name} {flag}"


def test_its_example_records_what_it_says_and_is_replayed(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", schema_dsn)
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    Path("orders.py").write_text(example)
    subprocess.run([sys.executable, "orders.py"], check=True)
    (agent,) = re.findall(r"--agent (orders:\w+)", example)
    assert main(["replay", "@last", "--agent", agent]) == 0
    assert "3 of 3 steps, the same" in capsys.readouterr().out
    with psycopg.connect(schema_dsn) as connection:
        steps = connection.execute(
            "SELECT step_number, step_type, name, output IS NOT NULL FROM agent_steps ORDER BY 1"
        ).fetchall()
        runs = connection.execute("SELECT name, status, tags FROM agent_runs").fetchall()
    assert steps == [
        (1, "tool_call", "search_orders", True),
        (2, "llm_call", "gpt-5-mini", True),
        (3, "state_update", None, True),
    ]
    assert runs == [("refund-triage", "ok", {"tenant": "a"})]


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).is_file(), picture


@pytest.mark.parametrize("what", ["stepwell demo", "pytest"])
def test_its_two_commands_are_single_lines(what: str) -> None:
    found = [line for line in README.splitlines() if re.match(rf"\s+python3 -m venv .*{what}$", line)]
    assert len(found) == 1
