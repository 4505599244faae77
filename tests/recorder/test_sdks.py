"""The clients that agents really use, against a server that speaks their protocols."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import anthropic
import openai
import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from stepwell import Recorder
from stepwell.core.streamed import Streamed
from tests.sdk_server import ASKED, ASKED_CLAUDE, Provider, message_events, serving


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as server:
        yield server


@pytest.fixture
def url(provider: Provider) -> str:
    return provider.url


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
