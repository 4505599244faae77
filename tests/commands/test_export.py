"""`stepwell export`, end to end: what is written, what replays from it, and what another database has of it."""

from __future__ import annotations

import ast
import asyncio
import gzip
import inspect
import json
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell.cli import main
from stepwell.commands import export
from stepwell.core import cassette
from stepwell.core.recorded import RecordedRun
from stepwell.core.steps import RunHead
from stepwell.core.testing import agent_at, source
from stepwell.errors import InvalidFileError, NotFoundError, UsageError
from stepwell.replay.cassettes import load as load_file
from stepwell.replay.recorded import load
from stepwell.rerun.files import ANEW
from stepwell.rerun.playing import play
from stepwell.store.connect import resolve
from tests.commands.cases import FAILED, WELL, fill
from tests.conftest import create_database, drop_database
from tests.rerun import shop
from tests.rerun.agents import AGENTS

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def recorded(schema_dsn: str) -> RecordedRun:
    """A run of the shop's agent, in the database that commands find."""
    return record(schema_dsn, shop.triage, redact=None)


def record(dsn: str, agent: Callable[[stepwell.Run], Any], **options: Any) -> RecordedRun:
    with (
        closing(stepwell.Recorder(dsn, **options)) as recorder,
        recorder.run("refund", seed=4, tags={"a": 1}) as run,
    ):
        agent(run)
    return load(resolve(dsn), str(run.run_id))


@pytest.fixture
def other_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Another database."""
    conninfo = create_database(server, schema_template)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, schema_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    (folder / "tests").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DATABASE_URL", schema_dsn)
    return folder


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


@pytest.mark.usefixtures("recorded")
def test_a_test_is_written_beside_its_recording_and_passes(capsys: Capture) -> None:
    arguments = ["--pytest", "tests/test_refund.py", "--agent", "tests.rerun.shop:triage"]
    assert main(["export", "@last", *arguments]) == 0
    assert (
        "wrote tests/test_refund.py, and beside it tests/test_refund.stepwell.json: "
        in capsys.readouterr().err
    )
    made = runpy.run_path("tests/test_refund.py")
    made["test_refund"]()
    assert made["__doc__"].startswith("refund ")
    assert "it ended well after 4 steps." in made["__doc__"]


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
    assert "it failed after 1 steps." in told
    assert "LookupError: no '''order\\\\ \\x1b[31m 8841" in told
    assert text.isprintable() or set(text) - {"\n"} == {c for c in text if c.isprintable()}
    sys.modules[__name__].fails = fails  # type: ignore[attr-defined]  # it is imported by name
    runpy.run_path("tests/test_fails.py")["test_fails"]()


def test_names_with_quotes_stay_what_they_are_in_a_test() -> None:
    names = ["it's", 'a "b"', """it's "c\"""", "api_key"]
    text = source(RunHead(UUID(int=1), "ok"), agent_at("a:b"), "test_a", "r\"'.json", names)
    found = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert {*names, "r\"'.json"} <= set(found)


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
        (
            ["--pytest", "tests/test_a.txt", "--agent", "a:b"],
            "a test is a file of Python: --pytest tests/test_a.py",
        ),
        (["--pytest", "tests/test_a.py"], "--agent package.module:callable"),
        (["--pytest", "tests/test_a.py", "--agent", "shop"], "'shop' is not package.module:callable"),
        (["--pytest", "tests/test_a.py", "--agent", "shop:a b"], "'shop:a b' is not package.module:callable"),
        (["--pytest", "tests/test_a.py", "--agent", "import:a"], "'import:a' is not package.module:callable"),
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
    assert main(["export", "@last", "there.json", "--force"]) == 0
    assert load_file(Path("there.json")).head.name == "refund"
    assert Path("there.json").stat().st_mode & 0o777 == 0o640
    assert main(["export", "ffffffff", "other.json"]) == 1
    assert "ffffffff" in capsys.readouterr().err


@pytest.mark.parametrize("name", AGENTS)
def test_a_run_that_was_exported_and_imported_is_the_same(
    name: str, schema_dsn: str, other_dsn: str, capsys: Capture
) -> None:
    def agent(run: stepwell.Run) -> None:
        result = AGENTS[name](run)
        if inspect.isawaitable(result):
            asyncio.run(_wait(result))

    run = record(schema_dsn, agent)
    assert main(["export", "@last", "run.json"]) == 0
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert f"imported 1 run, {len(run.steps)} steps from run.json (recording): " in capsys.readouterr().out
    found = load(resolve(other_dsn), str(run.head.run_id))
    assert cassette.pack(found) == Path("run.json").read_bytes()
    assert play(found, AGENTS[name]).same
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert capsys.readouterr().out.startswith("already there: run.json (recording): ")


async def _wait(result: Any) -> None:
    await result


