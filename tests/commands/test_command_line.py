"""How words become commands, and problems one line and an exit status."""

import os
import shlex
import subprocess
import sys

import psycopg
import pytest

from stepwell.app.rerun import Agent
from stepwell.cli import COMMANDS, build_parser, expand, main
from stepwell.errors import UsageError
from stepwell.store.connect import Target
from tests.commands.cases import HOSTILE, fill, shell, stepwell

Capture = pytest.CaptureFixture[str]
NOWHERE = "host=127.0.0.1 port=1 user=u dbname=d password=s3cret"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["open"]),
        (["7f3a:17"], ["open", "7f3a:17"]),
        (["@failed"], ["open", "@failed"]),
        (["7f3a"], ["open", "7f3a"]),
        (["runs", "refund"], ["runs", "refund"]),
        (["--dsn", "agents"], ["--dsn", "agents", "open"]),
        (["--dsn", "agents", "@last"], ["--dsn", "agents", "open", "@last"]),
        (["--dsn=agents", "steps", "7f"], ["--dsn=agents", "steps", "7f"]),
        (["postgresql://db1/agents"], ["--dsn", "postgresql://db1/agents", "open"]),
        (["host=db1 dbname=agents", "runs"], ["--dsn", "host=db1 dbname=agents", "runs"]),
        (["runs", "postgresql://db1/agents"], ["runs", "--dsn", "postgresql://db1/agents"]),
        (["--help"], ["--help"]),
        (["--version"], ["--version"]),
        (["--agent", "desk:main", "7f3a"], ["open", "--agent", "desk:main", "7f3a"]),
        (
            ["--dsn", "agents", "--agent=desk:main", "--pure", "clock", "--timeout", "5", "7f3a:3"],
            ["--dsn", "agents", "open", "--agent=desk:main", "--pure", "clock", "--timeout", "5", "7f3a:3"],
        ),
        (["--agent", "desk:main"], ["open", "--agent", "desk:main"]),
        (["--json", "runs"], ["runs", "--json"]),
        (["--agent", "desk:main", "--help"], ["--help"]),
    ],
)
def test_what_may_be_left_out_is_put_in(words: list[str], expected: list[str]) -> None:
    assert expand(words) == expected


def test_a_first_word_that_is_nothing_is_refused_with_what_it_could_be() -> None:
    with pytest.raises(UsageError, match=r"neither a command .* nor an address .* --dsn"):
        expand(["agents"])


