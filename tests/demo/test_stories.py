"""The runs of the demo are what README tells of them."""

import json
from contextlib import closing

import pytest

from stepwell.cli import main
from stepwell.core.steps import Loop, RunHead
from stepwell.core.world import Moment
from stepwell.demo.agent import CHARACTERS_PER_TOKEN, TOOL_BUDGET
from stepwell.replay import Replayer
from stepwell.replay.values import display
from stepwell.store.connect import resolve
from tests.demo.stories import letters, story


@pytest.fixture
def head(demo_dsn: str) -> RunHead:
    return story(demo_dsn, "loop")


def test_the_newest_run_loops_over_a_search_until_its_turns_are_up(head: RunHead, replayer: Replayer) -> None:
    assert (head.name, head.status, head.steps) == ("refund-triage", "failed", 52)
    assert head.error is not None
    assert head.error.endswith("MaxTurnsError: 25 turns")
    assert head.loop == Loop("search_orders", 5, 51, 1, 24)
    assert letters(replayer) == "lts" + "lt" * 24 + "l"
    last = replayer.heads()[-1]
    assert last.error == head.error
    assert not last.has_output


def test_the_order_is_in_what_the_tool_found_and_never_in_what_the_model_is_shown(replayer: Replayer) -> None:
    budget = TOOL_BUDGET * CHARACTERS_PER_TOKEN
    payload = replayer.payload(5)
    found = json.dumps(display(payload.output, payload.output_exact))
    assert f"{len(found) / 1000:.1f} KB" == "12.4 KB"
    assert '"id": 8841' in found
    prompt = display(replayer.payload(6).input, None)
    assert isinstance(prompt, dict)
    assert prompt["messages"][-1]["content"] == found[:budget]
    assert all('"id": 8841' not in (replayer.payload(n).input or "") for n in range(6, 51, 2))


def test_the_state_is_set_once_and_the_loop_changes_nothing(replayer: Replayer) -> None:
    world = replayer.at(51)
    assert world.states == {None: {"customer": 42, "plan": ["find order", "refund"], "tries": 3}}
    assert set(world.set_at[None].values()) == {3}


def test_tokens_and_the_reason_to_stop_are_known_of_every_reply(replayer: Replayer) -> None:
    replies = [step for step in replayer.heads() if step.type == "llm_call" and step.error is None]
    assert all(step.finish_reason == "tool_calls" for step in replies)
    assert all(step.tokens_in and step.tokens_out for step in replies)


def test_a_killed_process_leaves_its_call_in_doubt(demo_dsn: str) -> None:
    head = story(demo_dsn, "crash")
    assert (head.status, head.unfinished, head.unfinished_name) == ("died", 1, "send_email")
    with closing(Replayer(resolve(demo_dsn), head.run_id)) as replayer:
        *before, last = replayer.heads()
        payload = replayer.payload(last.number)
    assert last.in_doubt
    assert payload.output is None
    assert payload.input is not None
    assert "ada@example.org" in payload.input
    assert all(step.has_output for step in before)


def test_the_agents_of_the_swarm_work_at_the_same_time(demo_dsn: str) -> None:
    head = story(demo_dsn, "swarm")
    assert (head.name, head.status, set(head.agents)) == ("refund-swarm", "ok", {"triage", "a", "b"})
    with closing(Replayer(resolve(demo_dsn), head.run_id)) as replayer:
        steps = replayer.heads()
        waiting = next(step for step in steps if step.agent == "a")
        written = next(step for step in steps if step.agent == "b" and step.type == "state_update")
        world = replayer.at(written.number, Moment.AFTER)
    assert waiting.number in world.running
    assert world.states["b"] == {"refunded": [8177], "total": 49.5}
    assert "a" not in world.states
    delegated = {step.number for step in steps if step.name == "delegate"}
    assert {step.parent for step in steps if step.agent in ("a", "b")} == delegated


def test_one_run_goes_well(demo_dsn: str) -> None:
    head = story(demo_dsn, "well")
    assert (head.name, head.status, head.steps, head.loop) == ("refund-triage", "ok", 12, None)
    with closing(Replayer(resolve(demo_dsn), head.run_id)) as replayer:
        state = replayer.at(12).states[None]
    assert state == {"customer": 57, "plan": [], "tries": 3, "refunded": [8177]}


def test_the_plain_command_line_tells_what_the_model_saw(
    demo_dsn: str, head: RunHead, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--dsn", demo_dsn, "show", f"{head.run_id.hex}:5"]) == 0
    assert "seen     2,048 of 12,375 characters stand in the next prompt, step 6" in capsys.readouterr().out
    assert main(["--dsn", demo_dsn, "show", f"{head.run_id.hex}:5:$.seen", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)["value"]
    assert value == {"step": 6, "how": "cut", "characters": 2048, "of": 12375}
