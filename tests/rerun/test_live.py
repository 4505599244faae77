"""Where a recording has no answer an agent goes on for real, in a branch."""

from __future__ import annotations

import asyncio
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.core.rerun import Leave, Report
from stepwell.replay.recorded import load
from stepwell.rerun.database import Database
from stepwell.rerun.executing import Instead
from stepwell.rerun.leaving import Live
from stepwell.rerun.playing import Terms, play
from stepwell.store.connect import resolve
from tests.e2e.terminal import wait_until
from tests.rerun.agents import fetch, model, search

Record = Callable[[Any], RecordedRun]
GoOn = Callable[[RecordedRun, Any], Report]


@pytest.fixture
def schema_dsn(runs_dsn: str) -> str:
    """A branch is where its run is."""
    return runs_dsn


@pytest.fixture
def leaves() -> list[Leave]:
    return []


@pytest.fixture
def live(schema_dsn: str, leaves: list[Leave]) -> Live:
    def allow(leave: Leave) -> bool:
        leaves.append(leave)
        return True

    return Live(resolve(schema_dsn), allow)


@pytest.fixture
def go_on(live: Live) -> GoOn:
    return lambda recorded, agent: play(recorded, agent, terms=Terms(Instead({"pure"}), live=live))


def agent_of(query: str, more: int = 2) -> Callable[[Run], list[str]]:
    def agent(run: Run) -> list[str]:
        found = list(run.tool(search, "first"))
        found += run.tool(search, query)
        for turn in range(more):
            found.append(run.llm(model, found)["text"])
            run.state({"turn": turn, "found": found})
        return run.result(found)

    return agent


def test_what_was_answered_and_what_came_of_it_are_one_run(
    record: Record, go_on: GoOn, leaves: list[Leave], schema_dsn: str
) -> None:
    recorded = record(agent_of("second"))
    report = go_on(recorded, agent_of("other"))
    assert report.divergence is None
    assert report.branch is not None
    (leave,) = leaves
    assert leave == Leave(2, (("model", 2), ("search", 1)))
    assert play(recorded, agent_of("other")).leave == leave
    branch = load(resolve(schema_dsn), report.branch)
    assert [step.number for step in branch.steps] == [1, 2, 3, 4, 5, 6]
    assert branch.steps[0].payload.output == recorded.steps[0].payload.output
    assert branch.steps[1].payload.output != recorded.steps[1].payload.output
    assert (branch.head.status, branch.head.parent, branch.head.forked_at) == ("ok", recorded.head.run_id, 2)
    again = play(branch, agent_of("other"))
    assert (again.divergence, again.served) == (None, 6)
    assert play(branch, agent_of("second")).divergence is not None


def test_an_agent_that_has_more_to_do_goes_on_at_the_end(
    record: Record, go_on: GoOn, schema_dsn: str
) -> None:
    recorded = record(agent_of("second", more=1))
    report = go_on(recorded, agent_of("second", more=3))
    branch = load(resolve(schema_dsn), str(report.branch))
    assert len(branch.steps) == 8
    assert play(branch, agent_of("second", more=3)).divergence is None


def test_nothing_is_called_without_leave(record: Record, schema_dsn: str) -> None:
    called: list[str] = []

    def agent(run: Run) -> None:
        run.tool(called.append, query)

    query = "a"
    recorded = record(agent)
    query, called[:] = "b", []
    report = play(recorded, agent, terms=Terms(live=Live(resolve(schema_dsn), lambda _: False)))
    assert (report.branch, called) == (None, [])
    assert report.divergence is not None


def test_time_goes_by_for_real_from_there_on(record: Record, go_on: GoOn) -> None:
    times: list[float] = []

    def agent(run: Run) -> None:
        run.tool(search, "first")
        times.append(time.time())
        run.tool(search, query)
        times.append(time.time())

    query = "a"
    recorded = record(agent)
    query, times[:] = "b", []
    began = time.time()
    go_on(recorded, agent)
    assert times[0] < began <= times[1] <= time.time()


