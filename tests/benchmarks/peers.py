"""What a step costs in a recorder, beside libraries that also keep what each step gave in Postgres.

They do other things with it: a workflow or a graph goes on where it stood. Here each runs the same tool in turn, in
runs of as many steps, on the same server; each run is begun and ended within the time.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import count
from typing import Any, TypedDict
from uuid import uuid4

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

import stepwell
from tests.benchmarks.harness import Table, in_turns, ms, ratio
from tests.benchmarks.recording import LARGE, loops

RunOf = Callable[[int], object]
"""Takes one run of so many steps."""
RECORDED = "recorded step"
DBOS = "step of a DBOS workflow"
LANGGRAPH = "node of a LangGraph graph, checkpointed"


class State(TypedDict, total=False):
    """What the graph's node puts out: the result of the last call, with how many there were."""

    left: int
    result: list[dict[str, object]]


def peers(dsn: str, *, quick: bool) -> Table:
    """(d) Runs of 30 steps, each the same call of a tool."""
    steps, rounds = (3, 1) if quick else (30, 15)
    made = {RECORDED: recorded, DBOS: dbos_workflow, LANGGRAPH: langgraph_graph}
    there = {name: make for name, make in made.items() if _is_there(name)}
    with ExitStack() as stack:
        (loop,) = stack.enter_context(loops(dsn, LARGE))
        actions: dict[str, Callable[[], object]] = {
            "loop of INSERT + COMMIT": lambda: _repeat(loop.insert, steps)
        }
        for name, make in there.items():
            take = stack.enter_context(make(dsn))
            actions[name] = lambda take=take: take(steps)  # type: ignore[misc]  # a default binds the loop's variable
        times = in_turns(actions, rounds)
    missing = [] if len(there) == len(made) else ["; the others are not installed: pip install -e '.[bench]'"]
    table = Table(f"Runs of {steps} steps{''.join(missing)}", ["", "ms a step", "against a recorded step"])
    for name, taken in times.items():
        table.rows.append([name, ms(taken / steps), ratio(taken, times[RECORDED])])
    return table


def _is_there(name: str) -> bool:
    needed = {DBOS: ["dbos"], LANGGRAPH: ["langgraph.graph", "langgraph.checkpoint.postgres"]}.get(name, [])
    return all(find_spec(module.partition(".")[0]) and find_spec(module) for module in needed)


def _repeat(action: Callable[[], object], times: int) -> None:
    for _ in range(times):
        action()


@contextmanager
def recorded(dsn: str) -> Iterator[RunOf]:
    """With `durability="sync"`: like the peers, each outcome is on disk before the agent goes on."""
    numbers = count(1)

    def take(steps: int) -> None:
        with recorder.run("bench") as run:
            for _ in range(steps):
                run.tool(LARGE.search_orders, LARGE.text(next(numbers)))

    with stepwell.Recorder(dsn, durability="sync") as recorder:
        yield take


@contextmanager
def dbos_workflow(dsn: str) -> Iterator[RunOf]:
    """Its step is committed once, with its result; the workflow's own row is written as it begins and ends."""
    dbos: Any = importlib.import_module("dbos")
    given = conninfo_to_dict(dsn)
    url = f"postgresql://{given['user']}@/bench_dbos?host={given['host']}&port={given['port']}"
    dbos.DBOS(
        config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False}
    )
    numbers = count(1)

    @dbos.DBOS.step()  # type: ignore[untyped-decorator]  # of a module that is imported by its name
    def step(text: str) -> list[dict[str, object]]:
        return LARGE.search_orders(text)

    def workflow(steps: int) -> None:
        for _ in range(steps):
            step(LARGE.text(next(numbers)))

    take: RunOf = dbos.DBOS.workflow()(workflow)
    dbos.DBOS.launch()
    try:
        yield take
    finally:
        dbos.DBOS.destroy(destroy_registry=True)


@contextmanager
def langgraph_graph(dsn: str) -> Iterator[RunOf]:
    """A node that comes again until nothing is left; `durability="sync"` has each round on disk before the next."""
    graph: Any = importlib.import_module("langgraph.graph")
    postgres: Any = importlib.import_module("langgraph.checkpoint.postgres")
    numbers = count(1)

    def node(state: State) -> State:
        return {"left": state["left"] - 1, "result": LARGE.search_orders(LARGE.text(next(numbers)))}

    def again(state: State) -> Any:
        return "node" if state["left"] else graph.END

    builder = graph.StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(graph.START, "node")
    builder.add_conditional_edges("node", again)
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=0, row_factory=dict_row) as connection:
        saver = postgres.PostgresSaver(connection)
        saver.setup()
        compiled = builder.compile(checkpointer=saver)

        def take(steps: int) -> None:
            config = {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": steps + 5}
            compiled.invoke({"left": steps}, config, durability="sync")

        yield take
