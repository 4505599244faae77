"""The transaction of a move: bounded by the server itself, gone without a trace, and honest about what it met."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from uuid import uuid4

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.conninfo import make_conninfo

from stepwell.errors import DatabaseError
from stepwell.store import transaction
from stepwell.store.connect import connect, resolve
from stepwell.store.reader import Reader
from stepwell.store.transaction import read_snapshot
from tests.conftest import Standby
from tests.store.conftest import wait_until

Read = Callable[[psycopg.Connection], object]
LIMITS = (
    "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "transaction_read_only",
    "transaction_isolation", "transaction_deferrable",
)  # fmt: skip


@contextmanager
def reading(dsn: str, **options: str) -> Iterator[Reader]:
    """A reader whose sessions begin with these settings."""
    words = " ".join(f"-c {name}={value}" for name, value in options.items())
    with closing(Reader(resolve(make_conninfo(dsn, options=words)))) as reader:
        yield reader


def pid_of(connection: psycopg.Connection) -> int:
    return connection.info.backend_pid


def shown(connection: psycopg.Connection) -> list[object]:
    rows = [connection.execute(f"SHOW {name}").fetchone() for name in LIMITS]
    return [row[0] for row in rows if row]


def settings(connection: psycopg.Connection) -> set[tuple[object, ...]]:
    rows = connection.execute(
        "SELECT name, setting FROM pg_settings UNION ALL SELECT name, statement FROM pg_prepared_statements"
    )
    return set(rows.fetchall())


def once(act: Callable[[psycopg.Connection], object]) -> tuple[Read, list[int]]:
    """A read that does something the first time only, and the backends that it was run on."""
    pids: list[int] = []

    def read(connection: psycopg.Connection) -> object:
        pids.append(pid_of(connection))
        if len(pids) == 1:
            act(connection)
        return connection.execute("SELECT 7").fetchone()

    return read, pids


def test_the_server_bounds_it_in_every_way(dsn: str) -> None:
    with reading(dsn) as reader:
        limits, _ = reader.read(shown)
    assert limits == ["30s", "1s", "10s", "on", "serializable", "on"]


def test_a_server_on_linux_looks_after_its_client(dsn: str) -> None:
    with reading(dsn) as reader:
        names = ("client_connection_check_interval", "tcp_user_timeout")
        found, _ = reader.read(lambda c: [c.execute(f"SHOW {name}").fetchone() for name in names])
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT version() LIKE '%linux%', inet_server_addr()").fetchone()
    assert row is not None
    linux, address = row
    checked = ("1s",) if linux else ("0",)
    assert found == [checked, ("20s",) if linux and address else ("0",)]


def test_narrower_limits_of_the_role_stay(dsn: str) -> None:
    """And wider ones, or none, give way."""
    narrow = {"statement_timeout": "5s", "lock_timeout": "300", "idle_in_transaction_session_timeout": "2s"}
    with reading(dsn, **narrow) as reader:
        limits, _ = reader.read(shown)
        assert limits[:3] == ["5s", "300ms", "2s"]
    with reading(dsn, **dict.fromkeys(narrow, "1h")) as reader:
        limits, _ = reader.read(shown)
        assert limits[:3] == ["30s", "1s", "10s"]


def test_nothing_is_left_on_the_connection(dsn: str) -> None:
    with reading(dsn) as reader:
        reader.read(shown)
        connection = reader._connection
        assert connection is not None
        before = settings(connection)
        for _ in range(10):
            reader.read(shown)
        with pytest.raises(DatabaseError, match="division by zero"):
            reader.read(lambda c: c.execute("SELECT 1 / 0"))
        assert settings(connection) == before
        with psycopg.connect(dsn) as fresh:
            own = {"application_name", "transaction_deferrable"}
            assert {name for name, _ in before ^ settings(fresh)} <= own
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_deadlock_is_tried_again_and_said(dsn: str) -> None:
    """Really forced: the other locks what the move reads next, and waits for what it has read."""
    with psycopg.connect(dsn) as other:
        other.execute("CREATE TABLE one (); CREATE TABLE two ()")
        other.commit()
        other.execute("LOCK TABLE two")

        def lock() -> None:
            other.execute("LOCK TABLE one")
            other.commit()

        waiter = threading.Thread(target=lock)

        def cross(connection: psycopg.Connection) -> None:
            connection.execute("SELECT FROM one")
            waiter.start()
            wait_until(lambda: is_waiting(dsn, pid_of(other)))
            connection.execute("SELECT FROM two")

        read, pids = once(cross)
        # The one that looks first for a deadlock is its victim: the move, which begins to wait last, looks soonest.
        with reading(dsn, deadlock_timeout="10ms") as reader:
            found, report = reader.read(read)
        waiter.join()
    assert found == (7,)
    assert (report.retries, report.notes) == (1, ["attempt 2: deadlock"])
    assert len(pids) == 2
    assert report.isolation.startswith("SERIALIZABLE")


def is_waiting(dsn: str, pid: int) -> bool:
    with psycopg.connect(dsn) as connection:
        return connection.execute("SELECT pg_blocking_pids(%s) <> '{}'", [pid]).fetchone() == (True,)


def test_one_that_stands_still_is_ended_by_the_server(dsn: str) -> None:
    read, pids = once(lambda _: time.sleep(0.2))
    with reading(dsn, idle_in_transaction_session_timeout="50ms") as reader:
        found, report = reader.read(read)
    assert found == (7,)
    assert report.notes == ["reconnected: stood still: idle_in_transaction_session_timeout"]
    assert len(set(pids)) == 2


def test_a_session_that_was_ended_for_idling_is_opened_again(dsn: str) -> None:
    with reading(dsn, idle_session_timeout="50ms") as reader:
        reader.read(shown)
        wait_until(lambda: not is_there(dsn, reader))
        _, report = reader.read(shown)
    assert report.notes == ["reconnected: idle for longer than idle_session_timeout"]


def is_there(dsn: str, reader: Reader) -> bool:
    assert reader._connection is not None
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT FROM pg_stat_activity WHERE pid = %s", [pid_of(reader._connection)]
        )
        return found.fetchone() is not None


def test_one_that_takes_longer_than_the_server_allows_is_not_tried_again(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        if connection.info.server_version < 170000:
            pytest.skip("transaction_timeout came with Postgres 17")
    read, pids = once(lambda c: c.execute("SELECT pg_sleep(10)"))
    with reading(dsn, transaction_timeout="100ms") as reader:
        with pytest.raises(DatabaseError, match="a move may not last longer than transaction_timeout"):
            reader.read(read)
        assert len(pids) == 1
        assert reader.read(read)[0] == (7,)


def test_a_statement_that_takes_too_long_is_told(dsn: str) -> None:
    with (
        reading(dsn, statement_timeout="50ms") as reader,
        pytest.raises(DatabaseError, match="reading took too long"),
    ):
        reader.read(lambda c: c.execute("SELECT pg_sleep(10)"))


def test_an_administrator_who_ends_it_is_named_and_the_move_made(dsn: str) -> None:
    def terminate(connection: psycopg.Connection) -> None:
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid_of(connection)])
        connection.execute("SELECT 1")

    read, pids = once(terminate)
    with reading(dsn) as reader:
        found, report = reader.read(read)
    assert (found, len(set(pids))) == ((7,), 2)
    assert report.notes == ["reconnected: an administrator or a restart ended the session"]


def test_an_administrator_who_cancels_it_is_not_taken_for_the_user(dsn: str) -> None:
    with reading(dsn) as reader:

        def sleep(connection: psycopg.Connection) -> None:
            with psycopg.connect(dsn, autocommit=True) as other:
                cancel = "SELECT pg_cancel_backend(%s)"
                threading.Timer(0.1, lambda: other.execute(cancel, [pid_of(connection)])).start()
                connection.execute("SELECT pg_sleep(10)")

        with pytest.raises(DatabaseError, match="an administrator cancelled the statement"):
            reader.read(sleep)


def test_a_wait_for_a_snapshot_can_be_cancelled(dsn: str) -> None:
    """It is not taken for the end of the waiting time, after which a weaker snapshot would do."""
    with reading(dsn) as reader, psycopg.connect(dsn) as writer:
        reader.read(shown)
        writer.isolation_level = IsolationLevel.SERIALIZABLE
        writer.execute("CREATE TABLE t ()")
        threading.Timer(0.4, reader.cancel).start()
        with pytest.raises(DatabaseError, match=r"^cancelled$"):
            reader.read(shown)
        writer.rollback()
        assert reader.read(shown)[1].notes == []


@pytest.mark.parametrize("pace", [0.5, 20])
def test_a_servers_clock_may_go_otherwise_than_ours_while_a_snapshot_is_waited_for(
    dsn: str, monkeypatch: pytest.MonkeyPatch, pace: float
) -> None:
    """A server's limits end when its wall clock says so, which may be put forward."""
    monkeypatch.setattr(transaction, "_monotonic", lambda: time.monotonic() * pace)
    with reading(dsn) as reader, psycopg.connect(dsn) as writer:
        reader.read(shown)
        writer.isolation_level = IsolationLevel.SERIALIZABLE
        writer.execute("CREATE TABLE t ()")
        assert reader.read(shown)[1].notes[0].startswith("no safe snapshot in 1000 ms")
        threading.Timer(0.4, reader.cancel).start()
        with pytest.raises(DatabaseError, match=r"^cancelled$"):
            reader.read(shown)
        writer.rollback()


