"""`stepwell export RUN FILE`, end to end: what is written, and what replays from it."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from pathlib import Path

import psycopg
import pytest

import stepwell
from stepwell.cli import main
from stepwell.commands import export
from stepwell.core import cassette
from stepwell.core.recorded import RecordedRun
from stepwell.errors import InvalidFileError, NotFoundError
from stepwell.replay.cassettes import load as load_file
from stepwell.rerun.playing import play
from tests.commands.exporting import record
from tests.rerun import shop

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("here")


def test_a_file_has_the_whole_run_and_what_is_said_of_it(recorded: RecordedRun, capsys: Capture) -> None:
    assert main(["export", recorded.head.run_id.hex[:8], "refund.json"]) == 0
    out, err = capsys.readouterr()
    size = Path("refund.json").stat().st_size
    assert out == ""
    assert err.splitlines()[0].startswith(f"wrote refund.json: run {recorded.head.run_id.hex[:8]}, 4 steps, ")
    assert (
        err.splitlines()[1] == "it holds prompts and tool outputs as recorded; redacted parts stay redacted"
    )
    assert size > 1000
    found = load_file(Path("refund.json"))
    assert [step.number for step in found.steps] == [1, 2, 3, 4]
    assert play(found, shop.triage).same


def test_standard_output_gets_the_file_and_nothing_else(recorded: RecordedRun, capsys: Capture) -> None:
    assert main(["export", "@last", "-"]) == 0
    out, err = capsys.readouterr()
    assert cassette.unpack(out.encode(), "-").head.run_id == recorded.head.run_id
    assert err.startswith("wrote standard output: run ")


def test_a_name_that_ends_in_gz_is_of_a_compressed_file(recorded: RecordedRun, capsys: Capture) -> None:
    assert main(["export", "@last", "refund.json.gz", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    data = Path("refund.json.gz").read_bytes()
    assert found == {
        "run_id": str(recorded.head.run_id),
        "steps": 4,
        "recording": "refund.json.gz",
        "test": None,
        "bytes": len(data),
        "redacted": [],
    }
    assert json.loads(gzip.decompress(data))["run"]["name"] == "refund"
    assert load_file(Path("refund.json.gz")).seed == 4


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "where to? stepwell export @last FILE"),
        (["a.json", "--pytest", "tests/test_a.py"], "where to? stepwell export @last FILE"),
        (["a.json", "--agent", "a:b"], "--agent and --name are of a test"),
        (["-", "--json"], "the recording is JSON already"),
        (["there.json"], "there.json is there already; --force writes over it"),
        (["nowhere/a.json"], "nowhere: no such directory"),
        (["tests"], "tests is a directory; name a file in it"),
        (["pipe", "--force"], "pipe is no ordinary file; - is standard output"),
        (
            ["--pytest", "tests/test_a.txt", "--agent", "a:b"],
            "a test is a file of Python: --pytest tests/test_a.py",
        ),
        (["--pytest", "tests/test_a.py"], "--agent package.module:callable"),
        (
            ["--pytest", "tests/test_a.py", "--agent", "shop"],
            "an agent reads package.module:callable, not 'shop'",
        ),
        (
            ["--pytest", "tests/test_a.py", "--agent", "shop:a b"],
            "an agent reads package.module:callable, not 'shop:a b'",
        ),
        (
            ["--pytest", "tests/test_a.py", "--agent", "import:a"],
            "an agent reads package.module:callable, not 'import:a'",
        ),
        (["--pytest", "tests/1 a.py", "--agent", "a:b", "--name", "!"], "'!' cannot be the name of a test"),
        (
            ["--pytest", "tests/test_there.py", "--agent", "a:b"],
            "tests/test_there.stepwell.json is there already",
        ),
    ],
)
@pytest.mark.usefixtures("recorded")
def test_what_is_refused_is_one_line_and_writes_nothing(
    arguments: list[str], why: str, capsys: Capture
) -> None:
    for name in ("there.json", "tests/test_there.stepwell.json"):
        Path(name).write_text("mine")
    os.mkfifo("pipe")
    before = sorted(str(path) for path in Path().rglob("*"))
    assert main(["export", "@last", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line
    assert sorted(str(path) for path in Path().rglob("*")) == before
    assert Path("there.json").read_text() == "mine"


@pytest.mark.usefixtures("recorded")
def test_what_is_there_is_written_over_on_demand(capsys: Capture) -> None:
    Path("there.json").write_text("mine")
    Path("there.json").chmod(0o640)
    assert main(["export", "@last", "--force", "there.json"]) == 0
    assert load_file(Path("there.json")).head.name == "refund"
    assert Path("there.json").stat().st_mode & 0o777 == 0o640
    assert main(["export", "ffffffff", "other.json"]) == 1
    assert "ffffffff" in capsys.readouterr().err


def counted(connection: psycopg.Connection) -> int:
    (number,) = connection.execute("SELECT 7").fetchone() or (0,)
    return int(number)


def test_a_connection_is_refused_with_its_remedy_which_the_export_says_already(
    schema_dsn: str, capsys: Capture
) -> None:
    record(schema_dsn, lambda run: run.tool(shop.called, "once"))
    assert main(["export", "@last", "run.json"]) == 0
    assert "run.connection" not in capsys.readouterr().err

    def hands_on(run: stepwell.Run) -> None:
        run.tool(counted, run.connection)

    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        record(schema_dsn, hands_on, connection=connection)
    assert main(["export", "@last", "run.json", "--force"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == export.NO_TABLES

    assert stepwell.replay_file("run.json", hands_on).same

    def looks(run: stepwell.Run) -> None:
        try:
            run.connection.execute("SELECT 1")
        except Exception:
            pytest.fail("the agent must not be able to swallow it")

    with pytest.raises(
        stepwell.Refused, match=r"holds no tables, .* wrap reads in run\.tool, or replay the run on its"
    ):
        stepwell.replay_file("run.json", looks)


def test_an_agent_that_waits_for_what_does_not_come_has_not_passed(schema_dsn: str) -> None:
    async def waits(run: stepwell.Run) -> None:
        await asyncio.sleep(0.001)
        run.tool(shop.called, "once")
        if stuck:
            await asyncio.get_running_loop().create_future()

    stuck = False
    record(schema_dsn, lambda run: asyncio.run(waits(run)))
    assert main(["export", "@last", "run.json"]) == 0
    assert stepwell.replay_file("run.json", waits).same
    stuck = True
    with pytest.raises(stepwell.Refused, match="the agent waits for what never comes"):
        stepwell.replay_file("run.json", waits)


def test_a_file_that_is_not_there_or_no_recording_is_named(here: Path) -> None:
    with pytest.raises(
        NotFoundError, match=r"gone\.json: no such file; write it: stepwell export RUN gone\.json"
    ):
        stepwell.replay_file(here / "gone.json", shop.triage)
    (here / "x.json").write_text("[]")
    with pytest.raises(InvalidFileError, match=r"x\.json: not a recording"):
        stepwell.replay_file(here / "x.json", shop.triage)
