"""The clients that agents really use, against a server that speaks their protocols."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import anthropic
import openai
import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from stepwell import Recorder
from stepwell.core.streamed import Streamed

CHAT = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-x",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello"},
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    "vendor_field": {"kept": True},
}
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 100},
}
RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1.0,
    "status": "completed",
    "model": "gpt-x",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 11,
    },
}


def chat_chunks() -> Iterator[dict[str, Any]]:
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}
    for word in ("Hel", "lo"):
        yield {**base, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {**base, "choices": [], "usage": CHAT["usage"]}


def message_events() -> Iterator[dict[str, Any]]:
    start = {**MESSAGE, "content": [], "stop_reason": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for word in ("Hel", "lo"):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    }
    yield {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    """Answers as both providers do; fails as often as the server is told to."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        failures: list[int] = self.server.failures  # type: ignore[attr-defined]  # set by the fixture
        if failures:
            self.answer(failures.pop(0), b'{"error": {"message": "overloaded"}}', "application/json")
        elif asked.get("stream"):
            events = chat_chunks() if "chat" in self.path else message_events()
            lines = [
                f"event: {e['type']}\ndata: {json.dumps(e)}\n\n"
                if "type" in e
                else f"data: {json.dumps(e)}\n\n"
                for e in events
            ]
            if "chat" in self.path:
                lines.append("data: [DONE]\n\n")
            self.answer(200, "".join(lines).encode(), "text/event-stream")
        else:
            reply = CHAT if "chat" in self.path else RESPONSE if "responses" in self.path else MESSAGE
            self.answer(200, json.dumps(reply).encode(), "application/json")

    def answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def provider() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.failures = []  # type: ignore[attr-defined]  # read by the handler
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def url(provider: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{provider.server_port}"


ASKED: Any = {"model": "gpt-x", "messages": [{"role": "user", "content": "Hi"}]}
ASKED_CLAUDE: Any = {**ASKED, "model": "claude-x", "max_tokens": 9}
USAGE = (9, 2)


def tokens(row: dict[str, Any]) -> tuple[int, int]:
    return row["tokens_in"], row["tokens_out"]


def test_a_chat_completion_comes_back_as_the_object_that_it_was(
    recorder: Recorder, steps: Any, url: str
) -> None:
    with openai.OpenAI(base_url=url, api_key="k") as client, recorder.run() as run:
        reply = run.llm(client.chat.completions.create, seed=7, **ASKED)
    (row,) = steps(run.run_id)
    assert isinstance(reply, ChatCompletion)
    assert type(row["got"]) is ChatCompletion
    assert row["got"] == reply
    assert row["given"] == {"seed": 7, **ASKED}
    assert (row["name"], row["seed"], row["finish_reason"], tokens(row)) == ("gpt-x", 7, "stop", USAGE)


def test_a_reply_that_is_part_of_the_next_prompt_is_kept_in_it(
    recorder: Recorder, steps: Any, url: str
) -> None:
    with openai.OpenAI(base_url=url, api_key="k") as client, recorder.run() as run:
        reply = run.llm(client.chat.completions.create, **ASKED)
        messages: Any = [*ASKED["messages"], reply.choices[0].message]
        run.llm(client.chat.completions.create, model="gpt-x", messages=messages)
    assert steps(run.run_id)[1]["given"]["messages"][1] == reply.choices[0].message


def test_the_responses_api_reports_its_usage_too(recorder: Recorder, steps: Any, url: str) -> None:
    with openai.OpenAI(base_url=url, api_key="k") as client, recorder.run() as run:
        run.llm(client.responses.create, model="gpt-x", input="Hi")
    (row,) = steps(run.run_id)
    assert (row["finish_reason"], tokens(row)) == ("completed", USAGE)


def test_a_streamed_chat_completion(recorder: Recorder, steps: Any, url: str) -> None:
    with openai.OpenAI(base_url=url, api_key="k") as client, recorder.run() as run:
        stream: Any = run.llm(client.chat.completions.create, stream=True, **ASKED)
        assert isinstance(stream, openai.Stream)
        assert stream.response.status_code == 200
        chunks = []
        for chunk in stream:
            assert steps(run.run_id)[0]["output"] is None
            chunks.append(chunk)
        first = steps(run.run_id)[0]
        early: Any = run.llm(client.chat.completions.create, stream=True, **ASKED)
        with early:
            next(early)
    assert all(type(chunk) is ChatCompletionChunk for chunk in chunks)
    assert first["got"] == Streamed(chunks)
    assert (first["finish_reason"], tokens(first)) == ("stop", USAGE)
    assert steps(run.run_id)[1]["got"] == Streamed(chunks[:1], "closed")


def test_an_answer_that_the_client_itself_tries_again_for_is_one_step(
    recorder: Recorder, steps: Any, url: str, provider: Any
) -> None:
    provider.failures = [500]
    with openai.OpenAI(base_url=url, api_key="k") as client, recorder.run() as run:
        run.llm(client.chat.completions.create, **ASKED)
    assert provider.failures == []
    assert [row["finish_reason"] for row in steps(run.run_id)] == ["stop"]


def test_an_error_of_the_provider_is_recorded_and_raised(
    recorder: Recorder, steps: Any, url: str, provider: Any
) -> None:
    provider.failures = [400, 400]
    run = recorder.start()
    with openai.OpenAI(base_url=url, api_key="k") as client, pytest.raises(openai.BadRequestError):
        run.llm(client.chat.completions.create, **ASKED)
    with anthropic.Anthropic(base_url=url, api_key="k") as claude, pytest.raises(anthropic.BadRequestError):
        run.llm(claude.messages.stream, **ASKED_CLAUDE).__enter__()
    errors = [row["error"] for row in steps(run.run_id)]
    assert [error["type"] for error in errors] == ["openai.BadRequestError", "anthropic.BadRequestError"]
    assert "overloaded" in errors[0]["message"]


def test_a_message_of_anthropic(recorder: Recorder, steps: Any, url: str) -> None:
    with anthropic.Anthropic(base_url=url, api_key="k") as client, recorder.run() as run:
        reply = run.llm(client.messages.create, **ASKED_CLAUDE)
    (row,) = steps(run.run_id)
    assert type(row["got"]) is Message
    assert row["got"] == reply
    assert (row["name"], row["finish_reason"], tokens(row)) == ("claude-x", "end_turn", (109, 2))


def test_a_message_stream_is_recorded_whichever_way_it_is_read(
    recorder: Recorder, steps: Any, url: str
) -> None:
    with anthropic.Anthropic(base_url=url, api_key="k") as client, recorder.run() as run:
        with run.llm(client.messages.stream, **ASKED_CLAUDE) as stream:
            assert "".join(stream.text_stream) == "Hello"
            assert steps(run.run_id)[0]["output"] is not None
        with run.llm(client.messages.stream, **ASKED_CLAUDE) as stream:
            assert stream.get_final_message().content[0].text == "Hello"  # type: ignore[union-attr]  # it is text
        with run.llm(client.messages.stream, **ASKED_CLAUDE) as stream:
            assert [event.type for event in stream][-1] == "message_stop"
        with run.llm(client.messages.stream, **ASKED_CLAUDE) as stream:
            next(stream)
    *whole, early = steps(run.run_id)
    kinds = [event["type"] for event in message_events()]
    for row in whole:
        assert [chunk.type for chunk in row["got"].chunks] == kinds
        assert row["got"].ended == "done"
        assert (row["finish_reason"], tokens(row)) == ("end_turn", USAGE)
    assert (len(early["got"].chunks), early["got"].ended) == (1, "closed")


def test_the_async_clients_are_recorded_alike(recorder: Recorder, steps: Any, url: str) -> None:
    async def main() -> UUID:
        async with (
            openai.AsyncOpenAI(base_url=url, api_key="k") as gpt,
            anthropic.AsyncAnthropic(base_url=url, api_key="k") as claude,
            recorder.run() as run,
        ):
            await run.llm(gpt.chat.completions.create, **ASKED)
            stream: Any = await run.llm(gpt.chat.completions.create, stream=True, **ASKED)
            assert isinstance(stream, openai.AsyncStream)
            assert len([chunk async for chunk in stream]) == 4
            early: Any = await run.llm(gpt.chat.completions.create, stream=True, **ASKED)
            async with early:
                await anext(aiter(early))
            await run.llm(claude.messages.create, **ASKED_CLAUDE)
            async with run.llm(claude.messages.stream, **ASKED_CLAUDE) as events:
                assert "".join([text async for text in events.text_stream]) == "Hello"
        return run.run_id

    chat, stream, early, message, events = steps(asyncio.run(main()))
    assert type(chat["got"]) is ChatCompletion
    assert (len(stream["got"].chunks), stream["got"].ended, tokens(stream)) == (4, "done", USAGE)
    assert (len(early["got"].chunks), early["got"].ended) == (1, "closed")
    assert tokens(message) == (109, 2)
    assert (len(events["got"].chunks), events["got"].ended, events["finish_reason"]) == (
        7,
        "done",
        "end_turn",
    )
