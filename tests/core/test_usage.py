"""Tokens and finish reasons are found wherever the common APIs put them."""

from enum import Enum
from types import SimpleNamespace as Object
from typing import Any

import pytest

from stepwell.core.usage import NOTHING, Usage, usage_of, usage_of_chunks


class Reason(Enum):
    MAX_TOKENS = 2


OPENAI_CHAT = {"usage": {"prompt_tokens": 5, "completion_tokens": 2}, "choices": [{"finish_reason": "stop"}]}
OPENAI_RESPONSE = {
    "object": "response",
    "status": "completed",
    "usage": {"input_tokens": 5, "output_tokens": 2},
}
ANTHROPIC = {
    "type": "message",
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 5,
        "output_tokens": 2,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": None,
    },
}
GOOGLE = Object(
    usage_metadata=Object(prompt_token_count=5, candidates_token_count=2, thoughts_token_count=3),
    candidates=[Object(finish_reason=Reason.MAX_TOKENS)],
)
LANGCHAIN = Object(
    usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
    response_metadata={"finish_reason": "length"},
)
BEDROCK = {"usage": {"inputTokens": 5, "outputTokens": 2}, "stopReason": "tool_use"}


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        (OPENAI_CHAT, Usage(5, 2, "stop")),
        (OPENAI_RESPONSE, Usage(5, 2, "completed")),
        (
            {
                **OPENAI_RESPONSE,
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
            },
            Usage(5, 2, "max_output_tokens"),
        ),
        (ANTHROPIC, Usage(105, 2, "end_turn")),
        (GOOGLE, Usage(5, 5, "MAX_TOKENS")),
        (LANGCHAIN, Usage(5, 2, "length")),
        (BEDROCK, Usage(5, 2, "tool_use")),
        (Object(usage=Object(prompt_tokens=5), choices=[]), Usage(5)),
    ],
)
def test_replies(reply: object, usage: Usage) -> None:
    assert usage_of(reply) == usage


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "text",
        b"bytes",
        5,
        [],
        {},
        object(),
        {"usage": None},
        {"usage": "many"},
        {"usage": {"prompt_tokens": "5"}},
        {"usage": {"prompt_tokens": True}},
        {"usage": {"prompt_tokens": -1}},
        {"usage": {"prompt_tokens": 2**40}},
        {"status": "shipped"},
        {"choices": [None]},
        {"choices": "abc"},
        {"stop_reason": 5},
    ],
)
def test_what_reports_nothing(reply: object) -> None:
    assert usage_of(reply) == NOTHING


def test_foreign_objects_that_raise_report_nothing() -> None:
    class Hostile:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert usage_of(Hostile()) is NOTHING


def test_the_chunks_of_a_stream_add_up() -> None:
    chat = [{"choices": [{"finish_reason": None}]}, {"choices": [{"finish_reason": "stop"}], "usage": None}]
    assert usage_of_chunks([*chat, {**OPENAI_CHAT, "choices": []}]) == Usage(5, 2, "stop")
    message = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    ]
    assert usage_of_chunks(message) == Usage(9, 7, "end_turn")
    events = [{"type": "response.created", "response": {}}, {"type": "done", "response": OPENAI_RESPONSE}]
    assert usage_of_chunks(events) == Usage(5, 2, "completed")
    assert usage_of_chunks([]) == NOTHING
