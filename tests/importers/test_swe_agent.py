"""SWE-agent and mini-swe-agent trajectories as steps."""

import json
from datetime import UTC, datetime

import pytest

from stepwell.core.recording import Failure, ImportedRun
from stepwell.core.world import MISSING
from stepwell.errors import InvalidFileError
from stepwell.importers import read
from tests.importers.files import answer, asks, call, file, lines, text, trajectory, turn


def only_run(value: object) -> ImportedRun:
    reading = read(file(value), "django-1.traj")
    assert reading.format == "swe-agent"
    (run,) = reading.runs
    return run


def kinds(run: ImportedRun) -> list[str]:
    return [step.type for step in run.steps]


def test_a_turn_is_a_model_call_and_a_tool_call() -> None:
    value = trajectory(turn("ls\n", "a.py"), turn("edit 1:1\nx\n", "done"))
    run = only_run(value)
    assert kinds(run) == ["llm_call", "tool_call"] * 2
    history = value["history"]
    assert isinstance(history, list)
    assert run.steps[2].input == {"messages": history[:3]}
    assert run.steps[2].output == history[3]
    assert (run.steps[3].input, run.steps[3].output) == ({"command": "edit 1:1\nx\n"}, "done")


def test_a_command_that_the_prompt_documents_is_a_tool_and_all_else_is_bash() -> None:
    run = only_run(trajectory(turn("ls\n", "a"), turn("edit 1:1\nx\n", "b"), turn("editor x\n", "c")))
    assert [step.name for step in run.steps if step.type == "tool_call"] == ["bash", "edit", "bash"]


def test_a_function_call_gives_the_tool_its_name_and_arguments() -> None:
    entry = {**turn("edit 1:1\nx", "done"), "response": "Editing."}
    history = [text("user", "go"), asks(call("edit", '{"line": 1}', "c"), action="edit 1:1\nx")]
    run = only_run(trajectory(entry, history=history))
    assert (run.steps[1].name, run.steps[1].input, run.steps[1].output) == ("edit", {"line": 1}, "done")


def test_demonstrations_in_the_history_are_no_turns() -> None:
    entry = turn("ls\n", "a.py")
    demo = text("assistant", entry["response"], action="ls\n", is_demo=True)
    history = [text("system", "s"), demo, text("user", "go"), text("assistant", entry["response"])]
    run = only_run(trajectory(entry, history=history))
    assert run.steps[0].input == {"messages": history[:3]}


def test_a_turn_that_the_history_lacks_gets_what_was_told_by_then() -> None:
    value = trajectory(turn("ls\n", "a.py"))
    history, entries = value["history"], value["trajectory"]
    assert isinstance(history, list)
    assert isinstance(entries, list)
    entries.append({"action": "", "observation": "Exited", "response": "Exit due to cost limit"})
    run = only_run(value)
    assert kinds(run) == ["llm_call", "tool_call", "llm_call"]
    assert run.steps[2].input == {"messages": history}
    assert run.steps[2].output == text("assistant", "Exit due to cost limit")


def test_the_query_of_a_turn_is_its_prompt_where_the_file_has_it() -> None:
    query = [text("user", "elided")]
    assert only_run(trajectory(turn("ls\n", "a", query=query))).steps[0].input == {"messages": query}


def test_without_a_history_the_prompt_is_missing_and_not_made_up() -> None:
    run = only_run({"trajectory": [turn("ls\n", "a")], "info": {}})
    assert run.steps[0].input is MISSING
    assert run.steps[1].output == "a"


def test_a_state_in_a_string_was_read_before_the_action_and_is_a_step_where_it_changed() -> None:
    first, second = '{"dir": "/", "open": null}\n', '{"dir": "/src"}\n'
    run = only_run(trajectory(turn("a", "1", first), turn("b", "2", first), turn("c", "3", second)))
    pair = ["llm_call", "tool_call"]
    assert kinds(run) == ["state_update", *pair, *pair, "state_update", *pair]
    assert run.steps[0].input == {"$patch": [{"set": [], "to": {"dir": "/", "open": None}}]}
    assert run.steps[5].input == {"$patch": [{"unset": ["open"]}, {"set": ["dir"], "to": "/src"}]}
    assert run.steps[5].output == ["$.open", "$.dir"]


def test_a_state_in_an_object_was_read_after_the_action() -> None:
    run = only_run(trajectory(turn("a", "1", {"dir": "/"}), turn("b", "2", {})))
    assert kinds(run) == ["llm_call", "tool_call", "state_update", "llm_call", "tool_call"]


def test_a_state_that_is_no_json_is_kept_as_text() -> None:
    run = only_run(trajectory(turn("a", "1", "bash: state: not found")))
    assert run.steps[0].input == {"$patch": [{"set": [], "to": "bash: state: not found"}]}


def test_an_action_without_an_observation_is_in_doubt() -> None:
    run = only_run(trajectory(turn("sleep 1000\n", None), info={"exit_status": None}))
    assert (run.steps[1].output, run.steps[1].finished_order) == (MISSING, None)


