"""`stepwell show` and `stepwell replay`."""

import json
import signal
import subprocess
import sys
from typing import Any
from uuid import UUID

import psycopg
import pytest

from stepwell import Recorder
from stepwell.commands.output import to_json
from tests.commands.cases import FAILED, HOSTILE, fill, stepwell
from tests.replay.rows import add_step, bare_table

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def filled(schema_dsn: str) -> str:
    fill(schema_dsn)
    return schema_dsn


def test_show_prints_facts_then_input_then_output(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "show", "7f3a:3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "name     search_orders" in lines
    begin = lines.index("INPUT")
    assert lines[begin : begin + 4] == ["INPUT", "{", '  "query": "lamp"', "}"]
    assert lines.index("OUTPUT") > begin


def test_show_says_of_a_step_in_doubt_that_it_is_and_prints_no_output(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "show", "7f81:1") == 0
    out = capsys.readouterr().out
    assert "flags    in doubt" in out
    assert "OUTPUT" not in out


def test_show_as_json_is_one_object_with_what_was_recorded(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "show", "7f3a:3", "--json") == 0
    out = capsys.readouterr().out
    assert out.isascii()
    step = json.loads(out)
    assert step["address"] == f"{FAILED.hex}:3"
    assert step["input"] == {"query": "lamp"}
    assert step["output"] == [{"id": 8102}, {"id": 8177, "note": HOSTILE}]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.output[0].id", "8102\n"),
        ("$.output[-1].id", "8177\n"),
        ("$.input.query", "lamp\n"),
        ("$.name", "search_orders\n"),
        ("$.output[0]", '{\n  "id": 8102\n}\n'),
    ],
)
def test_a_path_shows_a_part(filled: str, capsys: Capture, path: str, expected: str) -> None:
    assert stepwell(filled, "show", f"7f3a:3:{path}") == 0
    assert capsys.readouterr().out == expected


def test_a_part_as_json_comes_with_its_address(filled: str, capsys: Capture) -> None:
    stepwell(filled, "show", "7f3a:3:$.output[0].id", "--json")
    assert json.loads(capsys.readouterr().out) == {"address": f"{FAILED.hex}:3:$.output[0].id", "value": 8102}


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["show", "7f3a:99"], 1, "step 99: the run has 1-4"),
        (["show", "7f3a:99999999999"], 1, "the run has 1-4"),
        (["show", "7f3a:3:$.output[7]"], 1, "no $.output[7]: $.output is a list of 2"),
        (["show", "beef:1"], 1, "no run's id begins with beef"),
        (["show", "7f:1"], 2, "7f matches 2 runs"),
        (["show", "7f3a"], 2, "which step of 7f3a? stepwell show 7f3a:17"),
        (["show", "step seventeen"], 2, "no address"),
        (["replay", "7f3a", "--to", "99"], 1, "step 99: the run has 1-4"),
        (["replay", "7f3a", "--to", "soon"], 2, "a step reads 17, 50%, @11:42 or @+90s"),
        (["replay", "7f3a:2", "--to", "3"], 2, "one step"),
        (["replay", "7f3a:2:$.plan"], 2, "a path goes with show"),
        (["steps", "beef"], 1, "stepwell runs"),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_one_line(
    filled: str, capsys: Capture, words: list[str], status: int, says: str
) -> None:
    assert stepwell(filled, *words) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("stepwell: ")
    assert err.count("\n") == 1
    assert says in err


