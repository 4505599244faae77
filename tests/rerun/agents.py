"""Small agents of every kind, each with what it does when it runs for real."""

from __future__ import annotations

import asyncio
import queue
import random
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from stepwell import Run


class ToolError(Exception):
    """What a tool of these agents raises."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


def model(messages: list[str], seed: int | None = None) -> dict[str, Any]:  # noqa: ARG001 as a model takes it
    """A model whose answers no replay could come by otherwise."""
    return {"text": f"answer {uuid.uuid4()} to {len(messages)}", "at": time.time()}


def search(query: str, limit: int = 3) -> list[str]:
    return [f"{query} {random.random()}" for _ in range(limit)]


def fail(code: int) -> None:
    raise ToolError(code, "as always")


async def fetch(name: str, seconds: float = 0.001) -> str:
    await asyncio.sleep(seconds)
    return f"{name} {uuid.uuid4()}"


def words(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"word {number} {random.random()}"


async def async_words(count: int) -> AsyncIterator[str]:
    for number in range(count):
        await asyncio.sleep(0)
        yield f"word {number} {random.random()}"


def plain(run: Run) -> str:
    """Sequential: models, tools, state, a stream, an error, chance and the clock."""
    messages = ["hello"]
    for turn in range(3):
        reply = run.llm(model, messages, seed=turn)
        messages.append(reply["text"])
        found = run.tool(search, f"{reply['text']} {random.random():.6f}", limit=turn + 1)
        messages += found
        run.state({"turn": turn, "found": found, "id": str(uuid.uuid4())})
    try:
        run.tool(fail, 7)
    except ToolError as error:
        messages.append(f"{error.code} {error.detail}")
    messages += run.tool(words, 3)
    messages.append(str(run.value("now", time.time)))
    return run.result(messages[-1])


async def tasks(run: Run) -> list[str]:
    """Several tasks at once, one of which is given up."""
    names = await asyncio.gather(*(run.tool(fetch, f"page {n}", 0.001 * (3 - n)) for n in range(3)))
    try:
        await asyncio.wait_for(run.tool(fetch, "slow", 60.0), 0.05)
    except TimeoutError:
        names.append("too slow")
    async for word in run.llm(async_words, 2):
        names.append(word)
    await run.astate({"names": names})
    return run.result(sorted(names))


def threads(run: Run) -> list[str]:
    """A pool of threads, and one by itself."""

    def work(number: int) -> str:
        found = run.tool(search, f"piece {number}")
        return str(run.llm(model, found)["text"])

    with ThreadPoolExecutor(3) as pool:
        texts = list(pool.map(work, range(6)))
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(work(6)))
    thread.start()
    thread.join()
    return run.result(texts + done)


async def swarm(run: Run) -> dict[str, str]:
    """Three agents side by side, with a state that they share."""

    async def one(name: str) -> tuple[str, str]:
        own = run.agent(name)
        page = await own.tool(fetch, f"for {name}")
        reply = own.llm(model, [page])
        await own.astate({"page": page})
        return name, reply["text"]

    answers = dict(await asyncio.gather(*(one(name) for name in "abc")))
    await run.astate({"answers": answers}, shared=True)
    return run.result(answers)


def nested(run: Run) -> str:
    """A block, a tool that calls a model, and a decorated tool within it."""

    def plan(goal: str) -> str:
        return str(run.llm(model, [goal])["text"])

    planned = run.tool(plan, "win")
    with run.step("tool_call", "look", {"for": planned}) as step:
        if not step.replayed:
            step.output = search(planned)
        inner = run.llm(model, [planned, "inner"])
    return run.result(f"{step.output} {inner['text']}")


def plan(name: str, change: str = "") -> Generator[tuple[str, Any, dict[str, Any]], Any, str]:
    """What one worker does in three turns of four steps each: which method, with which function and arguments.

    `change` is what it does otherwise in the second turn.
    """
    messages = [f"hello {name}"]
    for turn in range(3):
        now = change if turn == 1 else ""
        if now == "prompt":
            messages[0] = f"hallo {name}"
        if now.startswith("swallow"):
            kind = Exception if now == "swallow Exception" else BaseException
            try:
                yield "llm", model, {"messages": [*messages, "more"]}
            except kind:
                messages.append("swallowed")
        reply = yield "llm", model, {"messages": list(messages), "seed": turn}
        messages.append(reply["text"])
        if now == "early return":
            return messages[-1]
        first: Any = "tool", fetch, {"name": f"{reply['text']} a"}
        second: Any = "tool", fetch, {"name": f"{reply['text']} b"}
        if now == "swapped":
            first, second = second, first
        if now != "dropped":
            messages.append((yield first))
        if now == "extra":
            yield "tool", search, {"query": "extra"}
        if now == "other tool":
            second = "tool", search, {"query": "b"}
        messages.append((yield second))
        yield "state", None, {"of": name, "turn": turn, "seen": messages[-1] if now != "state" else "nothing"}
    return messages[-1]


def fetch_now(name: str) -> str:
    time.sleep(0)
    return f"{name} {uuid.uuid4()}"


class Workers:
    """Does the plan of each name, in one of these ways; `change` is what the worker `b` does otherwise."""

    WAYS = ("sync", "async", "threaded", "bare threads", "swarm")

    def __init__(self, way: str, change: str = "", seed: int = 0) -> None:
        self.way, self.change, self.names = way, change, list("abc")
        if way == "sync":
            self.names = ["b"]
        random.Random(seed).shuffle(self.names)

    def __call__(self, run: Run) -> Any:
        if self.way in ("async", "swarm"):
            return self.together(run)
        if self.way == "sync":
            return self.end(run, [self.work(run, name) for name in self.names])
        if self.way == "threaded":
            with ThreadPoolExecutor(3) as pool:
                return self.end(run, list(pool.map(partial(self.work, run), self.names)))
        return self.end(run, self.threads(run))

    def threads(self, run: Run) -> list[Any]:
        """Two of them get what there is to do from a queue, one after the other."""
        left, done = queue.SimpleQueue[str](), dict[str, str]()

        def serve() -> None:
            while not left.empty():
                name = left.get()
                done[name] = self.work(run, name)

        for name in self.names:
            left.put(name)
        threads = [threading.Thread(target=serve) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [done.get(name) for name in self.names]

    def end(self, run: Run, texts: list[Any]) -> Any:
        return run.result(dict(zip(self.names, texts, strict=True)))

    def work(self, run: Run, name: str) -> str:
        made = plan(name, self.change if name == "b" else "")
        given: Any = None
        do: Callable[[Any], Any] = made.send
        while True:
            try:
                method, fn, arguments = do(given)
            except StopIteration as stop:
                return str(stop.value)
            try:
                do = made.send
                if method == "state":
                    run.state(arguments)
                elif fn is fetch:
                    given = run.named("fetch").tool(fetch_now, **arguments)
                else:
                    given = getattr(run, method)(fn, **arguments)
            except BaseException as error:  # the plan says what becomes of it
                do, given = made.throw, error

    async def together(self, run: Run) -> Any:
        views = [run.agent(name) if self.way == "swarm" else run for name in self.names]
        return self.end(run, await asyncio.gather(*map(self.work_async, views, self.names)))

    async def work_async(self, run: Run, name: str) -> str:
        made = plan(name, self.change if name == "b" else "")
        given: Any = None
        do: Callable[[Any], Any] = made.send
        while True:
            try:
                method, fn, arguments = do(given)
            except StopIteration as stop:
                return str(stop.value)
            try:
                do = made.send
                if method == "state":
                    await run.astate(arguments)
                else:
                    given = getattr(run, method)(fn, **arguments)
                    given = await given if fn is fetch else given
            except BaseException as error:  # the plan says what becomes of it
                do, given = made.throw, error


AGENTS = {agent.__name__: agent for agent in (plain, tasks, threads, swarm, nested)}
