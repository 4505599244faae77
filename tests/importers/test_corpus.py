"""Real recordings, where a folder of them lies beside the checkout."""

import json
from pathlib import Path

import pytest

from stepwell.importers import read

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FILES = sorted(path for folder in ("openai-chat", "swe-agent") for path in (CORPUS / folder).glob("*"))


def expected(value: object) -> tuple[int, int]:
    """Replies and calls, counted in a way of their own."""
    if isinstance(value, dict) and "trajectory" in value:
        turns = value["trajectory"]
        return len(turns), sum(bool(turn["action"].strip()) for turn in turns)
    messages = value["traj"] if isinstance(value, dict) else value
    assert isinstance(messages, list)
    replies = [message for message in messages if message["role"] == "assistant"]
    return len(replies), sum(len(reply.get("tool_calls") or ()) for reply in replies)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.skipif(not FILES, reason="no corpus beside the checkout")
def test_every_reply_and_every_call_becomes_a_step(path: Path) -> None:
    value = json.loads(path.read_bytes())
    reading = read(path.read_bytes(), path.name)
    (run,) = reading.runs
    replies, calls = expected(value)
    if path.name == "mini_local.traj.json":
        calls = sum(message["content"].count("```mswea_bash_command") for message in value[2:])
    types = [step.type for step in run.steps]
    assert (types.count("llm_call"), types.count("tool_call")) == (replies, calls)
    assert [step.number for step in run.steps] == list(range(1, len(types) + 1))
    assert run.finished_steps == len(types)
