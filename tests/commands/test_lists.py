"""`stepwell runs` and `stepwell steps`."""

import json

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.commands.cases import DIED, FAILED, HOSTILE, LOOP, WELL, fill, stepwell
from tests.store.rows import add_run, run_id

Capture = pytest.CaptureFixture[str]


def json_lines(capsys: Capture) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_runs_are_listed_newest_first_with_what_stands_out(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    assert stepwell(schema_dsn, "runs") == 0
    titles, *rows = capsys.readouterr().out.splitlines()
    assert titles.split() == ["STATUS", "NAME", "RUN", "STEPS", "TOOK", "STARTED", "WHY"]
    assert [row.split()[:3] for row in rows] == [
        ["failed", "refund-triage", "7f3a"],
        ["died", "refund-triage", "7f81"],
        ["ok", "refund-triage", "04aa"],
    ]
    assert "loop: search_orders, 24 laps from step 3; MaxTurnsError: 25 turns" in rows[0]
    assert "in doubt: send_email (step 1)" in rows[1]


def test_a_missing_output_is_in_doubt_only_where_a_recorder_began_the_step(
    schema_dsn: str, capsys: Capture
) -> None:
    fill(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("UPDATE agent_runs SET source = 'chat-completions' WHERE run_id = %s", [DIED])
        connection.execute("UPDATE agent_runs SET finished = 3, status = NULL WHERE run_id = %s", [FAILED])
        connection.execute(
            "UPDATE agent_steps SET output = NULL WHERE run_id = %s AND step_number = 4", [FAILED]
        )
    stepwell(schema_dsn, "runs")
    by_hand, imported, _ = capsys.readouterr().out.splitlines()[1:]
    assert "no output: search_orders (step 4)" in by_hand
    assert "no output: send_email (step 1)" in imported
    stepwell(schema_dsn, "runs", "--json")
    assert [run["in_doubt"] for run in json_lines(capsys)] == [None, None, None]
    for run in ("7f3a", "7f81"):
        stepwell(schema_dsn, "steps", run, "--json")
        assert json_lines(capsys)[-1]["flags"] == ["no output"]


def test_an_error_without_a_message_ends_with_its_name(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        error = Jsonb({"type": "asyncio.exceptions.CancelledError", "message": ""})
        connection.execute("UPDATE agent_runs SET error = %s WHERE run_id = %s", [error, FAILED])
        connection.execute("UPDATE agent_steps SET error = %s, output = NULL WHERE step_number = 4", [error])
    for words in (["runs", "7f3a"], ["steps", "7f3a"], ["show", "7f3a:4"], ["replay", "7f3a"]):
        stepwell(schema_dsn, *words)
        out = capsys.readouterr().out
        assert "CancelledError" in out
        assert "CancelledError:" not in out


def test_one_long_name_does_not_push_the_other_columns_away(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn, name="n" * 500)
    stepwell(schema_dsn, "runs")
    _, row, *_ = capsys.readouterr().out.splitlines()
    assert row.startswith(f"failed  {'n' * 31}…  7f3a ")
    stepwell(schema_dsn, "runs", "--json")
    assert json_lines(capsys)[0]["name"] == "n" * 500


@pytest.mark.parametrize("words", [["steps", "my-sync"], ["show", "my-sync:3"], ["replay", "my-sync"]])
def test_who_gives_a_name_for_an_id_is_told_how_to_find_the_id(
    schema_dsn: str, capsys: Capture, words: list[str]
) -> None:
    assert stepwell(schema_dsn, *words) == 2
    assert capsys.readouterr().err.endswith("; find its id: stepwell runs my-sync\n")


@pytest.mark.parametrize("address", ["7f3a:x", "@newest", "$.x"])
def test_what_is_no_name_is_no_cause_for_that(schema_dsn: str, capsys: Capture, address: str) -> None:
    assert stepwell(schema_dsn, "show", address) == 2
    assert "find its id" not in capsys.readouterr().err


def test_a_column_that_is_empty_throughout_is_left_out(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    stepwell(schema_dsn, "runs", "04aa")
    assert "WHY" not in capsys.readouterr().out


def test_ids_are_as_long_as_it_takes_to_tell_them_apart(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    assert stepwell(schema_dsn, "steps", "7f") == 2
    assert capsys.readouterr().err.startswith("stepwell: 7f matches 2 runs: 7f")


def test_runs_as_json_are_one_documented_object_a_line(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    assert stepwell(schema_dsn, "runs", "--json") == 0
    failed, died, well = json_lines(capsys)
    assert list(failed) == [
        "run_id", "status", "name", "tags", "source", "parent", "forked_at", "agents", "steps", "unfinished",
        "in_doubt", "loop", "error", "started", "finished",
    ]  # fmt: skip
    assert failed["run_id"] == str(FAILED)
    assert failed["loop"] == LOOP
    assert failed["error"] == "MaxTurnsError: 25 turns"
    assert died["run_id"] == str(DIED)
    assert died["in_doubt"] == {"step": 1, "name": "send_email"}
    assert (well["run_id"], well["status"], well["loop"]) == (str(WELL), "ok", None)


def test_runs_can_be_filtered_and_limited(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    for words, expected in (
        (["--failed"], [FAILED, DIED]),
        (["--limit", "1"], [FAILED]),
        (["TRIAGE", "--limit", "2"], [FAILED, DIED]),
        (["04"], [WELL]),
    ):
        assert stepwell(schema_dsn, "runs", "--json", *words) == 0
        assert [line["run_id"] for line in json_lines(capsys)] == list(map(str, expected))


def test_more_runs_than_a_page_holds_are_all_listed(
    schema_dsn: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(schema_dsn)
    monkeypatch.setattr("stepwell.commands.runs.PAGE", 2)
    stepwell(schema_dsn, "runs", "--json")
    assert len(json_lines(capsys)) == 3


@pytest.mark.parametrize("words", [["runs"], ["runs", "--json"], ["runs", "--failed"], ["runs", "nothing"]])
def test_an_empty_list_is_nothing_found(schema_dsn: str, capsys: Capture, words: list[str]) -> None:
    assert stepwell(schema_dsn, *words) == 1
    assert capsys.readouterr().out == ""


def test_steps_are_listed_with_flags_in_words(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    assert stepwell(schema_dsn, "steps", "7f3a") == 0
    titles, *rows = capsys.readouterr().out.splitlines()
    assert titles.split() == ["STEP", "TYPE", "NAME", "TOKENS", "FLAGS"]
    assert rows[0].split() == ["1", "llm_call", "gpt-5-mini", "12", "in,", "3", "out"]
    assert rows[1].split() == ["2", "state_update"]
    assert rows[3].split() == ["4", "tool_call", "search_orders", "lap", "2"]
    stepwell(schema_dsn, "steps", "7f81")
    assert "in doubt" in capsys.readouterr().out


def test_steps_as_json_are_one_documented_object_a_line(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn)
    assert stepwell(schema_dsn, "steps", "@failed", "--json") == 0
    steps = json_lines(capsys)
    assert list(steps[0]) == [
        "run_id", "step", "type", "name", "agent", "parent", "seed", "started", "finished", "created",
        "seconds", "tokens_in", "tokens_out", "finish_reason", "has_output", "error", "flags",
    ]  # fmt: skip
    assert [step["step"] for step in steps] == [1, 2, 3, 4]
    assert steps[3]["flags"] == ["lap 2"]


def test_a_run_that_failed_before_its_first_step_is_told_its_error_by_every_command(
    schema_dsn: str, capsys: Capture
) -> None:
    error = Jsonb({"type": "builtins.TypeError", "message": "no such model"})
    add_run(schema_dsn, run_id(0x0E000000), status="failed", error=error)
    assert stepwell(schema_dsn, "runs") == 0
    assert "TypeError: no such model (no step was recorded)" in capsys.readouterr().out
    for words in (["steps", "@failed"], ["show", "@failed:5"], ["replay", "@failed"]):
        assert stepwell(schema_dsn, *words) == 1
        said = capsys.readouterr().err
        assert "no steps; it raised TypeError: no such model\n" in said
        assert ("step 5: " in said) == (words[0] == "show")


def test_steps_takes_a_run_and_no_step(schema_dsn: str, capsys: Capture) -> None:
    assert stepwell(schema_dsn, "steps", "7f3a:1") == 2
    assert "stepwell steps 7f3a" in capsys.readouterr().err


def test_hostile_names_reach_no_terminal_raw(schema_dsn: str, capsys: Capture) -> None:
    fill(schema_dsn, name=HOSTILE)
    for words in (["runs"], ["runs", "--json"], ["replay", "7f3a"], ["show", "7f3a:1"]):
        assert stepwell(schema_dsn, *words) == 0
        out = capsys.readouterr().out
        assert all(char.isprintable() or char == "\n" for char in out), words
        assert "\\x1b" in out or "\\u001b" in out


def test_a_table_is_no_wider_than_the_terminal(
    schema_dsn: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(schema_dsn, name="a rather long name of a run, longer than it should ever have been")
    monkeypatch.setattr("stepwell.commands.output.terminal_width", lambda: 80)
    stepwell(schema_dsn, "runs")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" in lines[1]
