"""What recording costs: against loops that insert and commit the same payload by themselves."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from statistics import median
from uuid import uuid4

import psycopg

import stepwell
from tests.benchmarks.harness import Table, in_turns, ms, ratio

ITEMS = [{"id": 8000 + n, "item": "lamp", "status": "ok", "note": "delivered in time"} for n in range(50)]

INSERT = (
    "INSERT INTO agent_steps (run_id, step_number, step_type, input, output)"
    " VALUES (%s, %s, 'tool_call', %s::jsonb, %s::jsonb)"
)
UPDATE = "UPDATE agent_steps SET output = %s::jsonb WHERE run_id = %s AND step_number = %s"

ONE = "loop of INSERT + COMMIT"
ONE_AUTO = "the same in autocommit"
TWO = "loop of INSERT + COMMIT, UPDATE + COMMIT"


class Payload:
    """What is given to the tool that is called and what it gives; at once, so that only recording is timed."""

    def __init__(self, words: int, items: int) -> None:
        self._text, self.result = "broken lamp, order 8841; " * words, ITEMS[:items]
        self.size = len(self.given(0)) + len(json.dumps(self.result))
        """Bytes of JSON."""

    def text(self, number: int) -> str:
        return f"{self._text}{number}"

    def given(self, number: int) -> str:
        return json.dumps({"text": self.text(number)})

    def search_orders(self, text: str) -> list[dict[str, object]]:
        return self.result if text else []

    async def search_orders_async(self, text: str) -> list[dict[str, object]]:
        return self.result if text else []


LARGE = Payload(40, 50)
PAYLOADS = (Payload(0, 1), Payload(16, 14), LARGE)


class Loop:
    """An agent's own loop over one connection: a row and a commit for each step."""

    def __init__(self, dsn: str, payload: Payload, *, autocommit: bool = False) -> None:
        self.connection = psycopg.connect(dsn, autocommit=autocommit)
        self.payload, self.run_id, self.numbers = payload, uuid4(), count(1)

    def insert(self) -> None:
        number = next(self.numbers)
        row = [self.run_id, number, self.payload.given(number), json.dumps(self.payload.result)]
        self.connection.execute(INSERT, row)
        self.connection.commit()

    def insert_then_update(self) -> None:
        number = next(self.numbers)
        self.connection.execute(INSERT, [self.run_id, number, self.payload.given(number), None])
        self.connection.commit()
        self.connection.execute(UPDATE, [json.dumps(self.payload.result), self.run_id, number])
        self.connection.commit()


class Recorded:
    """The same steps, taken through a run."""

    def __init__(self, run: stepwell.Run, payload: Payload) -> None:
        self.run, self.payload, self.numbers = run, payload, count(1)

    def step(self) -> None:
        self.run.tool(self.payload.search_orders, self.payload.text(next(self.numbers)))

    async def step_async(self) -> None:
        await self.run.tool(self.payload.search_orders_async, self.payload.text(next(self.numbers)))


@contextmanager
def loops(dsn: str, payload: Payload, number: int = 1, *, autocommit: bool = False) -> Iterator[list[Loop]]:
    """So many loops, with a connection each."""
    made = [Loop(dsn, payload, autocommit=autocommit) for _ in range(number)]
    yield made
    for loop in made:
        loop.connection.close()


def one_caller(dsn: str, *, quick: bool) -> Table:
    """(a) One step, its intent and its outcome each committed, from one caller."""
    with (
        loops(dsn, LARGE) as (loop,),
        loops(dsn, LARGE, autocommit=True) as (auto,),
        stepwell.Recorder(dsn) as recorder,
        recorder.run("bench") as run,
        stepwell.Recorder(dsn, durability="sync") as flushing,
        flushing.run("bench") as flushed,
    ):
        times = in_turns(
            {
                ONE: loop.insert,
                ONE_AUTO: auto.insert,
                TWO: loop.insert_then_update,
                "recorded step": Recorded(run, LARGE).step,
                'recorded step, durability="sync"': Recorded(flushed, LARGE).step,
            },
            5 if quick else 1500,
        )
    table = Table(
        "One recorded step, one caller",
        ["", "ms a step", "against INSERT + COMMIT", "against it in autocommit", "against INSERT and UPDATE"],
    )
    for name, taken in times.items():
        table.rows.append([name, ms(taken), *(ratio(taken, times[base]) for base in (ONE, ONE_AUTO, TWO))])
    return table


def many_callers(dsn: str, *, quick: bool) -> Table:
    """(b) Threads and tasks that record through one recorder, against as many loops with a connection each."""
    callers = 4 if quick else 64
    table = Table(
        f"{callers} callers recording over one connection, against {callers} loops on {callers} connections",
        ["a step of", "", "steps/s", "to INSERT + COMMIT", "to it in autocommit", "to INSERT and UPDATE"],
    )
    for payload in PAYLOADS:
        rates = _rates(dsn, payload, callers, quick=quick)
        for name, rate in rates.items():
            against = [ratio(rate, rates[base]) for base in (ONE, ONE_AUTO, TWO)]
            table.rows.append([f"{payload.size / 1000:.1f} KB", name, f"{rate:,.0f}", *against])
    return table


def _rates(dsn: str, payload: Payload, callers: int, *, quick: bool) -> dict[str, float]:
    """Steps a second in each way."""
    steps, rounds = (3, 1) if quick else (30, 7)
    with (
        loops(dsn, payload, callers) as plain,
        loops(dsn, payload, callers, autocommit=True) as auto,
        stepwell.Recorder(dsn) as recorder,
    ):
        recorded = [Recorded(recorder.start("bench"), payload) for _ in range(callers)]
        actions: dict[str, Callable[[], float]] = {
            ONE: lambda: _in_threads([loop.insert for loop in plain], steps),
            ONE_AUTO: lambda: _in_threads([loop.insert for loop in auto], steps),
            TWO: lambda: _in_threads([loop.insert_then_update for loop in plain], steps),
            "recorded, in threads": lambda: _in_threads([one.step for one in recorded], steps),
            "recorded, in tasks": lambda: asyncio.run(_in_tasks(recorded, steps)),
        }
        rates: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(rounds + 1):
            for name, action in actions.items():
                rates[name].append(callers * steps / action())
        for one in recorded:
            one.run.finish()
    return {name: median(of_rounds[1:]) for name, of_rounds in rates.items()}


def _in_threads(actions: Sequence[Callable[[], object]], times: int) -> float:
    """Seconds until each action has been done so many times, each in a thread of its own."""
    barrier = threading.Barrier(len(actions) + 1)

    def work(action: Callable[[], object]) -> None:
        barrier.wait()
        for _ in range(times):
            action()

    workers = [threading.Thread(target=work, args=[action]) for action in actions]
    for worker in workers:
        worker.start()
    barrier.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - began


async def _in_tasks(recorded: Sequence[Recorded], times: int) -> float:
    """The same in tasks of one loop."""

    async def work(one: Recorded) -> None:
        for _ in range(times):
            await one.step_async()

    began = time.perf_counter()
    await asyncio.gather(*map(work, recorded))
    return time.perf_counter() - began
