"""Chat-completions messages as steps."""

import json

import pytest

from stepwell.core.recording import Failure, ImportedRun, ImportedStep
from stepwell.core.world import MISSING
from stepwell.errors import InvalidFileError
from stepwell.importers import read
from tests.importers.files import answer, asks, call, file, lines, text


def only_run(value: object) -> ImportedRun:
    (run,) = read(file(value), "chat.json").runs
    return run


def tool_steps(value: object) -> list[ImportedStep]:
    return [step for step in only_run(value).steps if step.type == "tool_call"]


def outputs(value: object) -> list[object]:
    return [step.output for step in tool_steps(value)]


def test_a_reply_is_a_model_call_whose_prompt_is_every_message_before_it() -> None:
    messages = [
        text("system", "be brief"),
        text("user", "hi"),
        text("assistant", "hello"),
        text("user", "more"),
    ]
    messages.append(text("assistant", "no"))
    run = only_run(messages)
    assert [step.type for step in run.steps] == ["llm_call", "llm_call"]
    assert run.steps[1].input == {"messages": messages[:4]}
    assert run.steps[1].output == messages[4]


def test_a_tool_call_is_a_step_with_its_arguments_and_the_exact_text_of_its_answer() -> None:
    exact = '{"b": 1.50,\n "a": [ ]}'
    found = tool_steps([text("user", "?"), asks(call("find", '{"q": "é"}', "c1")), answer(exact, "c1")])
    assert [(step.name, step.input, step.output) for step in found] == [("find", {"q": "é"}, exact)]


@pytest.mark.parametrize("raw", ['{"q": ', "[1]", "", "null", '{"a": 1, "a": 2}', "not json", None])
def test_arguments_that_are_no_json_object_are_kept_as_they_were_written(raw: object) -> None:
    (step,) = tool_steps([asks(call("find", raw, "c1")), answer("x", "c1")])
    assert step.input == {"arguments": raw}


def test_arguments_may_be_an_object_already() -> None:
    (step,) = tool_steps([asks(call("find", {"q": 1}, "c1"))])
    assert step.input == {"q": 1}


def test_parallel_answers_are_matched_by_id_whatever_their_order() -> None:
    messages = [asks(call("a", id="1"), call("b", id="2")), answer("of b", "2"), answer("of a", "1")]
    assert outputs(messages) == ["of a", "of b"]


def test_without_ids_answers_are_matched_in_order() -> None:
    assert outputs([asks(call("a"), call("b")), answer("of a"), answer("of b")]) == ["of a", "of b"]


def test_without_ids_a_name_says_which_call_is_answered() -> None:
    messages = [asks(call("a"), call("b")), answer("of b", name="b"), answer("of a", name="a")]
    assert outputs(messages) == ["of a", "of b"]


def test_an_id_used_again_within_one_reply_is_matched_in_order() -> None:
    messages = [asks(call("a", id="c"), call("a", id="c")), answer("first", "c"), answer("second", "c")]
    assert outputs(messages) == ["first", "second"]


def test_an_id_used_again_in_a_later_reply_belongs_to_that_reply() -> None:
    messages = [asks(call("a", id="c")), answer("first", "c"), asks(call("a", id="c")), answer("second", "c")]
    assert outputs(messages) == ["first", "second"]


def test_an_id_that_came_back_with_the_id_of_its_response_in_front_is_the_same() -> None:
    assert outputs([asks(call("a", id="call_0")), answer("x", "resp_9:call_0")]) == ["x"]


def test_a_call_without_an_answer_is_in_doubt_and_its_neighbours_are_not() -> None:
    run = only_run([asks(call("a", id="1"), call("b", id="2")), answer("of b", "2"), text("assistant", "ok")])
    assert [step.output is MISSING for step in run.steps] == [False, True, False, False]
    assert [step.finished_order for step in run.steps] == [1, None, 2, 3]
    assert [step.finished_before for step in run.steps] == [0, 1, 1, 2]
    assert [step.started_before for step in run.steps] == [1, None, 3, 4]


def test_an_answer_that_comes_after_the_next_reply_finishes_its_call_late() -> None:
    run = only_run([asks(call("slow", id="1")), text("assistant", "waiting"), answer("at last", "1")])
    assert [(step.type, step.output, step.finished_order) for step in run.steps[1:]] == [
        ("tool_call", "at last", 3),
        ("llm_call", text("assistant", "waiting"), 2),
    ]


def test_an_answer_to_no_call_stays_in_the_next_prompt_only() -> None:
    messages = [asks(call("a", id="1")), answer("stray", "9"), text("assistant", "hm")]
    assert outputs(messages) == [MISSING]
    assert only_run(messages).steps[-1].input == {"messages": messages[:2]}


def test_an_answer_marked_as_an_error_is_one() -> None:
    (step,) = tool_steps([asks(call("a", id="1")), answer("no such order", "1", status="error")])
    assert step.error == Failure("tool error", "no such order")


def test_the_older_function_call_is_a_tool_call() -> None:
    reply = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"x": 1}'}}
    (step,) = tool_steps([reply, {"role": "function", "name": "f", "content": "2"}])
    assert (step.name, step.input, step.output) == ("f", {"x": 1}, "2")