def test_the_app_opens_where_the_address_says(schema_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, str | None, Agent | None]] = []

    def open_app(target: Target, address: str | None, agent: Agent | None) -> int:
        opened.append((target.origin, address, agent))
        return 0

    fill(schema_dsn)
    monkeypatch.setattr("stepwell.app.open_app", open_app, raising=False)
    assert main(["--dsn", schema_dsn]) == 0
    assert main(["--dsn", schema_dsn, "7f3a:17"]) == 0
    assert main([schema_dsn, "@failed"]) == 0
    assert main(["--dsn", schema_dsn, "7f3a", "--agent", "desk:main", "--pure", "clock"]) == 0
    limits = ["--timeout", "2.5", "--memory", "512"]
    assert main(["--dsn", schema_dsn, "--agent", "desk:main", *limits, "7f3a"]) == 0
    assert opened == [
        ("argument", None, None),
        ("argument", "7f3a:17", None),
        ("argument", "@failed", None),
        ("argument", "7f3a", Agent("desk:main", None, ("clock",))),
        ("argument", "7f3a", Agent("desk:main", None, (), 2.5, 512 << 20)),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["runs", "--limit", "none"],
        ["runs", "--limit", "0"],
        ["show"],
        ["steps", "7f3a", "--sideways"],
        ["--dsn", NOWHERE, "runs"],
        ["--dsn", NOWHERE],
        ["--dsn", NOWHERE, "7f3a:17"],
        ["--dsn", "mysql://db1/agents", "runs"],
        ["--dsn", NOWHERE, "init"],
        ["--dsn", NOWHERE, "demo", "--no-open"],
        ["--agent"],
        ["--dsn", NOWHERE, "--memory", "512", "7f3a"],
    ],
)
def test_wrong_usage_and_no_connection_are_one_line_and_status_2(capsys: Capture, words: list[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("stepwell: ")
    assert err.count("\n") == 1
    assert "s3cret" not in err


@pytest.mark.parametrize("words", [["runs"], ["steps", "7f3a"], ["show", "7f3a:1"], ["replay", "@last"]])
def test_no_table_names_the_remedies(dsn: str, capsys: Capture, words: list[str]) -> None:
    assert stepwell(dsn, *words) == 2
    err = capsys.readouterr().err
    assert "no table agent_steps" in err
    assert f"stepwell init --dsn {shlex.quote(dsn)}" in err
    assert "stepwell demo --dsn " in err


def test_what_was_typed_comes_back_cleaned(capsys: Capture) -> None:
    assert main(["runs", f"--{HOSTILE}"]) == 2
    assert main([HOSTILE]) == 2
    assert capsys.readouterr().err.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("problem", "status", "says"),
    [
        (KeyboardInterrupt(), 130, ""),
        (
            psycopg.OperationalError("server closed\nthe connection"),
            2,
            "stepwell: server closed the connection\n",
        ),
        (PermissionError(13, "Permission denied", "a\x1bb"), 2, "stepwell: a\\x1bb: Permission denied\n"),
        (RecursionError(), 2, "stepwell: a value is nested too deeply to be printed\n"),
    ],
)
def test_nothing_that_is_expected_to_happen_ends_in_a_traceback(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, problem: BaseException, status: int, says: str
) -> None:
    def fail(_: object) -> int:
        raise problem

    monkeypatch.setattr("stepwell.commands.runs.run", fail)
    assert main(["runs"]) == status
    assert capsys.readouterr().err == says


def test_help_has_examples_and_exit_statuses_and_fits_a_small_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    whole = capsys.readouterr().out
    assert max(map(len, whole.splitlines())) <= 80
    for words in ("exit status", "DATABASE_URL", "STEPWELL_HOME", "NO_COLOR", "@failed"):
        assert words in whole
    for name, *_ in COMMANDS:
        assert name in whole
        assert main([name, "--help"]) == 0
        help_ = capsys.readouterr().out
        assert f"stepwell {name}" in help_.partition("examples:")[2] or name == "open"
        assert max(map(len, help_.splitlines())) <= 80


def test_the_parser_names_itself_in_every_usage_line() -> None:
    assert build_parser().format_usage().startswith("usage: stepwell ")


def test_the_version_is_that_of_the_distribution(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("stepwell 0.")


def test_starting_loads_neither_textual_nor_pygments() -> None:
    code = (
        "import sys; from stepwell.cli import main; main(['--version']);"
        "print(sorted({'textual', 'pygments', 'asyncio', 'stepwell.recorder'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    loaded = out.decode().splitlines()[1]
    assert "textual" not in loaded
    assert "pygments" not in loaded


def test_a_pipe_that_closes_early_is_no_error(schema_dsn: str) -> None:
    fill(schema_dsn, name="x" * 100_000)
    command = f'{sys.executable} -m stepwell --dsn "$1" runs | head -c 10'
    ran = subprocess.run(["sh", "-c", command, "sh", schema_dsn], capture_output=True, timeout=60, check=True)
    assert ran.stdout == b"STATUS  NA"
    assert ran.stderr == b""


def test_a_terminal_that_knows_ascii_only_gets_ascii_only(schema_dsn: str) -> None:
    fill(schema_dsn, name="Erstattung für Ada")
    ran = shell("--dsn", schema_dsn, "runs", env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert ran.returncode == 0
    assert b"f\\xfcr Ada" in ran.stdout
    assert ran.stdout.isascii()
