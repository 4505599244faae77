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

ARGUMENT = "broken lamp, order 8841; " * 40
RESULT = [{"id": 8000 + n, "item": "lamp", "status": "ok", "note": "delivered in time"} for n in range(50)]

INSERT = (
    "INSERT INTO agent_steps (run_id, step_number, step_type, input, output)"
    " VALUES (%s, %s, 'tool_call', %s::jsonb, %s::jsonb)"
)
UPDATE = "UPDATE agent_steps SET output = %s::jsonb WHERE run_id = %s AND step_number = %s"

ONE = "loop of INSERT + COMMIT"
ONE_AUTO = "the same in autocommit"
TWO = "loop of INSERT + COMMIT, UPDATE + COMMIT"


def search_orders(text: str) -> list[dict[str, object]]:
    """The tool that is called: it gives its result at once, so that only recording is timed."""
    return RESULT if text else []


async def search_orders_async(text: str) -> list[dict[str, object]]:
    return RESULT if text else []


class Loop:
    """An agent's own loop over one connection: a row and a commit for each step."""

    def __init__(self, dsn: str, *, autocommit: bool = False) -> None:
        self.connection = psycopg.connect(dsn, autocommit=autocommit)
        self.run_id, self.numbers = uuid4(), count(1)

    def insert(self) -> None:
        number = next(self.numbers)
        self.connection.execute(INSERT, [self.run_id, number, _given(number), json.dumps(RESULT)])
        self.connection.commit()

    def insert_then_update(self) -> None:
        number = next(self.numbers)
        self.connection.execute(INSERT, [self.run_id, number, _given(number), None])
        self.connection.commit()
        self.connection.execute(UPDATE, [json.dumps(RESULT), self.run_id, number])
        self.connection.commit()


def _given(number: int) -> str:
    return json.dumps({"text": f"{ARGUMENT}{number}"})


class Recorded:
    """The same steps, taken through a run."""

    def __init__(self, run: stepwell.Run) -> None:
        self.run, self.numbers = run, count(1)

    def step(self) -> None:
        self.run.tool(search_orders, f"{ARGUMENT}{next(self.numbers)}")

    async def step_async(self) -> None:
        await self.run.tool(search_orders_async, f"{ARGUMENT}{next(self.numbers)}")


@contextmanager
def loops(dsn: str, number: int = 1, *, autocommit: bool = False) -> Iterator[list[Loop]]:
    """So many loops, with a connection each."""
    made = [Loop(dsn, autocommit=autocommit) for _ in range(number)]
    yield made
    for loop in made:
        loop.connection.close()


def one_caller(dsn: str, *, quick: bool) -> Table:
    """(a) One step, its intent and its outcome each committed, from one caller."""
    with (
        loops(dsn) as (loop,),
        loops(dsn, autocommit=True) as (auto,),
        stepwell.Recorder(dsn) as recorder,
        recorder.run("bench") as run,
    ):
        times = in_turns(
            {
                ONE: loop.insert,
                ONE_AUTO: auto.insert,
                TWO: loop.insert_then_update,
                "recorded step": Recorded(run).step,
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
    callers, steps, rounds = (4, 3, 1) if quick else (64, 30, 7)
    with (
        loops(dsn, callers) as plain,
        loops(dsn, callers, autocommit=True) as auto,
        stepwell.Recorder(dsn) as recorder,
    ):
        recorded = [Recorded(recorder.start("bench")) for _ in range(callers)]
        actions: dict[str, Callable[[], float]] = {
            ONE: lambda: _in_threads([loop.insert for loop in plain], steps),
            ONE_AUTO: lambda: _in_threads([loop.insert for loop in auto], steps),
            TWO: lambda: _in_threads([loop.insert_then_update for loop in plain], steps),
            f"recorded step, {callers} threads": lambda: _in_threads([one.step for one in recorded], steps),
            f"recorded step, {callers} tasks": lambda: asyncio.run(_in_tasks(recorded, steps)),
        }
        rates: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(rounds + 1):
            for name, action in actions.items():
                rates[name].append(callers * steps / action())
        for one in recorded:
            one.run.finish()
    table = Table(
        f"{callers} callers recording over one connection, against {callers} loops on {callers} connections",
        ["", "connections", "steps/s", "to INSERT + COMMIT", "to it in autocommit", "to INSERT and UPDATE"],
    )
    found = {name: median(of_rounds[1:]) for name, of_rounds in rates.items()}
    for name, rate in found.items():
        connections = "1" if name.startswith("recorded") else str(callers)
        against = [ratio(rate, found[base]) for base in (ONE, ONE_AUTO, TWO)]
        table.rows.append([name, connections, f"{rate:,.0f}", *against])
    return table


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