def test_a_custom_tool_keeps_its_text() -> None:
    reply = asks({"id": "1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}})
    assert tool_steps([reply])[0].input == {"arguments": "*** Begin"}


def test_what_the_envelope_says_about_the_request_is_part_of_every_prompt() -> None:
    envelope = {"model": "m-1", "seed": 7, "tools": [], "messages": [text("assistant", "a")], "lab": "x"}
    (step,) = only_run(envelope).steps
    assert (step.name, step.seed) == ("m-1", 7)
    assert step.input == {"model": "m-1", "seed": 7, "tools": [], "messages": []}
    assert only_run(envelope).tags == {"lab": "x"}


def test_tokens_and_finish_reason_are_kept_where_a_reply_says_them() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    (step,) = only_run([text("assistant", "a", usage=usage, finish_reason="length")]).steps
    assert (step.tokens_in, step.tokens_out, step.finish_reason) == (12, 3, "length")


def test_no_time_is_made_up() -> None:
    (step,) = only_run([text("assistant", "a")]).steps
    assert (step.started, step.finished) == (None, None)


def test_agents_are_named_where_there_are_several() -> None:
    two = only_run([text("assistant", "a", name="planner"), text("assistant", "b", name="coder")])
    one = only_run([text("assistant", "a", name="planner"), text("assistant", "b", name="planner")])
    assert (two.agents, one.agents) == (("planner", "coder"), ())


def test_messages_after_the_last_reply_are_kept_with_the_run() -> None:
    assert only_run([text("assistant", "a"), text("user", "bye")]).tags == {
        "after_last_reply": [text("user", "bye")]
    }


@pytest.mark.parametrize(
    ("reward", "status", "error"),
    [
        (1.0, "ok", None),
        (0.0, "failed", Failure("reward", "0.0 (r_actions 0.0)")),
        (None, None, None),
    ],
)
def test_a_reward_of_nothing_is_a_failure_and_no_reward_says_nothing(
    reward: object, status: object, error: object
) -> None:
    info = {"reward_info": {"info": {"r_actions": 0.0, "gt_data_hash": "4a"}}}
    run = only_run({"traj": [text("assistant", "a")], "reward": reward, "info": info})
    assert (run.status, run.error) == (status, error)


def test_jsonl_holds_a_run_on_each_line_and_blank_lines_nothing() -> None:
    data = lines([text("assistant", "a")], {"messages": [text("assistant", "b")]}) + b"\n \n"
    assert [run.name for run in read(data, "dir/many.jsonl").runs] == ["many#1", "many#2"]


def test_jsonl_with_a_message_on_each_line_is_one_run() -> None:
    (run,) = read(lines(text("user", "a"), text("assistant", "b"), text("user", "c")), "log.jsonl").runs
    assert run.steps[0].input == {"messages": [text("user", "a")]}


def test_a_list_of_envelopes_holds_a_run_each_and_a_run_without_messages_is_empty() -> None:
    value = [{"traj": [text("assistant", "a")]}, {"traj": [], "info": {"error": "rate limit"}}]
    first, second = read(file(value), "all.json").runs
    assert len(first.steps) == 1
    assert (second.steps, second.status, second.error) == ((), "failed", Failure("error", "rate limit"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "x.json: $: no messages in it"),
        ({"messages": []}, "x.json: $: no messages in it"),
        ([text("user", "a")], "x.json: $: no assistant message in it, so nothing to step through"),
        (
            {"messages": [text("user", "a"), text("bot", "b")]},
            "x.json: $.messages[1].role: not a role of a chat message: 'bot'",
        ),
        ([text("user", "a"), {"content": "b"}], "x.json: $[1]: a message with a role is expected here"),
        ([text("user", "a"), "b"], "x.json: $[1]: an object is expected here, not a string"),
        ([text("user", 3)], "x.json: $[0].content: text or parts are expected, not a number"),
        ([text("user", "a"), {"role": None}], "x.json: $[1].role: not a role of a chat message: None"),
        (
            [{"role": "assistant", "tool_calls": {"id": "1"}}],
            "x.json: $[0].tool_calls: a list is expected here, not an object",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}],
            "x.json: $[0].tool_calls[0].function.name: the name of a tool is expected here",
        ),
        (
            {"traj": [text("assistant", [{"type": "tool_use", "id": "t"}])]},
            "x.json: $.traj[0].content[0].type: tool_use blocks are of another format, not imported yet",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_path(value: object, message: str) -> None:
    with pytest.raises(InvalidFileError) as caught:
        read(file(value), "x.json")
    assert str(caught.value) == message


def test_in_jsonl_the_line_is_said_too() -> None:
    data = lines([text("assistant", "a")], {"messages": [text("assistant", "b"), text("x\x1b[31m", "c")]})
    with pytest.raises(InvalidFileError) as caught:
        read(data, "x.jsonl")
    assert str(caught.value) == (
        "x.jsonl: line 2, $.messages[1].role: not a role of a chat message: 'x\\x1b[31m'"
    )


def test_prompts_share_their_messages_so_that_a_long_file_fits_into_memory() -> None:
    messages = [message for _ in range(50) for message in (text("user", "q"), text("assistant", "a"))]
    steps = only_run(messages).steps
    first, last = (json.loads(json.dumps(step.input)) for step in (steps[0], steps[-1]))
    assert (len(first["messages"]), len(last["messages"])) == (1, 99)
    assert isinstance(steps[0].input, dict)
    assert isinstance(steps[-1].input, dict)
    assert steps[0].input["messages"][0] is steps[-1].input["messages"][0]
