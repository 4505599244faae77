"""Replies of the real client libraries come back as the objects that the libraries made."""

import json
from datetime import datetime
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ParsedChatCompletion
from pydantic import TypeAdapter

from stepwell.core import codec
from tests.core.codec_values import Tool, same, stored, through_jsonb

CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1735689600,
    "model": "gpt-4o-mini",
    "system_fingerprint": None,
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": None,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "search_orders", "arguments": '{"customer": 42}'},
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 81, "completion_tokens": 17, "total_tokens": 98, "vendor_\0cost": 1e16},
}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"zone": "eu", "by": ["a\0", 1.0]}},
    ],
    "container": {"id": "c", "expires_at": "2025-03-01T12:00:00Z", "skills": None},
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 12, "output_tokens": 7},
}


@pytest.mark.parametrize(
    "build", [ChatCompletion.model_validate, lambda data: ChatCompletion.construct(**data)]
)
def test_a_chat_completion_comes_back_equal(build: Any) -> None:
    reply = build(CHAT)
    reply._request_id = "req_1"
    copy = through_jsonb(reply)
    assert copy == reply
    assert same(copy, reply)
    assert copy.to_json() == reply.to_json()
    assert copy.choices[0].message.tool_calls[0].function.name == "search_orders"
    assert copy._request_id == "req_1"


@pytest.mark.parametrize("build", [Message.model_validate, lambda data: Message.construct(**data)])
def test_a_message_comes_back_equal(build: Any) -> None:
    reply = build(MESSAGE)
    copy = through_jsonb(reply)
    assert copy == reply
    assert same(copy, reply)
    assert [type(block).__name__ for block in copy.content] == ["TextBlock", "ToolUseBlock"]


def test_a_reply_parsed_into_a_class_comes_back_with_its_generic_type() -> None:
    reply = ParsedChatCompletion[Tool].construct(**CHAT)
    reply.choices[0].message.parsed = Tool(name="x", arguments=[1])
    copy = through_jsonb(reply)
    assert type(copy) is ParsedChatCompletion[Tool]
    assert same(copy, reply)


def test_a_reply_is_plain_to_query() -> None:
    plain, _ = stored(codec.encode(ChatCompletion.model_validate(CHAT)))
    assert isinstance(plain, dict)
    assert plain["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "search_orders"
    assert plain["usage"]["total_tokens"] == 98


def test_a_reply_views_as_the_dict_of_its_fields_in_their_order() -> None:
    reply = ChatCompletion.model_validate(CHAT)
    shown = codec.view(*stored(codec.encode(reply)))
    assert json.dumps(shown) == json.dumps(reply.to_dict(exclude_unset=False))


def test_the_exact_part_of_a_stream_grows_slower_than_its_chunks() -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        ChatCompletionChunk.model_validate({**chunk, "choices": [{"index": 0, "delta": {"content": word}}]})
        for word in ["a", "b", "c"] * 100
    ]
    encoded = codec.encode(chunks)
    assert len(encoded.exact or "") < 1000
    assert same(through_jsonb(chunks), chunks)


def test_the_time_zone_that_pydantic_makes_comes_back() -> None:
    moment = TypeAdapter(datetime).validate_python("2025-03-01T12:00:00+02:00")
    copy = through_jsonb(moment)
    assert (copy, type(copy.tzinfo), copy.utcoffset()) == (moment, type(moment.tzinfo), moment.utcoffset())