def test_what_raises_there_ends_the_branch_as_failed(record: Record, go_on: GoOn, schema_dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(search, query)
        if query == "b":
            raise ValueError("of the new code")

    query = "a"
    recorded = record(agent)
    query = "b"
    report = go_on(recorded, agent)
    assert report.stopped == "ValueError: of the new code"
    head = load(resolve(schema_dsn), str(report.branch)).head
    assert (head.status, head.error) == ("failed", "ValueError: of the new code")


def test_tasks_go_on_too(record: Record, go_on: GoOn, schema_dsn: str) -> None:
    async def agent(run: Run) -> list[str]:
        names = await asyncio.gather(*(run.tool(fetch, name) for name in names_of))
        names.append(await run.tool(fetch, last))
        await run.astate({"names": names})
        return run.result(names)

    names_of, last = "abc", "d"
    recorded = record(agent)
    last = "e"
    report = go_on(recorded, agent)
    branch = load(resolve(schema_dsn), str(report.branch))
    assert [step.number for step in branch.steps] == [1, 2, 3, 4, 5]
    assert branch.head.forked_at == 4
    assert play(branch, agent).divergence is None


def test_a_block_that_is_open_ends_in_the_branch(record: Record, go_on: GoOn, schema_dsn: str) -> None:
    def agent(run: Run) -> None:
        with run.step("tool_call", "outer", "given") as step:
            found = run.tool(search, query)
            if not step.replayed or query == "b":
                step.output = found

    query = "a"
    recorded = record(agent)
    query = "b"
    report = go_on(recorded, agent)
    branch = load(resolve(schema_dsn), str(report.branch))
    outer, inner = branch.steps
    assert (inner.parent, inner.in_doubt, outer.in_doubt) == (1, False, False)
    assert outer.payload.output == inner.payload.output != recorded.steps[0].payload.output


@pytest.mark.parametrize("kept", [True, False])
def test_the_tables_of_then_are_let_go_and_a_connection_is_the_agents_own(
    record: Record, schema_dsn: str, kept: bool, leaves: list[Leave], live: Live
) -> None:
    given: list[object] = []

    def transactions(query: str) -> list[Any]:
        """Those that are left; one that has been ended is gone a moment later."""
        with psycopg.connect(schema_dsn, autocommit=True) as own:
            given.append(run_of[0].named(connection=own).connection is own)
            wait_until(lambda: not own.execute(query).fetchall(), "a transaction is still open")
            return own.execute(query).fetchall()

    def agent(run: Run) -> None:
        run_of[:] = [run]
        if later:
            own = run.connection
            own.execute("SELECT 1")
        run.tool(transactions, query)
        if later:
            (own if kept else run.connection).execute("SELECT 1")

    open_ones = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL"
        " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    run_of: list[Run] = []
    later, query = False, "SELECT 1 WHERE false"
    recorded = record(agent)
    later, query = True, open_ones
    target, database = resolve(schema_dsn), Database(resolve(schema_dsn))
    report = play(recorded, agent, terms=Terms(live=live, database=database))
    assert "UsageError: run.connection ended where the agent went on for real" in str(report.stopped)
    assert leaves == [play(recorded, agent, terms=Terms(database=database)).leave]
    assert leaves[0].connection
    (step,) = load(target, str(report.branch)).steps
    assert (step.payload.output, given) == ("[]", [True, True])


def test_a_run_with_a_connection_warns_of_its_end_before_the_agent_has_asked_for_it(
    record: Record, go_on: GoOn, leaves: list[Leave], schema_dsn: str
) -> None:
    def agent(run: Run) -> None:
        with psycopg.connect(schema_dsn) as own:
            run.named(connection=own).tool(search, query)

    query = "a"
    recorded = record(agent)
    query = "b"
    go_on(recorded, agent)
    assert leaves[0].connection


def test_a_pure_tool_that_goes_on_for_real_inside_need_not_give_the_same(record: Record, go_on: GoOn) -> None:
    def agent(run: Run) -> Any:
        def pure() -> Any:
            return run.tool(search, query)

        return run.tool(pure)

    query = "a"
    recorded = record(agent)
    query = "b"
    assert go_on(recorded, agent).divergence is None


def test_an_agent_that_cannot_go_on_stays_guarded(record: Record, schema_dsn: str) -> None:
    refused: list[OSError] = []

    def agent(run: Run) -> None:
        try:
            run.tool(search, query)
        except BaseException:  # as no agent should
            with pytest.raises(PermissionError) as caught:
                socket.create_connection(("127.0.0.1", 9))
            refused.append(caught.value)
            raise

    query = "a"
    recorded = record(agent)
    query = "b"
    nowhere = resolve(psycopg.conninfo.make_conninfo(schema_dsn, dbname="nowhere"))
    report = play(recorded, agent, terms=Terms(live=Live(nowhere, lambda _: True)))
    assert "it cannot go on for real: " in str(report.refused)
    assert len(refused) == 1


def test_a_branch_has_an_id_that_no_agent_has_drawn(record: Record, go_on: GoOn) -> None:
    def agent(run: Run) -> None:
        run.tool(search, query)
        drawn.append(str(uuid.uuid4()))

    drawn: list[str] = []
    query = "a"
    recorded = record(agent)
    query = "b"
    assert go_on(recorded, agent).branch not in drawn


def test_a_branch_draws_what_was_drawn_before_it_went_on(
    record: Record, go_on: GoOn, schema_dsn: str
) -> None:
    def agent(run: Run) -> object:
        first = uuid.uuid4()
        run.tool(search, "first")
        second, kept = uuid.uuid4(), uuid.uuid4()
        run.tool(search, f"{query} {second}")
        run.tool(search, f"{first} {uuid.uuid4()}")
        return run.result([first, kept, uuid.uuid4()])

    query = "a"
    recorded = record(agent)
    query = "b"
    report = go_on(recorded, agent)
    again = play(load(resolve(schema_dsn), str(report.branch)), agent)
    assert (again.divergence, again.served, again.notes) == (None, 3, ())


def test_what_the_run_had_come_to_before_is_its_result(record: Record, go_on: GoOn, schema_dsn: str) -> None:
    def agent(run: Run) -> None:
        run.result("as it is")
        run.tool(search, query)

    query = "a"
    recorded = record(agent)
    query = "b"
    assert load(resolve(schema_dsn), str(go_on(recorded, agent).branch)).result == '"as it is"'