def test_an_empty_observation_is_an_answer() -> None:
    assert only_run(trajectory(turn("true\n", ""))).steps[1].output == ""


@pytest.mark.parametrize(
    ("info", "status", "error"),
    [
        ({"exit_status": "submitted"}, "ok", None),
        ({"exit_status": "submitted (exit_cost)"}, "ok", None),
        ({"exit_status": "Submitted"}, "ok", None),
        ({"exit_status": "exit_cost"}, "failed", Failure("exit_status", "exit_cost")),
        ({"exit_status": None}, "failed", Failure("exit_status", "none: it ended unexpectedly")),
        ({}, "failed", Failure("exit_status", "none: it ended unexpectedly")),
    ],
)
def test_only_a_submission_is_a_success(info: object, status: str, error: object) -> None:
    run = only_run(trajectory(turn("ls\n", "a"), info=info))
    assert (run.status, run.error) == (status, error)


def test_the_configuration_names_model_and_run_even_inside_a_string() -> None:
    config = {"agent": {"model": {"name": "m-1"}}, "problem_statement": {"id": "django__1"}}
    for given in (config, json.dumps(config)):
        run = only_run(trajectory(turn("ls\n", "a"), replay_config=given))
        assert (run.name, run.steps[0].name) == ("django__1", "m-1")


def test_no_time_is_made_up_from_an_execution_time() -> None:
    run = only_run(trajectory(turn("ls\n", "a", execution_time=0.25)))
    assert {(step.started, step.finished) for step in run.steps} == {(None, None)}


def test_trajectories_may_stand_on_the_lines_of_one_file() -> None:
    data = lines(trajectory(turn("a", "1")), trajectory(turn("b", "2")))
    assert [run.name for run in read(data, "all.jsonl").runs] == ["all#1", "all#2"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"trajectory": []}, "x.traj: $.trajectory: no turns in it"),
        (
            {"trajectory": [turn("a", "b"), 7]},
            "x.traj: $.trajectory[1]: an object is expected here, not a number",
        ),
        (
            {"trajectory": [turn("a", "b") | {"action": ["ls"]}]},
            "x.traj: $.trajectory[0].action: text is expected here, not a list",
        ),
        (
            {"trajectory": [turn("a", "b")], "history": {}},
            "x.traj: $.history: a list is expected here, not an object",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_path(value: object, message: str) -> None:
    with pytest.raises(InvalidFileError) as caught:
        read(file(value), "x.traj")
    assert str(caught.value) == message


FENCED = "THOUGHT: look\n\n```mswea_bash_command\nls -la\n```"
SEEN = "<returncode>0</returncode>\n<output>\na.py\n</output>"


def test_a_bare_list_of_fenced_commands_is_a_mini_trajectory() -> None:
    run = only_run([text("system", "s"), text("user", "go"), text("assistant", FENCED), text("user", SEEN)])
    assert kinds(run) == ["llm_call", "tool_call"]
    assert (run.steps[1].name, run.steps[1].input, run.steps[1].output) == (
        "bash",
        {"command": "ls -la"},
        SEEN,
    )
    assert (run.status, run.tags) == (None, {})


def test_a_fenced_command_that_was_not_run_leaves_a_chat_a_chat() -> None:
    chat = [text("user", "how?"), text("assistant", "```bash\nls\n```"), text("user", "thanks")]
    assert read(file(chat), "x.json").format == "chat-completions"


def test_a_reply_with_two_commands_ran_none_of_them() -> None:
    messages = [text("assistant", FENCED), text("user", SEEN), text("assistant", FENCED + FENCED)]
    assert kinds(only_run([*messages, text("user", "one only")])) == ["llm_call", "tool_call", "llm_call"]


def test_the_last_command_without_an_observation_is_in_doubt() -> None:
    assert only_run([text("user", "go"), text("assistant", FENCED)]).steps[1].output is MISSING


def test_a_mini_envelope_says_how_it_ended_with_which_model_and_when() -> None:
    response = {"usage": {"prompt_tokens": 9, "completion_tokens": 2}, "choices": [{"finish_reason": "stop"}]}
    run = only_run(
        {
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {"exit_status": "LimitsExceeded", "config": {"model": {"model_name": "m-1"}}},
            "messages": [
                text("user", "go"),
                asks(call("bash", '{"command": "ls"}', "c"), extra={"timestamp": 100, "response": response}),
                answer("a.py", "c", extra={"timestamp": 101.5}),
                text("exit", "", extra={"timestamp": 102}),
            ],
        }
    )
    model, tool = run.steps
    assert (model.name, model.tokens_in, model.tokens_out, model.finish_reason) == ("m-1", 9, 2, "stop")
    assert model.finished == datetime.fromtimestamp(100, UTC)
    assert (tool.input, tool.output) == ({"command": "ls"}, "a.py")
    assert (run.started, run.finished) == (
        datetime.fromtimestamp(100, UTC),
        datetime.fromtimestamp(102, UTC),
    )
    assert run.error == Failure("exit_status", "LimitsExceeded")
