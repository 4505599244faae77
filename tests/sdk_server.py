"""A server that speaks the protocols of two providers of models, for the clients that agents really use."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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


def response_events() -> Iterator[dict[str, Any]]:
    item = {"id": "i1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": "", "annotations": []}
    at = {"item_id": "i1", "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": part},
        {"type": "response.output_text.delta", **at, "delta": "Hel", "logprobs": []},
        {"type": "response.output_text.delta", **at, "delta": "lo", "logprobs": []},
        {"type": "response.output_text.done", **at, "text": "Hello", "logprobs": []},
    ]
    done = {**item, "status": "completed", "content": [{**part, "text": "Hello"}]}
    events.append({"type": "response.output_item.done", "output_index": 0, "item": done})
    events.append({"type": "response.completed", "response": {**RESPONSE, "output": [done]}})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


STREAMS = {"chat": chat_chunks, "responses": response_events, "messages": message_events}
"""By what is part of the path."""


class Handler(BaseHTTPRequestHandler):
    """Answers as both providers do; fails as often as the server is told to."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, Provider)
        server.requests += 1
        if server.failures:
            self.answer(server.failures.pop(0), b'{"error": {"message": "overloaded"}}', "application/json")
        elif asked.get("stream"):
            events = next(make for part, make in STREAMS.items() if part in self.path)()
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


ASKED: Any = {"model": "gpt-x", "messages": [{"role": "user", "content": "Hi"}]}
ASKED_CLAUDE: Any = {**ASKED, "model": "claude-x", "max_tokens": 9}


class Provider(ThreadingHTTPServer):
    """Counts what it is asked; answers the first requests with the statuses of `failures`, if any."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures: list[int] = []
        self.requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Provider]:
    """Answers as long as this lasts."""
    with Provider() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield server
        finally:
            server.shutdown()
