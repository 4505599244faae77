"""What the database looked like before each step's call and after it: what was committed by then is seen, no more."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell import Recorder, Run
from stepwell.cli import main
from tests.pooler import pooler
from tests.recorder.conftest import Look, Row
from tests.recorder.spools import Outage, until_in_database
from tests.recorder.test_failures import Observer, in_threads, kill_recorders


class World:
    """Somebody else, who commits things, and looks whether a snapshot has seen them."""

    def __init__(self, connection: Observer) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def change(self) -> str:
        """Commit something. Returns its xid."""
        with self._lock:
            row = self._connection.execute("SELECT pg_current_xact_id()::text AS xid").fetchone()
        assert row is not None
        return str(row["xid"])

    def sees(self, snapshot: str, xid: str) -> bool:
        asked = "SELECT pg_visible_in_snapshot(%s::text::xid8, %s::text::pg_snapshot) AS seen"
        row = self._connection.execute(asked, (xid, snapshot)).fetchone()
        assert row is not None
        return bool(row["seen"])

    def saw(self, row: Row, *xids: str) -> tuple[str, str]:
        """Which of these each side of a step has seen, a letter for each: `y` or `n`."""
        before, after = ("".join("ny"[self.sees(row[side], xid)] for xid in xids) for side in SIDES)
        return before, after


SIDES = ("snapshot_before", "snapshot_after")


def snapshots(row: Row) -> list[object]:
    return [row[side] for side in SIDES]


@pytest.fixture
def world(connection: Observer) -> World:
    return World(connection)


async def coroutine(world: World) -> str:
    return world.change()


def stream(world: World) -> Iterator[str]:
    yield world.change()


async def async_stream(world: World) -> AsyncIterator[str]:
    yield world.change()


def in_block(run: Run, world: World) -> str:
    with run.step("tool_call", "block") as step:
        step.output = world.change()
    return str(step.output)


def raising(run: Run, world: World) -> str:
    xids = []

    def fail() -> None:
        xids.append(world.change())
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run.tool(fail)
    return xids[0]


async def in_async_block(run: Run, world: World) -> str:
    async with run.step("tool_call", "block") as step:
        step.output = world.change()
    return str(step.output)


async def chunks(run: Run, world: World) -> str:
    (xid,) = [chunk async for chunk in run.llm(async_stream, world)]
    return xid


CALLS: dict[str, Any] = {
    "a call": lambda run, world: run.tool(world.change),
    "a block": in_block,
    "a call that raises": raising,
    "a stream": lambda run, world: next(iter(list(run.llm(stream, world)))),
    "a coroutine": lambda run, world: asyncio.run(run.tool(coroutine, world)),
    "an async block": lambda run, world: asyncio.run(in_async_block(run, world)),
    "an async stream": lambda run, world: asyncio.run(chunks(run, world)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_step_sees_what_was_committed_before_it_and_after_it_what_its_call_committed(
    recorder: Recorder, steps: Look, world: World, call: Any
) -> None:
    with recorder.run() as run:
        first = world.change()
        during = call(run, world)
        between = world.change()
        later = call(run, world)
        last = world.change()
    one, two = steps(run.run_id)
    assert world.saw(one, first, during, between) == ("ynn", "yyn")
    assert world.saw(two, during, between, later, last) == ("yynn", "yyyn")


def test_a_state_has_one_snapshot(recorder: Recorder, steps: Look, world: World) -> None:
    with recorder.run() as run:
        first = world.change()
        run.state({"a": 1})
        between = world.change()
        asyncio.run(run.astate({"a": 2}))
    one, two = steps(run.run_id)
    assert (world.saw(one, first, between), world.saw(two, first, between)) == (("yn", "yn"), ("yy", "yy"))


def test_steps_that_share_a_commit_see_what_each_of_them_has_to(
    recorder: Recorder, steps: Look, world: World
) -> None:
    with recorder.run() as run:

        def work(n: int) -> None:
            for _ in range(10):
                run.agent(str(n)).tool(world.change)

        assert in_threads(*[lambda n=n: work(n) for n in range(8)]) == [None] * 8
    rows = steps(run.run_id)
    assert len(rows) == 80
    for row in rows:
        assert world.saw(row, row["got"]) == ("n", "y")
    for n in range(8):
        mine = [row for row in rows if row["agent"] == str(n)]
        for earlier, later in pairwise(mine):
            assert world.saw(later, earlier["got"]) == ("y", "y")
            assert world.saw(earlier, later["got"]) == ("n", "n")


def test_a_run_is_of_a_server_and_older_than_its_steps(
    recorder: Recorder, run_row: Any, steps: Look, world: World, connection: Observer
) -> None:
    with recorder.run() as run:
        first = world.change()
        run.tool(len, "a")
    row = run_row(run.run_id)
    told = connection.execute(
        "SELECT system_identifier, timeline_id AS timeline FROM pg_control_system(), pg_control_checkpoint()"
    ).fetchone()
    assert {name: row[name] for name in ("system_identifier", "timeline")} == told
    assert not world.sees(row["snapshot"], first)
    assert world.saw(steps(run.run_id)[0], first) == ("y", "y")


def test_a_role_that_may_not_know_the_server_records_without(
    schema_dsn: str, connection: Observer, run_row: Any, steps: Look
) -> None:
    connection.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    connection.execute(
        "DO $$ BEGIN CREATE ROLE stepwell_test_recorder LOGIN; EXCEPTION WHEN duplicate_object THEN END $$"
    )
    connection.execute("GRANT SELECT, INSERT, UPDATE ON agent_steps, agent_runs TO stepwell_test_recorder")
    with Recorder(f"{schema_dsn} user=stepwell_test_recorder") as recorder, recorder.run() as run:
        run.tool(len, "a")
    row = run_row(run.run_id)
    assert (row["system_identifier"], row["timeline"]) == (None, None)
    assert row["snapshot"] is not None
    assert None not in snapshots(steps(run.run_id)[0])


def test_a_run_that_is_resumed_stays_with_the_server_that_it_began_on(
    recorder: Recorder, connection: Observer, run_row: Any
) -> None:
    with recorder.run() as run:
        pass
    begun = run_row(run.run_id)
    connection.execute("UPDATE agent_runs SET timeline = 77")
    recorder.resume(run.run_id).finish()
    resumed = run_row(run.run_id)
    assert (resumed["timeline"], resumed["snapshot"]) == (77, begun["snapshot"])
    none = "system_identifier = NULL, timeline = NULL, snapshot = NULL"
    connection.execute(f"UPDATE agent_runs SET {none}")  # as of a file, or of an older recorder
    recorder.resume(run.run_id).finish()
    again = run_row(run.run_id)
    assert {name: again[name] for name in ("system_identifier", "timeline")} == {
        name: begun[name] for name in ("system_identifier", "timeline")
    }
    assert again["snapshot"] is not None


def test_behind_a_pooler_it_is_the_same(
    schema_dsn: str, short_folder: Path, run_row: Any, steps: Look, world: World
) -> None:
    with pooler(schema_dsn, short_folder) as pooled, Recorder(pooled) as recorder, recorder.run() as run:
        first = world.change()
        run.tool(world.change)
    (row,) = steps(run.run_id)
    assert world.saw(row, first, row["got"]) == ("yn", "yy")
    assert run_row(run.run_id)["timeline"] is not None


# -- what is written later than it happened --


@pytest.mark.usefixtures("quick")
def test_steps_from_a_spool_have_none_and_those_after_it_do(
    spooling_recorder: Recorder, steps: Look, outage: Outage, run_row: Any
) -> None:
    run = spooling_recorder.start()
    run.tool(len, "a")
    with run.step("tool_call", "outer"):
        outage(True)
        run.tool(len, "ab")
        run.state({"a": 1})
    outage(False)
    until_in_database()
    run.tool(len, "abc")
    run.finish()
    rows = [[side is not None for side in snapshots(row)] for row in steps(run.run_id)]
    assert rows == [[True, True], [True, False], [False, False], [False, False], [True, True]]
    outage(True)
    other = spooling_recorder.start()
    other.tool(len, "a")
    outage(False)
    until_in_database()
    other.finish()
    assert snapshots(steps(other.run_id)[0]) == [None, None]
    assert run_row(other.run_id)["snapshot"] is not None


def test_imported_steps_have_none(schema_dsn: str, tmp_path: Path, connection: Observer) -> None:
    file = tmp_path / "chat.json"
    file.write_text('{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}')
    assert main(["import", str(file), "--dsn", schema_dsn]) == 0
    asked = (
        "SELECT count(*) AS steps, count(snapshot_before) + count(snapshot_after) AS taken FROM agent_steps"
    )
    found = connection.execute(asked).fetchone()
    assert found is not None
    assert (found["steps"] > 0, found["taken"]) == (True, 0)
    run = connection.execute("SELECT system_identifier, timeline, snapshot FROM agent_runs").fetchone()
    assert run == {"system_identifier": None, "timeline": None, "snapshot": None}


def test_an_outcome_that_is_committed_again_has_its_first_snapshot_or_none(
    recorder: Recorder, connection: Observer, steps: Look
) -> None:
    """What a server forgot is written anew; what it did not forget stays as it was."""
    with recorder.run() as run:
        run.tool(len, "a")
        first = snapshots(steps(run.run_id)[0])
        kill_recorders(connection)
        run.tool(len, "ab")  # says the outcome of the first step again
        assert snapshots(steps(run.run_id)[0]) == first
        forgotten = "UPDATE agent_steps SET {} = NULL WHERE step_number = 2"
        for column in ("output", "finished_at", "finished_order", "snapshot_after"):
            connection.execute(forgotten.format(column))
        kill_recorders(connection)
        run.tool(len, "abc")
    rows = steps(run.run_id)
    assert [row["got"] for row in rows] == [1, 2, 3]
    assert [row["snapshot_after"] is not None for row in rows] == [True, False, True]


def test_a_call_that_was_sent_twice_has_a_snapshot_of_while_its_agent_waited(
    recorder: Recorder, connection: Observer, steps: Look, world: World
) -> None:
    with recorder.run() as run:
        first = world.change()
        kill_recorders(connection)  # the intent meets a connection that is lost, and goes over another
        run.tool(world.change)
        with run.step("tool_call", "lost") as step:
            step.output = world.change()
            kill_recorders(connection)
        last = world.change()
    one, two = steps(run.run_id)
    assert world.saw(one, first, one["got"], last) == ("ynn", "yyn")
    assert world.saw(two, one["got"], two["got"], last) == ("ynn", "yyn")


def test_a_stream_that_was_dropped_has_none_after(recorder: Recorder, steps: Look, world: World) -> None:
    with recorder.run() as run:
        for _ in run.llm(stream, world):
            break
    (row,) = steps(run.run_id)
    assert [side is not None for side in snapshots(row)] == [True, False]


async def outcome(run: Run, _: str, busy: Callable[[], Awaitable[None]]) -> None:
    async with run.step("tool_call", "late"):
        await busy()


async def outcome_with_connection(run: Run, dsn: str, busy: Callable[[], Awaitable[None]]) -> None:
    """What is waited for first is the answer whether that may be asked."""
    async with await psycopg.AsyncConnection.connect(dsn) as own:
        await own.execute("SELECT pg_current_xact_id()")
        async with run.step("tool_call", "late", connection=own):
            await busy()


async def state(run: Run, _: str, busy: Callable[[], Awaitable[None]]) -> None:
    await busy()
    await run.astate({"a": 1})


@pytest.mark.parametrize(
    ("late", "taken"),
    [(outcome, [True, False]), (outcome_with_connection, [True, False]), (state, [False, False])],
)
def test_what_nobody_waited_for_has_none(
    schema_dsn: str, recorder: Recorder, steps: Look, connection: Observer, late: Any, taken: list[bool]
) -> None:
    """A task that is cancelled goes on before its outcome has been sent."""

    async def work(run: Run, others: threading.Thread) -> None:
        async def busy() -> None:
            others.start()
            while connection.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is None:
                await asyncio.sleep(0.01)
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_later(0.05, task.cancel)

        await late(run, schema_dsn, busy)

    run, other = recorder.start(), recorder.start()
    others = threading.Thread(target=other.tool, args=(len, "a"))
    with psycopg.connect(schema_dsn) as holder:
        holder.execute("SELECT FROM agent_runs WHERE run_id = %s FOR UPDATE", (other.run_id,))
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(work(run, others))
    others.join()
    run.finish()
    (row,) = steps(run.run_id)
    assert row["finished_at"] is not None
    assert [side is not None for side in snapshots(row)] == taken
    assert None not in snapshots(steps(other.run_id)[0])
