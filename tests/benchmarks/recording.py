"""What recording costs: against loops that insert and commit the same payload by themselves."""

import json
import threading
import time
from collections.abc import Callable
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


def search_orders(text: str) -> list[dict[str, object]]:
    """The tool that is called: it gives its result at once, so that only recording is timed."""
    return RESULT if text else []


class Loop:
    """An agent's own loop over one connection: a row and a commit for each step."""

    def __init__(self, dsn: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.run_id, self.number = uuid4(), 0
        self.input = json.dumps({"text": ARGUMENT})

    def insert(self) -> None:
        self.number += 1
        self.connection.execute(INSERT, [self.run_id, self.number, self.input, json.dumps(RESULT)])

    def insert_then_update(self) -> None:
        self.number += 1
        self.connection.execute(INSERT, [self.run_id, self.number, self.input, None])
        self.connection.execute(UPDATE, [json.dumps(RESULT), self.run_id, self.number])


def one_caller(dsn: str, *, quick: bool) -> Table:
    """(a) One step, its intent and its outcome each committed, from one caller."""
    loop = Loop(dsn)
    with loop.connection, stepwell.Recorder(dsn) as recorder, recorder.run("bench") as run:
        times = in_turns(
            {
                "plain INSERT + COMMIT": loop.insert,
                "INSERT + COMMIT, UPDATE + COMMIT": loop.insert_then_update,
                "recorded step": lambda: run.tool(search_orders, ARGUMENT),
            },
            5 if quick else 1500,
        )
    table = Table(
        "One recorded step, one caller", ["", "ms a step", "against one INSERT", "against INSERT and UPDATE"]
    )
    one, two = times["plain INSERT + COMMIT"], times["INSERT + COMMIT, UPDATE + COMMIT"]
    for name, taken in times.items():
        table.rows.append([name, ms(taken), ratio(taken, one), ratio(taken, two)])
    return table


def many_callers(dsn: str, *, quick: bool) -> Table:
    """(b) Threads that record through one recorder, against as many loops with a connection each."""
    threads, steps, rounds = (4, 3, 1) if quick else (64, 30, 7)
    loops = [Loop(dsn) for _ in range(threads)]
    rates: dict[str, list[float]] = {}
    with stepwell.Recorder(dsn) as recorder:
        runs = [recorder.start("bench") for _ in range(threads)]
        actions: dict[str, list[Callable[[], object]]] = {
            "plain INSERT + COMMIT": [loop.insert for loop in loops],
            "INSERT + COMMIT, UPDATE + COMMIT": [loop.insert_then_update for loop in loops],
            "recorded step": [lambda run=run: run.tool(search_orders, ARGUMENT) for run in runs],  # type: ignore[misc]  # a default binds the loop's variable
        }
        for round_ in range(rounds + 1):
            for name, of_threads in actions.items():
                seconds = _together(of_threads, steps)
                if round_:
                    rates.setdefault(name, []).append(threads * steps / seconds)
        for run in runs:
            run.finish()
    for loop in loops:
        loop.connection.close()
    table = Table(
        f"{threads} threads recording over one connection, against {threads} loops on {threads} connections",
        ["", "connections", "steps/s", "against one INSERT", "against INSERT and UPDATE"],
    )
    found = {name: median(of_rounds) for name, of_rounds in rates.items()}
    one, two = found["plain INSERT + COMMIT"], found["INSERT + COMMIT, UPDATE + COMMIT"]
    for name, rate in found.items():
        connections = "1" if name == "recorded step" else str(threads)
        table.rows.append([name, connections, f"{rate:,.0f}", ratio(rate, one), ratio(rate, two)])
    return table


def _together(actions: list[Callable[[], object]], times: int) -> float:
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