def test_whoever_is_waited_for_is_not_asked_for_where_the_wait_is_over(dsn: str) -> None:
    """The look at who it is may have to wait itself, and the move does not wait for it."""
    looked, go_on = threading.Event(), threading.Event()
    ended_first: list[bool] = []

    def slow() -> psycopg.Connection:
        looked.set()
        ended_first.append(go_on.wait(30))
        return connect(resolve(dsn))

    with psycopg.connect(dsn) as writer, connect(resolve(dsn), read_only=True) as reader:
        writer.isolation_level = IsolationLevel.SERIALIZABLE
        writer.execute("CREATE TABLE t ()")

        def end() -> None:
            looked.wait(30)
            writer.rollback()

        done = threading.Thread(target=end)
        done.start()
        _, report = read_snapshot(reader, shown, standby=False, observer=slow, safe_wait_ms=4000)
        go_on.set()
        done.join()
        wait_until(lambda: ended_first != [])
    assert ended_first == [True]
    assert (report.isolation, report.notes) == ("SERIALIZABLE READ ONLY DEFERRABLE", [])


def test_a_standby_that_nobody_has_told_of_is_found_out(standby_dsn: str) -> None:
    """A pooler may lead to another server than the one that it has told the client of."""
    with connect(resolve(standby_dsn), read_only=True) as reader:
        found, report = read_snapshot(reader, shown, standby=False, observer=unasked)
    assert found[3:] == ["on", "repeatable read", "off"]
    assert (report.isolation, report.notes) == ("REPEATABLE READ READ ONLY", ["standby"])


