"""The debugger behind a real PgBouncer in transaction mode: everything works, and the next client finds nothing."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.types.json import Jsonb

from stepwell.errors import DatabaseError
from stepwell.replay import Replayer
from stepwell.replay.runs import Runs
from stepwell.store.connect import resolve
from stepwell.store.reader import Reader
from tests.pooler import pooler
from tests.store.conftest import wait_until
from tests.store.rows import add_run, add_step, run_id

RUN = run_id(1)
STEPS = 6


@pytest.fixture
def run(schema_dsn: str) -> UUID:
    add_run(schema_dsn, RUN, name="refund", status="ok", steps=STEPS, finished=STEPS)
    for number in range(1, STEPS + 1):
        add_step(schema_dsn, RUN, number, "state_update", output=Jsonb({"tries": number}))
    return RUN


@pytest.fixture
def pool_of_one(schema_dsn: str, short_folder: Path) -> Iterator[str]:
    with pooler(schema_dsn, short_folder, size=1) as conninfo:
        yield conninfo


def look_around(dsn: str, run: UUID) -> list[object]:
    """List, find, open, step, search: the states of the steps, and what the rest came to."""
    with closing(Runs(resolve(dsn))) as runs, closing(Replayer(resolve(dsn), run)) as replayer:
        seen: list[object] = [[head.name for head in runs.page(10)], runs.count(), runs.find("@last").run_id]
        seen += [len(replayer.heads()), replayer.search("tries")]
        seen += [replayer.at(number).states[None] for number in range(1, STEPS + 1)]
        seen.append(replayer.at(1).replay.isolation)
    return seen


def everything(client: psycopg.Connection) -> set[tuple[object, ...]]:
    """Whatever a client could find changed in the session that it is lent."""
    return set(
        client.execute(
            "SELECT name, setting FROM pg_settings"
            " UNION ALL SELECT 'prepared', name FROM pg_prepared_statements"
            " UNION ALL SELECT 'cursor', name FROM pg_cursors"
            " UNION ALL SELECT 'listening', pg_listening_channels()"
            " UNION ALL SELECT 'lock', locktype FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'"
        ).fetchall()
    )


def backend(client: psycopg.Connection) -> object:
    return client.execute("SELECT pg_backend_pid()").fetchone()


def test_several_debuggers_share_one_connection_and_leave_nothing_on_it(
    schema_dsn: str, pool_of_one: str, run: UUID
) -> None:
    """A second client of the pool is lent the very session that they used, and finds each setting as before."""
    alone = look_around(schema_dsn, run)
    seen: list[list[object]] = []
    threads = [threading.Thread(target=lambda: seen.append(look_around(pool_of_one, run))) for _ in range(4)]
    # Without a name of its own a client is given the last one's: PgBouncer resets no name, whoever has set it.
    with psycopg.connect(pool_of_one, autocommit=True, application_name="shop") as client:
        client.prepare_threshold = None
        before, server = everything(client), backend(client)
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert everything(client) == before
            assert backend(client) == server
        for thread in threads:
            thread.join()
        assert everything(client) == before
    assert seen == [alone] * 4
    assert alone[-1] == "SERIALIZABLE READ ONLY DEFERRABLE"


def test_what_runs_can_be_cancelled_through_it(schema_dsn: str, pool_of_one: str, run: UUID) -> None:
    with closing(Replayer(resolve(pool_of_one), run)) as replayer, psycopg.connect(schema_dsn) as other:
        replayer.at(1)
        other.execute("LOCK TABLE agent_steps")
        caught: list[str] = []
        thread = threading.Thread(target=lambda: caught.append(refused(replayer)))
        thread.start()
        wait_until(lambda: someone_waits(schema_dsn))
        replayer.cancel()
        thread.join()
        other.rollback()
        assert caught == ["cancelled"]
        assert replayer.at(2).replay.notes == ()


def refused(replayer: Replayer) -> str:
    with pytest.raises(DatabaseError) as raised:
        replayer.at(1)
    return str(raised.value)


def someone_waits(dsn: str) -> bool:
    with psycopg.connect(dsn) as connection:
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'agent_steps'::regclass"
        return connection.execute(waits).fetchone() == (1,)


def test_waiting_for_the_pool_can_be_cancelled(pool_of_one: str, run: UUID) -> None:
    with closing(Replayer(resolve(pool_of_one), run)) as replayer, psycopg.connect(pool_of_one) as other:
        replayer.at(1)
        other.execute("SELECT 1")
        threading.Timer(0.2, replayer.cancel).start()
        assert refused(replayer) == "cancelled"
        other.rollback()
        assert replayer.at(2).states == {None: {"tries": 2}}


@pytest.mark.parametrize("size", [2, 1])
def test_whom_a_move_waits_for_is_named_by_the_servers_own_number_or_not_at_all(
    schema_dsn: str, short_folder: Path, run: UUID, size: int
) -> None:
    """The number that a pooler tells its clients is made up; over a pool of one, nobody can look."""
    with (
        pooler(schema_dsn, short_folder, size=size) as pooled,
        closing(Replayer(resolve(pooled), run)) as replayer,
        psycopg.connect(schema_dsn, application_name="shop") as writer,
    ):
        writer.isolation_level = IsolationLevel.SERIALIZABLE
        writer.execute("UPDATE agent_runs SET tags = '{}'")
        nobody = "no safe snapshot in 1000 ms"
        told = f"{nobody} behind shop (pid {writer.info.backend_pid})" if size > 1 else nobody
        seen: list[str] = []

        def is_told() -> bool:
            seen.extend(replayer.at(1).replay.notes)
            return seen[-1] == told

        wait_until(is_told)  # whoever has no time to look within the wait names nobody
        assert set(seen) <= {told, nobody}
        writer.rollback()
        assert replayer.at(1).replay.notes == ()


def test_a_pool_that_ends_every_transaction_is_told_with_the_remedy(
    schema_dsn: str, short_folder: Path
) -> None:
    with (
        pooler(schema_dsn, short_folder, mode="statement") as pooled,
        closing(Reader(resolve(pooled))) as reader,
        pytest.raises(DatabaseError, match="connect to a pool in transaction mode"),
    ):
        reader.read(lambda c: c.execute("SELECT 1"))


@pytest.mark.long
def test_a_pool_that_is_never_free_is_told(schema_dsn: str, short_folder: Path) -> None:
    with (
        pooler(schema_dsn, short_folder, size=1, query_wait_timeout=1) as pooled,
        closing(Reader(resolve(pooled))) as reader,
        psycopg.connect(pooled) as other,
    ):
        other.execute("SELECT 1")
        with pytest.raises(DatabaseError, match="the pooler has no connection to the server free"):
            reader.read(lambda c: c.execute("SELECT 1"))


def test_a_pooler_that_is_restarted_is_found_again(schema_dsn: str, short_folder: Path, run: UUID) -> None:
    with pooler(schema_dsn, short_folder) as pooled:
        replayer = Replayer(resolve(pooled), run)
        replayer.at(1)
    with closing(replayer):
        assert refused(replayer).startswith("cannot connect to ")
