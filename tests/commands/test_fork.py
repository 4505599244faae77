"""`stepwell fork`: what would be stale, and the branch."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from tests.commands.cases import FAILED, fill, stepwell
from tests.replay.rows import RUN, add_step, bare_table

Capture = pytest.CaptureFixture[str]
FOUND = [{"id": 8841, "item": "a lamp for the desk"}]


@pytest.fixture
def filled(schema_dsn: str) -> str:
    """A run of three steps; the last one has seen what the second one found."""
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, steps, finished) VALUES (%s, 'refunds', 'ok', 4, 4)",
            (RUN,),
        )
    prompt = {"messages": [{"role": "tool", "content": json.dumps(FOUND)}]}
    add_step(schema_dsn, 1, "state_update", output={"tries": 1}, finished_order=1, finished_before=0)
    add_step(
        schema_dsn, 2, "tool_call", input={"q": "lamp"}, output=FOUND,
        name="search", finished_order=2, finished_before=1,
    )  # fmt: skip
    add_step(schema_dsn, 3, "state_update", output={"tries": 2}, finished_order=3, finished_before=2)
    add_step(
        schema_dsn, 4, "llm_call", input=prompt, output="well", name="m", finished_order=4, finished_before=3
    )
    return schema_dsn


def as_json(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def test_it_says_what_is_stale_and_prints_the_id_of_the_branch(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "fork", "7f3a:2:$.output[0].item", '"a chair"', "--name", "chairs") == 0
    first, second = capsys.readouterr().out.splitlines()
    branch = first.split()[0]
    assert first == f"{branch}  leaves 7f3a at step 2; it has the steps 1-3"
    assert second == "stale from step 4: $.messages[0].content is from step 2 ($[0].item)"
    assert stepwell(filled, "runs", "--json") == 0
    listed = {run["run_id"]: run for run in map(json.loads, capsys.readouterr().out.splitlines())}
    assert (listed[branch]["name"], listed[branch]["parent"], listed[branch]["forked_at"]) == (
        "chairs",
        str(RUN),
        2,
    )
    assert stepwell(filled, "runs") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if "chairs" in line] == [
        "branch"
    ]
    assert stepwell(filled, "show", f"{branch}:2:$.output[0].item") == 0
    assert capsys.readouterr().out == "a chair\n"
    assert stepwell(filled, "steps", branch, "--json") == 0
    assert [json.loads(line)["step"] for line in capsys.readouterr().out.splitlines()] == [1, 2, 3]
    assert stepwell(filled, "replay", branch) == 0
    assert "after step 3 of 3" in capsys.readouterr().out
    assert stepwell(filled, "sql", f"{branch}:3", "select 7 as seven") == 0


def test_as_json_it_is_one_documented_object(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "fork", "7f3a:2", "[]", "--json") == 0
    made = as_json(capsys)
    assert list(made) == [
        "run_id", "parent", "forked_at", "steps", "stale", "unsettled", "odd", "states", "plain",
    ]  # fmt: skip
    assert made["stale"] == [
        {"step": 4, "path": "$.messages[0].content", "from": 2, "part": "$[0]", "how": "result"}
    ]
    assert (made["parent"], made["forked_at"], made["steps"]) == (str(RUN), 2, 3)
    assert made["states"] == [{"scope": None, "state": {"tries": 2}}]


def test_a_dry_run_stores_nothing(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "fork", "7f3a:1", '{"lap": 7}', "--dry-run") == 0
    out = capsys.readouterr().out.splitlines()
    assert out == [
        "a branch of 7f3a at step 1 would have the steps 1-4",
        "nothing is stale as far as can be told: what is other now stands in no later input, short values aside",
        "state at step 4: $.lap  nothing -> 7",
    ]
    with psycopg.connect(filled) as connection:
        assert connection.execute("SELECT count(*) FROM agent_runs").fetchone() == (1,)


def test_the_output_comes_from_a_file_or_the_input(
    filled: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "output.json"
    file.write_text("\ufeff[]", encoding="utf-8")
    assert stepwell(filled, "fork", "7f3a:2", "-f", str(file), "--json", "--dry-run") == 0
    assert len(as_json(capsys)["stale"]) == 1
    with file.open(encoding="utf-8-sig") as given:
        monkeypatch.setattr("sys.stdin", given)
        assert stepwell(filled, "fork", "7f3a:2", "-", "--json", "--dry-run") == 0
    assert len(as_json(capsys)["stale"]) == 1


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("7f3a:2", '{"a": }'), 2, "this is no JSON: line 1, column 7"),
        (("7f3a:2", "paid"), 2, "a text needs its quotes"),
        (("7f3a", "[]"), 2, "which step? stepwell fork 7f3a:17 OUTPUT"),
        (("7f3a:2:$.input.q", "1"), 2, "$.input.q cannot be otherwise: a path begins with $.output here"),
        (("7f3a:2:$.output[5].id", "1"), 1, "no $.output[5]: $.output is a list of 1"),
        (("7f3a:2:$.output[0].id.of", "1"), 1, "no $.output[0].id.of: $.output[0].id is"),
        (("7f3a:2:$.output[0][1]", "1"), 1, "no $.output[0][1]: $.output[0] is an object"),
        (("7f3a:9", "1"), 1, "step 9: the run has 1-4"),
        (("7f3a:2", json.dumps(FOUND)), 2, "that is what step 2 gave: nothing would be otherwise"),
        (("7f3a:2", "[]", "--name", ""), 2, "--name is empty"),
        (("7f3a:2", "-f", "/nothing/there"), 2, "/nothing/there: No such file"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    filled: str, capsys: Capture, words: tuple[str, ...], status: int, said: str
) -> None:
    assert stepwell(filled, "fork", *words) == status
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert said in shown.err


def test_an_object_that_becomes_plain_data_is_told(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    exact = {"v": 1, "t": [0, None], "h": [["dataclass", "shop:Order"]]}
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(
            "UPDATE agent_steps SET output = %s, output_exact = %s WHERE run_id = %s AND step_number = 3",
            (Jsonb({"id": 1}), Jsonb(exact), FAILED),
        )
    assert stepwell(schema_dsn, "fork", "7f3a:3:$.output.id", "2", "--dry-run") == 0
    assert capsys.readouterr().err == ""
    assert stepwell(schema_dsn, "fork", "7f3a:3:$.output", '{"number": 2}', "--dry-run") == 0
    assert "$ is plain data from now on; it was a shop.Order" in capsys.readouterr().err


def test_a_bare_table_tells_what_is_stale_and_what_saving_needs(dsn: str, capsys: Capture) -> None:
    role = bare_table(dsn, "stepwell_test_fork_reader")
    add_step(dsn, 1, "tool_call", input={"q": "lamp"}, output=FOUND)
    add_step(dsn, 2, "llm_call", input={"messages": [{"role": "user", "content": str(FOUND)}]}, output="well")
    reader = make_conninfo(dsn, user=role)
    assert stepwell(reader, "fork", "7f3a:1", "[]", "--dry-run") == 0
    assert "stale from step 2: $.messages[0].content is from step 1" in capsys.readouterr().out
    assert stepwell(reader, "fork", "7f3a:1", "[]") == 2
    said = capsys.readouterr().err
    assert 'relation "agent_runs" does not exist; bring it up to date: stepwell init' in said
    assert said.count("\n") == 1