def unasked() -> psycopg.Connection:
    raise AssertionError("nobody is waited for")


@pytest.mark.parametrize("still", [False, True], ids=["reading", "standing still"])
def test_what_a_standby_cancels_is_tried_again_and_said(standby: Standby, still: bool) -> None:
    """A vacuum on the primary removes what the move's snapshot may still see."""
    table = f"t{uuid4().hex}"
    primary, replica = (cluster.conninfo("postgres") for cluster in (standby.primary, standby.replica))
    with (
        psycopg.connect(primary, autocommit=True) as other,
        psycopg.connect(replica, autocommit=True) as admin,
    ):
        other.execute(f"CREATE TABLE {table} AS SELECT generate_series(1, 1000)")
        standby.catch_up()
        admin.execute("ALTER SYSTEM SET max_standby_streaming_delay = 0")
        admin.execute("SELECT pg_reload_conf()")

        def vacuum() -> None:
            other.execute(f"DELETE FROM {table}")
            other.execute(f"VACUUM (FREEZE) {table}")

        def be_in_the_way(connection: psycopg.Connection) -> None:
            connection.execute(f"SELECT count(*) FROM {table}")
            thread = threading.Timer(0.1, vacuum)
            thread.start()
            if still:
                thread.join()
                standby.catch_up()
            connection.execute("SELECT pg_sleep(30)")

        read, pids = once(be_in_the_way)
        with closing(Reader(resolve(replica))) as reader:
            found, report = reader.read(read)
        admin.execute("ALTER SYSTEM RESET max_standby_streaming_delay")
        admin.execute("SELECT pg_reload_conf()")
        other.execute(f"DROP TABLE {table}")
    assert (found, len(pids)) == ((7,), 2)
    assert report.isolation == "REPEATABLE READ READ ONLY"
    why = "the standby had to apply changes first"
    assert report.notes == ([f"reconnected: {why}", "standby"] if still else ["standby", f"attempt 2: {why}"])