def test_what_a_move_needs_is_imported_too(recorded: RecordedRun, schema_dsn: str, other_dsn: str) -> None:
    assert main(["export", "@last", "run.json.gz"]) == 0
    assert main(["import", "--dsn", other_dsn, "run.json.gz"]) == 0
    runs = "SELECT name, status, tags, steps, finished, agents, source, seed, started_at, finished_at FROM agent_runs"
    steps = (
        "SELECT step_number, input, output, seed, finished_order, finished_before, started_before, lane, started_at,"
        " call_hash IS NULL FROM agent_steps ORDER BY 1"
    )
    for question in (runs, steps):
        with psycopg.connect(schema_dsn) as one, psycopg.connect(other_dsn) as other:
            assert one.execute(question).fetchall() == other.execute(question).fetchall()
    assert len(recorded.steps) == 4


@pytest.mark.parametrize("run_id", [FAILED, WELL])
def test_a_run_of_other_hands_keeps_what_it_has_and_gets_no_more(
    run_id: UUID, schema_dsn: str, other_dsn: str
) -> None:
    fill(schema_dsn)
    assert main(["export", str(run_id), "run.json"]) == 0
    assert "\x1b" not in Path("run.json").read_text()
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert cassette.pack(load(resolve(other_dsn), str(run_id))) == Path("run.json").read_bytes()


def test_a_file_that_a_database_does_not_take_is_refused_in_one_line(
    recorded: RecordedRun, other_dsn: str, capsys: Capture
) -> None:
    assert main(["export", "@last", "run.json"]) == 0
    text = Path("run.json").read_text()
    for old, new in (
        ('"number": 2', '"number": 1'),
        ('"lane": 0', '"lane": 99999999999'),
        ("lamp", "\\u0000"),
    ):
        assert old in text
        Path("run.json").write_text(text.replace(old, new))
        capsys.readouterr()
        assert main(["import", "--dsn", other_dsn, "run.json"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("stepwell: run.json: ")
    assert len(recorded.steps) == 4
    with psycopg.connect(other_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM agent_runs").fetchone() == (0,)


def test_laps_of_a_loop_are_told_in_an_imported_run(schema_dsn: str, other_dsn: str) -> None:
    def loops(run: stepwell.Run) -> None:
        for _ in range(12):
            run.tool(shop.called, "again")

    run = record(schema_dsn, loops)
    assert main(["export", "@last", "run.json"]) == 0
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    assert run.head.loop is not None
    assert load(resolve(other_dsn), "@last").head.loop == run.head.loop
    with psycopg.connect(other_dsn) as connection:
        hashes = connection.execute("SELECT DISTINCT call_hash FROM agent_steps").fetchall()
    assert len(hashes) == 1
    assert hashes[0][0] is not None


def test_long_prompts_are_differences_in_the_file_and_in_the_other_database(
    schema_dsn: str, other_dsn: str
) -> None:
    def talks(run: stepwell.Run) -> None:
        messages: list[dict[str, str]] = []
        for number in range(20):
            messages.append({"role": "user", "content": f"{number} {'word ' * 500}"})
            run.llm(shop.complete, model="m", messages=list(messages))

    run = record(schema_dsn, talks)
    assert main(["export", "@last", "run.json"]) == 0
    assert (
        Path("run.json").stat().st_size < 150_000 < sum(len(step.payload.input or "") for step in run.steps)
    )
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    found = load(resolve(other_dsn), "@last")
    assert [step.payload.input for step in found.steps] == [step.payload.input for step in run.steps]
    with psycopg.connect(other_dsn) as connection:
        assert connection.execute("SELECT count(input_base) > 10 FROM agent_steps").fetchone() == (True,)


def test_a_run_that_died_is_imported_as_one_that_died(
    schema_dsn: str, other_dsn: str, capsys: Capture
) -> None:
    recorder = stepwell.Recorder(schema_dsn)
    run = recorder.start("dies")
    run.tool(shop.called, "once")
    recorder.close()
    assert main(["export", str(run.run_id), "run.json"]) == 0
    assert load_file(Path("run.json")).head.status == "died"
    assert main(["import", "--dsn", other_dsn, "run.json"]) == 0
    capsys.readouterr()
    assert main(["runs", "--json", "--dsn", other_dsn]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "died"


def test_a_connection_is_refused_with_its_remedy(schema_dsn: str) -> None:
    record(schema_dsn, lambda run: run.tool(shop.called, "once"))
    assert main(["export", "@last", "run.json"]) == 0

    def looks(run: stepwell.Run) -> None:
        try:
            run.connection.execute("SELECT 1")
        except Exception:
            pytest.fail("the agent must not be able to swallow it")

    with pytest.raises(
        stepwell.Refused, match=r"holds no tables; wrap reads in run\.tool, or replay the run on its"
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


def test_a_file_that_is_not_there_or_no_recording_is_named(here: Path) -> None:
    with pytest.raises(
        NotFoundError, match=r"gone\.json: no such file; write it: stepwell export RUN gone\.json"
    ):
        stepwell.replay_file(here / "gone.json", shop.triage)
    (here / "x.json").write_text("[]")
    with pytest.raises(InvalidFileError, match=r"x\.json: not a recording"):
        stepwell.replay_file(here / "x.json", shop.triage)