def test_replay_prints_the_world_and_the_truth_about_it(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "replay", "7f3a", "--to", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("after step 3 of 4: tool_call search_orders")
    assert '  plan   ["find order"]  (set at 2)' in lines
    assert 'last response, step 1: {"text": "searching"}' in lines
    assert any(line.startswith("last result, step 3: ") for line in lines)
    assert lines[-1].startswith("3 steps replayed, 1 folded into the state, ")
    assert "SERIALIZABLE READ ONLY DEFERRABLE, rolled back" in lines[-1]


def test_the_world_in_which_a_step_was_asked_lacks_its_effect(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "replay", "7f3a:2", "--asked", "--json") == 0
    asked = json.loads(capsys.readouterr().out)
    assert stepwell(filled, "replay", "7f3a:2", "--json") == 0
    after = json.loads(capsys.readouterr().out)
    state = {"plan": ["find order"], "tries": 3}
    assert (asked["moment"], asked["states"], asked["changed"]) == ("asked", [], [])
    assert after["states"] == [{"scope": None, "state": state, "set_at": {"plan": 2, "tries": 2}}]
    assert after["changed"] == [
        {"scope": None, "path": f"$.{key}", "new": value} for key, value in state.items()
    ]


def test_replay_as_json_is_one_documented_object(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "replay", "@failed", "--to", "100%", "--json") == 0
    world = json.loads(capsys.readouterr().out)
    assert list(world) == [
        "run_id", "step", "moment", "type", "name", "agent", "clock", "states", "changed", "last", "running",
        "unfinished", "odd", "tokens_in", "tokens_out", "snapshots", "tables", "replay",
    ]  # fmt: skip
    assert world["run_id"] == str(FAILED)
    assert world["step"] == 4
    (last,) = world["last"]
    assert last["response"] == {"step": 1, "output": {"text": "searching"}, "error": None}
    assert last["result"]["step"] == 4
    assert (world["tokens_in"], world["tokens_out"]) == (12, 3)
    assert world["snapshots"] == {"before": None, "after": None}
    assert world["tables"] == []
    assert world["replay"]["rolled_back"] is True


KILLED = """
import os, signal, sys, stepwell
run = stepwell.Recorder(sys.argv[1]).start("mailer")
print(run.run_id, flush=True)
run.tool(os.kill, os.getpid(), signal.SIGKILL)
"""


def test_a_step_that_a_killed_process_left_does_not_still_run_when_the_run_was_taken_up_and_ended(
    schema_dsn: str, capsys: Capture
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, schema_dsn], capture_output=True, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    with Recorder(schema_dsn) as recorder, recorder.resume(UUID(killed.stdout.strip())) as run:
        run.tool(len, "again")
        assert stepwell(schema_dsn, "replay", "@last") == 0
        assert "still running: 1\n" in capsys.readouterr().out
        assert stepwell(schema_dsn, "replay", "@last", "--json") == 0
        live = json.loads(capsys.readouterr().out)
    assert stepwell(schema_dsn, "replay", "@last") == 0
    assert "still running: nothing\nin doubt: 1\n" in capsys.readouterr().out
    assert stepwell(schema_dsn, "replay", "@last", "--json") == 0
    ended = json.loads(capsys.readouterr().out)
    assert [(world["running"], world["unfinished"]) for world in (live, ended)] == [([1], []), ([], [1])]


def test_replay_without_a_step_is_the_last_one(filled: str, capsys: Capture) -> None:
    stepwell(filled, "replay", "7f3a", "--json")
    assert json.loads(capsys.readouterr().out)["step"] == 4


def test_a_bare_table_and_a_role_that_may_only_read_are_enough(dsn: str, capsys: Capture) -> None:
    reader = f"{dsn} user={bare_table(dsn)}"
    add_step(dsn, 1, "llm_call", input={"messages": []}, output={"text": "hello"})
    add_step(dsn, 2, "state_update", output={"plan": []})
    add_step(dsn, 3, "tool_call", input={"q": 1})
    assert stepwell(reader, "runs") == 0
    (row,) = capsys.readouterr().out.splitlines()[1:]
    assert row.split()[:3] == ["unknown", "7f3a", "3"]
    assert row.endswith("no output: tool_call (step 3)")
    assert stepwell(reader, "steps", "7f3a") == 0
    out = capsys.readouterr().out
    assert "no output" in out
    assert "in doubt" not in out
    assert stepwell(reader, "show", "7f3a:1") == 0
    assert stepwell(reader, "show", "@last:50%") == 0
    capsys.readouterr()
    assert stepwell(reader, "replay", "7f3a", "--to", "2") == 0
    assert "in the order of step numbers" in capsys.readouterr().out


def test_what_is_nested_too_deeply_is_shown_as_its_text(schema_dsn: str, capsys: Capture) -> None:
    deep = "[" * 4000 + "]" * 4000
    add_step(schema_dsn, 1, "tool_call", input=1, output=2)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("UPDATE agent_steps SET output = %s::jsonb", [deep])
    assert stepwell(schema_dsn, "show", "7f3a:1:$.output") == 0
    assert capsys.readouterr().out == f"{deep}\n"
    assert stepwell(schema_dsn, "replay", "7f3a:1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["last"][0]["result"]["output"] == deep


def test_json_keeps_every_digit_and_stays_json() -> None:
    text = '{"n": 12345678901234567890.123456789012345678901, "i": ' + "9" * 5000 + "}"
    from stepwell.core import codec

    assert to_json(codec.parse(text)) == text
    assert (
        to_json([float("nan"), float("-inf"), -0.0, "\ud800\u202e"])
        == '["nan", "-inf", -0.0, "\\ud800\\u202e"]'
    )
    assert to_json({"a": [], "b": {}, "c": None}) == '{"a": [], "b": {}, "c": null}'


def test_show_says_that_a_long_prompt_is_not_whole(schema_dsn: str, capsys: Capture) -> None:
    new: Any = {"input": {"messages": ["b"]}, "input_keep": 1, "input_list": "messages"}
    add_step(schema_dsn, 1, "llm_call", input={"messages": ["a"]}, output="x")
    add_step(schema_dsn, 2, "llm_call", output="y", input_base=1, **new)
    add_step(schema_dsn, 3, "llm_call", output="z", input_base=9, **new)
    assert stepwell(schema_dsn, "show", "7f3a:2:$.input.messages", "--json") == 0
    assert json.loads(capsys.readouterr().out)["value"] == ["a", "b"]
    assert stepwell(schema_dsn, "show", "7f3a:3") == 0
    words = "only what is new in it: step 3 is a difference to step 9, which is not before it"
    assert f"problem  the input below is {words}" in capsys.readouterr().out
    assert stepwell(schema_dsn, "show", "7f3a:3", "--json") == 0
    step = json.loads(capsys.readouterr().out)
    assert (step["input"], step["problem"]) == ({"messages": ["b"]}, words)
