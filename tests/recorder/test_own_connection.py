"""A step with the agent's own connection notes what that one saw, and the agent finds it as it left it."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus

from stepwell import Recorder, Run, current_run
from stepwell.store.watching import watch
from tests.recorder.conftest import Look, Row
from tests.recorder.test_failures import Observer, in_threads
from tests.recorder.test_snapshots import World, snapshots

IDLE, INTRANS, INERROR = TransactionStatus.IDLE, TransactionStatus.INTRANS, TransactionStatus.INERROR


@pytest.fixture
def world(connection: Observer) -> World:
    return World(connection)


def xid_of(connection: Connection[Any]) -> str | None:
    row = connection.execute("SELECT pg_current_xact_id_if_assigned()::text").fetchone()
    assert row is not None
    found: str | None = row[0]
    return found


def owned(row: Row) -> list[object]:
    """Transaction and position of each side; and the backend."""
    return [row[name] for name in ("own_before", "position_before", "own_after", "position_after", "backend")]


def test_outside_a_transaction_it_stays_outside(
    recorder: Recorder, own: Connection[Any], steps: Look, world: World
) -> None:
    with recorder.run() as run:
        first = world.change()
        xid = run.named(connection=own).tool(world.change)
        assert own.info.transaction_status == IDLE
        last = world.change()
    (row,) = steps(run.run_id)
    assert world.saw(row, first, xid, last) == ("ynn", "yyn")
    assert owned(row) == [None, 0, None, 0, own.info.backend_pid]


def test_within_a_transaction_what_it_has_written_is_told_with_how_far_it_has_got_in_the_logs(
    recorder: Recorder, own: Connection[Any], steps: Look, connection: Observer
) -> None:
    with psycopg.connect(own.info.dsn, autocommit=True) as owner:
        watch(owner, "orders")
    places: list[int] = []

    def order(n: int) -> None:
        own.execute("INSERT INTO orders VALUES (%s)", (n,))
        connection.execute("INSERT INTO orders VALUES (%s)", (-n,))  # somebody else, further on in the log
        row = own.execute("SELECT current_setting('stepwell.written')::bigint").fetchone()
        assert row is not None
        places.append(row[0])

    with recorder.run() as run:
        mine = run.named(connection=own)
        with own.transaction():
            mine.tool(order, 1)
            mine.tool(order, 2)
            xid = xid_of(own)
            assert own.info.transaction_status == INTRANS
        mine.tool(own.commit)
    first, second = places
    assert 0 < first < second
    one, two, three = steps(run.run_id)
    pid = own.info.backend_pid
    assert owned(one) == [None, None, xid, first, pid]
    assert owned(two) == [xid, first, xid, second, pid]
    assert owned(three) == [None, 0, None, 0, pid]


def test_from_repeatable_read_on_it_is_the_snapshot_of_the_transaction(
    recorder: Recorder, own: Connection[Any], steps: Look, world: World
) -> None:
    own.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    own.execute("SELECT 1")
    later = world.change()
    with recorder.run() as run:
        run.named(connection=own).tool(len, "a")
    (row,) = steps(run.run_id)
    assert world.saw(row, later) == ("n", "n")
    assert owned(row) == [None, 0, None, 0, own.info.backend_pid]


@pytest.mark.parametrize(
    "first", ["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TRANSACTION READ ONLY"]
)
def test_a_transaction_that_had_no_query_yet_has_still_had_none(
    recorder: Recorder, own: Connection[Any], steps: Look, world: World, first: str
) -> None:
    with recorder.run() as run, own.transaction():
        run.named(connection=own).tool(own.execute, first)
        run.named(connection=own).tool(own.execute, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        seen = world.change()
        run.named(connection=own).tool(lambda: own.execute("SELECT 1").fetchall())
        unseen = world.change()
        run.named(connection=own).tool(len, "a")
    rows = steps(run.run_id)
    assert [row["error"] for row in rows] == [None] * 4
    assert [row["position_after"] for row in rows] == [None, None, 0, 0]
    assert world.saw(rows[3], seen, unseen) == ("yn", "yn")


@pytest.mark.parametrize("mode", ["SHARE", "ACCESS EXCLUSIVE"])
def test_a_transaction_that_locks_first_still_takes_its_snapshot_after_that(
    recorder: Recorder, own: Connection[Any], mode: str
) -> None:
    """For the one mode it gets a number at once, as if it had written."""
    own.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with recorder.run() as run, own.transaction():
        run.named(connection=own).tool(own.execute, f"LOCK TABLE orders IN {mode} MODE")
        with psycopg.connect(own.info.dsn, autocommit=True) as other:
            other.execute("CREATE TABLE later AS SELECT 1 AS n")
        assert run.named(connection=own).tool(lambda: own.execute("SELECT n FROM later").fetchall()) == [(1,)]


def in_autocommit(own: Connection[Any]) -> None:
    own.autocommit = True


def by_other_names(own: Connection[Any]) -> None:
    """Whatever the session looks its names up by, and how its rows come out of psycopg."""
    own.execute("CREATE SCHEMA hostile CREATE TABLE pg_class (oid text)")
    own.execute("CREATE FUNCTION hostile.concat_ws(text, numeric, bigint) RETURNS text RETURN 'no'")
    own.execute("SET search_path = hostile, pg_catalog, public")
    own.execute("SET TimeZone = 'Asia/Tokyo'; SET extra_float_digits = -5; SET DateStyle = 'SQL, DMY'")
    own.commit()
    own.row_factory = psycopg.rows.dict_row
    own.cursor_factory = psycopg.ClientCursor


@pytest.mark.parametrize("prepare", [in_autocommit, by_other_names])
def test_it_is_asked_however_it_was_set(
    recorder: Recorder, own: Connection[Any], steps: Look, prepare: Callable[[Any], None]
) -> None:
    prepare(own)
    with recorder.run() as run:
        run.named(connection=own).tool(lambda: own.execute("SELECT 1").fetchall())
    (row,) = steps(run.run_id)
    assert (row["position_before"], row["backend"]) == (0, own.info.backend_pid)


def failed(own: Connection[Any]) -> Iterator[None]:
    with pytest.raises(psycopg.errors.DivisionByZero):
        own.execute("SELECT 1/0")
    yield
    assert own.info.transaction_status == INERROR


def closed(own: Connection[Any]) -> Iterator[None]:
    own.close()
    yield


def lost(own: Connection[Any]) -> Iterator[None]:
    with psycopg.connect(own.info.dsn) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (own.info.backend_pid,))
    yield


def piped(own: Connection[Any]) -> Iterator[None]:
    with own.pipeline():
        cursor = own.execute("SELECT 7")
        yield
        assert cursor.fetchone() == (7,)


def copying(own: Connection[Any]) -> Iterator[None]:
    with own.cursor().copy("COPY orders FROM STDIN") as copy:
        copy.write_row((1,))
        yield
        copy.write_row((2,))
    assert own.execute("SELECT count(*) FROM orders").fetchone() == (2,)


def streaming(own: Connection[Any]) -> Iterator[None]:
    rows = own.cursor().stream("SELECT generate_series(1, 3)")
    assert next(rows) == (1,)
    yield
    assert list(rows) == [(2,), (3,)]


def about_to_be_used(own: Connection[Any]) -> Iterator[None]:
    with own.lock:
        yield


def used_elsewhere(own: Connection[Any]) -> Iterator[None]:
    other = threading.Thread(target=own.execute, args=("SELECT pg_sleep(0.3)",))
    other.start()
    while own.info.transaction_status == IDLE:
        pass
    yield
    other.join()
    assert own.info.transaction_status == INTRANS


@pytest.mark.parametrize(
    "trouble", [failed, closed, lost, piped, copying, streaming, about_to_be_used, used_elsewhere]
)
def test_where_it_cannot_be_asked_the_recorders_snapshot_stands_and_nothing_breaks(
    recorder: Recorder, own: Connection[Any], steps: Look, trouble: Callable[[Any], Iterator[None]]
) -> None:
    with recorder.run() as run:
        for _ in trouble(own):
            run.named(connection=own).tool(len, "a")
    (row,) = steps(run.run_id)
    assert None not in snapshots(row)
    assert owned(row) == [None] * 5


def test_a_call_that_breaks_the_transaction_has_its_own_snapshot_before_it_only(
    recorder: Recorder, own: Connection[Any], steps: Look
) -> None:
    own.execute("INSERT INTO orders VALUES (1)")
    xid = xid_of(own)
    with recorder.run() as run, pytest.raises(psycopg.errors.UniqueViolation):
        run.named(connection=own).tool(own.execute, "INSERT INTO orders VALUES (1)")
    (row,) = steps(run.run_id)
    assert owned(row) == [xid, 0, None, None, own.info.backend_pid]
    assert row["snapshot_after"] is not None


def test_every_way_to_take_a_step_takes_the_connection(
    recorder: Recorder, own: Connection[Any], steps: Look
) -> None:
    def nested() -> int:
        run = current_run()
        assert run is not None
        return run.tool(len, "ab")

    with recorder.run() as run:
        mine = run.named(connection=own)
        mine.llm(len, "a")
        mine.agent("b").named("c").tool(len, "a")
        with run.step("tool_call", "block", connection=own):
            pass
        mine.tool(nested)
        assert list(mine.llm(iter_of, 2)) == [0, 1]
        mine.state({"a": 1})
        run.tool(len, "a")
    pids = [row["backend"] for row in steps(run.run_id)]
    assert pids == [own.info.backend_pid] * 6 + [None] * 2


def iter_of(count: int) -> Iterator[int]:
    yield from range(count)


def test_a_long_prompt_and_a_batch_take_it_too(recorder: Recorder, schema_dsn: str, steps: Look) -> None:
    words = "x" * 20_000
    barrier = threading.Barrier(6)

    def work(run: Run) -> None:
        with psycopg.connect(schema_dsn) as own:
            mine = run.agent(str(own.info.backend_pid)).named(connection=own)
            messages = [{"role": "user", "content": words}]
            for n in range(5):
                barrier.wait()
                messages.append({"role": "user", "content": str(n)})
                mine.llm(lambda messages: len(messages), messages=messages)

    with recorder.run() as run:
        assert in_threads(*[lambda: work(run)] * 6) == [None] * 6
    rows = steps(run.run_id)
    assert len(rows) == 30
    assert any(row["input_base"] for row in rows)
    assert [str(row["backend"]) for row in rows] == [row["agent"] for row in rows]
    assert {(row["position_before"], row["position_after"]) for row in rows} == {(0, 0)}


def test_tasks_have_asynchronous_connections_or_others(
    recorder: Recorder, own: Connection[Any], steps: Look, schema_dsn: str
) -> None:
    async def work(run: Run) -> tuple[int, str]:
        async with await AsyncConnection.connect(schema_dsn) as theirs:

            async def order(n: int) -> None:
                await theirs.execute("INSERT INTO orders VALUES (%s)", (n,))

            await run.named(connection=theirs).tool(order, 1)
            async with run.step("tool_call", "block", connection=theirs):
                await order(2)
            found = await (await theirs.execute("SELECT pg_current_xact_id()::text")).fetchone()
            assert found is not None
            await theirs.commit()
            await run.named(connection=theirs).tool(order, 3)
            await theirs.rollback()
            async with run.step("tool_call", "block", connection=own):
                pass
            run.named(connection=theirs).tool(len, "a")  # not awaited, so it cannot be asked
            async with theirs.lock:
                await run.named(connection=theirs).tool(asyncio.sleep, 0)
            return theirs.info.backend_pid, str(found[0])

    with recorder.run() as run:
        pid, xid = asyncio.run(work(run))
    one, two, three, four, five, six = steps(run.run_id)
    assert owned(one) == [None, 0, xid, 0, pid]
    assert owned(two) == [xid, 0, xid, 0, pid]
    assert owned(three)[:2] == [None, 0]
    assert owned(four) == [None, 0, None, 0, own.info.backend_pid]
    assert owned(five) == owned(six) == [None] * 5
