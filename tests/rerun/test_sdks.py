"""Agents on the clients that they really use: replayed, no request is sent, and the clients' own objects come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play
from tests.sdk_server import ASKED, ASKED_CLAUDE, Provider, serving

Record = Callable[[Any], RecordedRun]
Agent = Callable[[Run, str], Any]
RESPONSE: Any = {"model": "gpt-x", "input": "Hi"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as server:
        yield server


def gpt(url: str) -> Any:
    return openai.OpenAI(base_url=url, api_key="k", max_retries=0)


def claude(url: str) -> Any:
    return anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)


def created(run: Run, url: str) -> Any:
    with gpt(url) as one, claude(url) as other:
        chat = run.llm(one.chat.completions.create, seed=7, **ASKED)
        messages: Any = [*ASKED["messages"], chat.choices[0].message]
        again = run.llm(one.chat.completions.create, model="gpt-x", messages=messages)
        response = run.llm(one.responses.create, **RESPONSE)
        return [chat, again, response, run.llm(other.messages.create, **ASKED_CLAUDE)]


def streamed(run: Run, url: str) -> Any:
    with gpt(url) as one, claude(url) as other:
        stream: Any = run.llm(one.chat.completions.create, stream=True, **ASKED)
        assert isinstance(stream, openai.Stream)
        chunks = list(stream)
        with run.llm(one.responses.create, stream=True, **RESPONSE) as events:
            chunks += list(events)
        for event in run.llm(other.messages.create, stream=True, **ASKED_CLAUDE):
            chunks.append(event)
            if event.type == "content_block_delta":
                break
        with run.llm(one.chat.completions.create, stream=True, **ASKED) as early:
            chunks.append(next(early))
        assert early.response.status_code == 200
        return chunks


def managed(run: Run, url: str) -> Any:
    with gpt(url) as one, claude(url) as other:
        with run.llm(other.messages.stream, **ASKED_CLAUDE) as stream:
            found: list[Any] = list(stream.text_stream)
        with run.llm(other.messages.stream, **ASKED_CLAUDE) as stream:
            found.append(stream.get_final_message())
        with run.llm(other.messages.stream, **ASKED_CLAUDE) as stream:
            found += list(stream)
        with run.llm(other.messages.stream, **ASKED_CLAUDE) as stream:
            found.append(next(stream))
        with run.llm(one.chat.completions.stream, **ASKED) as chat:
            found += list(chat)
            found.append(chat.get_final_completion())
        with run.llm(one.responses.stream, **RESPONSE) as events:
            found += list(events)
            found.append(events.get_final_response())
        return found


async def asynchronous(run: Run, url: str) -> Any:
    async with (
        openai.AsyncOpenAI(base_url=url, api_key="k") as one,
        anthropic.AsyncAnthropic(base_url=url, api_key="k") as other,
    ):
        found: list[Any] = [
            await run.llm(one.chat.completions.create, **ASKED),
            await run.llm(one.responses.create, **RESPONSE),
            await run.llm(other.messages.create, **ASKED_CLAUDE),
        ]
        stream: Any = await run.llm(one.chat.completions.create, stream=True, **ASKED)
        assert isinstance(stream, openai.AsyncStream)
        found += [chunk async for chunk in stream]
        made: Any = await run.llm(lambda **given: one.chat.completions.create(stream=True, **given), **ASKED)
        async with made:
            found.append(await anext(aiter(made)))
        async with run.llm(other.messages.stream, **ASKED_CLAUDE) as events:
            found += [text async for text in events.text_stream]
            found.append(await events.get_final_message())
        async with run.llm(one.chat.completions.stream, **ASKED) as chat:
            found += [event async for event in chat]
        async with run.llm(one.responses.stream, **RESPONSE) as answers:
            found.append(await answers.get_final_response())
        return found


async def together(run: Run, url: str) -> Any:
    async with openai.AsyncOpenAI(base_url=url, api_key="k") as one:

        async def ask(word: str) -> Any:
            messages: Any = [{"role": "user", "content": word}]
            stream: Any = await run.llm(
                one.chat.completions.create, model="gpt-x", messages=messages, stream=True
            )
            return [chunk async for chunk in stream]

        return await asyncio.gather(*(ask(f"word {n % 2}") for n in range(6)))


AGENTS: list[Agent] = [created, streamed, managed, asynchronous, together]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_an_agent_on_the_clients_gets_their_own_objects_and_no_request_is_sent(
    agent: Agent, record: Record, provider: Provider
) -> None:
    got: list[Any] = []

    def doing(run: Run) -> Any:
        return agent(run, provider.url)

    def keeping(run: Run) -> Any:
        result = doing(run)
        if not asyncio.iscoroutine(result):
            got.append(result)
            return result

        async def wait() -> None:
            got.append(await result)

        return wait()

    recorded = record(keeping)
    sent = provider.requests
    assert sent == len(recorded.steps)
    report = play(recorded, doing)
    assert (report.divergence, report.refused, report.notes) == (None, None, ())
    assert_same(report.result, got[0])
    assert provider.requests == sent
    provider.shutdown()
    provider.server_close()
    assert_same(play(recorded, doing).result, got[0])


def assert_same(now: Any, then: Any) -> None:
    assert now == then
    assert kinds(now) == kinds(then)


def kinds(found: Any) -> Any:
    return [kinds(item) for item in found] if isinstance(found, list) else type(found)


@pytest.mark.parametrize("status", [429, 500, None])
def test_errors_of_the_clients_are_raised_again_as_they_were(
    status: int | None, record: Record, provider: Provider
) -> None:
    def agent(run: Run) -> Any:
        found: list[Any] = []
        with gpt(url) as one, claude(url) as other:
            calls: list[Callable[[], Any]] = [
                lambda: run.llm(one.chat.completions.create, **ASKED),
                lambda: run.llm(other.messages.create, **ASKED_CLAUDE),
                lambda: run.llm(other.messages.stream, **ASKED_CLAUDE).__enter__(),
            ]
            for call in calls:
                try:
                    call()
                except (openai.APIError, anthropic.APIError) as error:
                    what = (getattr(error, name, None) for name in ("status_code", "body", "message"))
                    found.append((type(error), str(error), *what))
        return run.result(found)

    url = provider.url if status else "http://127.0.0.1:1"
    provider.failures = [status] * 3 if status else []
    recorded = record(agent)
    report = play(recorded, agent)
    assert report.divergence is None
    kind = {429: "RateLimitError", 500: "InternalServerError", None: "APIConnectionError"}[status]
    assert isinstance(report.result, list)
    assert [(error[0].__name__, error[2]) for error in report.result] == [(kind, status)] * 3


def test_what_a_client_had_beside_the_answer_is_refused_and_not_made_up(
    record: Record, provider: Provider
) -> None:
    def headers(run: Run) -> None:
        with gpt(provider.url) as one:
            stream: Any = run.llm(one.chat.completions.create, stream=True, **ASKED)
            list(stream)
            stream.response.headers.get("x-request-id")

    report = play(record(headers), headers)
    assert report.refused is not None
    assert report.refused.endswith(":1: response.headers is asked for, which was not recorded")


def test_a_function_around_a_client_is_never_called_by_a_replay(record: Record, provider: Provider) -> None:
    calls = 0

    def agent(run: Run) -> str:
        def ask(**given: Any) -> Any:
            nonlocal calls
            calls += 1
            return one.messages.stream(**given)

        with claude(provider.url) as one, run.llm(ask, **ASKED_CLAUDE) as stream:
            return "".join(stream.text_stream)

    recorded = record(agent)
    report = play(recorded, agent)
    assert report.refused is not None
    assert "MessageStreamManager out of" in report.refused
    assert calls == 1


def test_another_prompt_to_a_client_is_found_in_it(record: Record, provider: Provider) -> None:
    def agent(run: Run) -> None:
        with claude(provider.url) as other, run.llm(other.messages.stream, **asked) as stream:
            stream.get_final_message()

    asked = ASKED_CLAUDE
    recorded = record(agent)
    asked = {**ASKED_CLAUDE, "messages": [{"role": "user", "content": "Ho"}]}
    found = play(recorded, agent).divergence
    assert found is not None
    assert (found.step, found.path, found.expected, found.actual) == (1, "$.messages[0].content", "Hi", "Ho")
