"""What is printed is letters, on a terminal and into a pipe; what is printed as JSON is exact."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from stepwell.cli import main
from stepwell.core.recording import storable
from tests.conftest import create_database, drop_database
from tests.e2e.terminal import RawTerminal
from tests.hostile import TEXTS, foreign, record, together
from tests.importers.files import asks, call, file, text

PER_TEXT = 5
"""Steps that `record` makes of each."""
CHILD = (
    "import json, sys; from stepwell.cli import main\nfor words in json.load(open(sys.argv[1])): main(words)"
)
"""Many commands, one process."""
AT_ONCE = 100
Capture = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Hostile:
    """A database of hostile runs, the run that has all texts, and those."""

    dsn: str
    run: UUID
    texts: Sequence[str]


@pytest.fixture(scope="module", params=["together", pytest.param("each", marks=pytest.mark.long)])
def hostile(request: pytest.FixtureRequest, server: str, schema_template: str) -> Iterator[Hostile]:
    texts = together(TEXTS.values(), 10 if request.param == "together" else 1)
    conninfo = create_database(server, schema_template)
    yield Hostile(conninfo, record(conninfo, texts), texts)
    drop_database(server, conninfo)


def named(folder: Path) -> Path:
    """A hostile file of a hostile name."""
    parts = {name: part.replace("/", "|").replace("\0", "") for name, part in TEXTS.items()}
    name = "".join(parts[name] for name in ("clears", "titles", "carriage return", "bidi", "Textual markup"))
    path = folder / f"{name}.json"
    said = [asks(call(value, json.dumps({value: value}))) for value in TEXTS.values()]
    path.write_bytes(file({"messages": [*(text("user", value) for value in TEXTS.values()), *said]}))
    return path


def commands(hostile: Hostile, folder: Path) -> list[list[str]]:
    """Every command, where it prints recorded text and where it complains of what was typed."""
    run, file = str(hostile.run), str(named(folder))
    found = [["runs", "--limit", "99"], ["steps", run], ["init"], ["import", file], ["import", f"{file}x"]]
    found += [["show", f"{run}:{step}"] for step in range(1, PER_TEXT * len(hostile.texts) + 1)]
    for number, value in enumerate(hostile.texts, start=1):
        path = f"{run}:1:$.{value[:50]}"
        found += [
            ["replay", f"{run}:{number * PER_TEXT}"],
            [value],
            ["show", value],
            ["show", path],
            ["runs", value],
        ]
        found += [["steps", "--", value], ["import", value], ["replay", value], [f"--{value}"]]
        found += [["--dsn", f"dbname='{value[:50]}' host=/nowhere", "runs"]]
    return [words if words[0].startswith("-") else ["--dsn", hostile.dsn, *words] for words in found]


def printed(words: Sequence[Sequence[str]], folder: Path, *, terminal: bool) -> bytes:
    """What these commands write to standard output and standard error."""
    written, todo = b"", folder / "todo.json"
    for start in range(0, len(words), AT_ONCE):
        todo.write_text(json.dumps(words[start : start + AT_ONCE]))
        command = [sys.executable, "-c", CHILD, str(todo)]
        if not terminal:
            both = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
            written += both.stdout.replace(b"\n", b"\r\n")
            continue
        shown = RawTerminal(command, os.environ, size=(150, 40))
        try:
            assert shown.wait() == 0
            written += shown.read()
        finally:
            shown.close()
    return written


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_no_text_acts_upon_the_terminal_of_a_command(
    hostile: Hostile, tmp_path: Path, terminal: bool
) -> None:
    written = printed(commands(hostile, tmp_path), tmp_path, terminal=terminal)
    assert b"\x1b" not in written
    assert foreign(written) == []
    assert b"[bold]int[][/x]" in written.replace(b" ", b""), "nothing hostile was shown"
    assert b"Traceback" not in written


def test_json_is_ascii_and_gives_back_the_very_text(hostile: Hostile, capsys: Capture) -> None:
    def told(*words: str) -> list[dict[str, Any]]:
        assert main(["--dsn", hostile.dsn, *words, "--json"]) == 0
        out = capsys.readouterr().out
        assert out.isascii()
        return [json.loads(line) for line in out.splitlines()]

    runs = told("runs", "--limit", "99")
    for number, value in enumerate(hostile.texts):
        kept = storable(value)
        model, tool, state, failed, by_hand = (
            told("show", f"{hostile.run}:{PER_TEXT * number + step}")[0] for step in range(1, 6)
        )
        parts = [{"type": value, "text": value}]
        messages = [{"role": value, "content": value}, {"role": "user", "content": parts}]
        assert model["input"] == {"text": value, "messages": messages, "model": value}
        assert model["finish_reason"] == kept
        assert tool["input"] == {"text": value, value: value}
        assert tool["output"][value] == [value, {value: value}]
        states = told("replay", f"{hostile.run}:{state['step']}")[0]["states"]
        assert {value: {value: value}, "list": [value]} in [one["state"] for one in states]
        assert failed["error"].endswith(kept) or kept != value
        assert (by_hand["type"], by_hand["name"]) == (kept, kept)
        assert [run for run in runs if run["name"] == kept and run["tags"] == {kept: kept}]
