"""The app in a terminal does no harm either, however fast its keys are and whatever becomes of it or of the server."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.conninfo import make_conninfo

from stepwell.store import keeper
from stepwell.store.account import Account, server_account
from stepwell.store.binaries import within_reach
from stepwell.store.cluster import Cluster
from stepwell.store.migrate import migrate
from stepwell.store.queries import sql_folder
from tests.app.recorded import LOOPING, looping
from tests.e2e.conftest import STEPWELL, backends
from tests.e2e.terminal import RawTerminal, Terminal, wait_until
from tests.e2e.test_leaving import assert_restored
from tests.pooler import pooler

OURS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'stepwell' AND datname = current_database()"
BLOCKED_BY_US = f"SELECT pid FROM pg_stat_activity WHERE pg_blocking_pids(pid) && ARRAY({OURS})"
PINNED = (
    "SELECT pid, state FROM pg_stat_activity WHERE application_name = 'stepwell'"
    " AND datname = current_database() AND (state <> 'idle' OR backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)"
)


class Server:
    """A Postgres of a test's own, that may be stopped at any time."""

    def __init__(self, home: Path) -> None:
        self._account: Account = server_account()
        self._cluster = Cluster.under(home)
        self._cluster.make_folders(self._account)
        self._binaries = within_reach(home, self._account)
        self._cluster.initialise(self._binaries, self._account)
        self.dsn = self._cluster.conninfo("postgres")

    def start(self) -> None:
        options = (
            f"-c listen_addresses='' -c fsync=off -c unix_socket_directories={self._cluster.socket_folder}"
        )
        self._control("start", "-w", "-l", self._cluster.log, "-o", options)

    def stop(self, mode: str) -> None:
        self._control("stop", "-w", "-m", mode)

    def close(self) -> None:
        keeper.stop(str(self._cluster.data))

    def _control(self, *words: str | Path) -> None:
        done = self._account.run([self._binaries / "pg_ctl", "-s", "-D", self._cluster.data, *words])
        assert done.returncode == 0, done.stderr


@pytest.fixture
def own_server(terminal_folder: Path) -> Iterator[Server]:
    server = Server(terminal_folder / "own")
    server.start()
    migrate(server.dsn)
    looping(server.dsn)
    yield server
    server.close()


@contextmanager
def writing(dsn: str) -> Iterator[list[str]]:
    """A serializable writer at work on the very rows that are looked at, and what became of its transactions."""
    stop = threading.Event()
    done: list[str] = []

    def work() -> None:
        with psycopg.connect(dsn) as connection:
            connection.isolation_level = IsolationLevel.SERIALIZABLE
            while not stop.is_set():
                try:
                    with connection.transaction():
                        connection.execute("SELECT count(*) FROM agent_steps WHERE step_number < 20")
                        connection.execute("UPDATE agent_steps SET seed = 1 WHERE step_number = 7")
                    done.append("")
                except psycopg.Error as problem:
                    done.append(str(problem))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


def test_keys_held_down_make_no_writer_fail_or_wait(raw: Callable[..., RawTerminal], schema_dsn: str) -> None:
    """And what is left, once they are let go, is a session that is idle and pins nothing."""
    looping(schema_dsn)
    debugger = raw(*STEPWELL, "--dsn", schema_dsn, str(LOOPING))
    debugger.wait_for(b"1/52 2% after")
    with psycopg.connect(schema_dsn, autocommit=True) as other, writing(schema_dsn) as done:
        for key in (b"n", b"p", b"]", b"/lamp\r", b"n") * 2:
            debugger.send(key * (1 if len(key) > 1 else 20))
            for _ in range(5):
                assert other.execute(BLOCKED_BY_US).fetchall() == []
        worked = len(done)
        wait_until(lambda: len(done) > worked + 5, "the writer has stopped")
    assert set(done) == {""}
    with psycopg.connect(schema_dsn, autocommit=True) as other:
        wait_until(lambda: other.execute(PINNED).fetchall() == [], "something is pinned")
    debugger.send(b"q")
    assert debugger.wait() == 0


def test_a_process_that_is_suspended_leaves_no_transaction_standing(shell: Terminal, recorded: str) -> None:
    """Ctrl-Z in the middle of a move ends the move first."""
    shell.line('stepwell --dsn "$DSN" @failed')
    shell.wait_for("1/52 2% after")
    with psycopg.connect(recorded) as other:
        other.execute("LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
        shell.type("n")
        wait_until(lambda: any(state == "active" for _, state, _ in backends(recorded)), "no move")
        shell.type("C-z")
        shell.wait_for("Stopped")
        assert {state for _, state, _ in backends(recorded)} == {"idle"}
    shell.line("fg")
    shell.wait_for("! cancelled")
    shell.type("p", "n")
    shell.wait_for("2/52 4% after")
    shell.type("q")
    shell.wait_for_prompt()


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("immediate", b"reconnected: the server or the network broke the connection"),
        pytest.param(
            "fast", b"reconnected: an administrator or a restart ended the session", marks=pytest.mark.long
        ),
    ],
    ids=["immediate", "fast"],
)
def test_a_server_that_is_restarted_is_said_and_gone_on_with(
    raw: Callable[..., RawTerminal], own_server: Server, mode: str, why: bytes
) -> None:
    debugger = raw(*STEPWELL, "--dsn", own_server.dsn, str(LOOPING))
    debugger.wait_for(b"1/52 2% after")
    own_server.stop(mode)
    own_server.start()
    debugger.send(b"n")
    debugger.wait_for(b"2/52 4% after", why)
    own_server.stop(mode)
    debugger.send(b"n")
    debugger.wait_for(b"! cannot connect to postgres@")
    own_server.start()
    debugger.send(b"p")
    debugger.send(b"n")
    debugger.wait_for(b"3/52 6% after")
    debugger.send(b"q")
    assert debugger.wait() == 0
    assert_restored(debugger)


def test_everything_works_behind_a_pool_of_one(
    terminal: Callable[..., Terminal], recorded: str, short_folder: Path
) -> None:
    """The list, the run and a search share the one connection; Ctrl-C is heard through it."""
    with pooler(recorded, short_folder, size=1) as pooled:
        debugger = terminal(*STEPWELL, "--dsn", pooled)
        debugger.wait_for("newest first", "> !failed")
        debugger.type("Enter")
        debugger.wait_for("1/52 2% after")
        debugger.type("/", "lamp", "Enter")
        debugger.wait_for("hit")
        with psycopg.connect(recorded) as other:
            other.execute("LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
            debugger.type("G")
            wait_until(lambda: any(state == "active" for _, state, _ in backends(recorded)), "no move")
            debugger.type("C-c")
            debugger.wait_for("! cancelled")
        debugger.type("q", "q")
        debugger.wait()


def test_a_role_that_may_only_look_sees_every_screen_and_no_word_about_it(
    terminal: Callable[..., Terminal], schema_dsn: str
) -> None:
    looping(schema_dsn)
    with psycopg.connect(schema_dsn, autocommit=True) as admin:
        admin.execute((sql_folder() / "roles.sql").read_bytes())
        admin.execute("DROP ROLE IF EXISTS stepwell_test_looker")
        admin.execute("CREATE ROLE stepwell_test_looker LOGIN PASSWORD 'it' IN ROLE stepwell_debugger")
        conninfo = make_conninfo(schema_dsn, user="stepwell_test_looker", password="it")
        debugger = terminal(*STEPWELL, "--dsn", conninfo)
        debugger.wait_for("newest first, live", "> !failed", "stepwell_test_looker@")
        debugger.type("Enter")
        for keys, shown in (("n", "2/52 4%"), ("G", "52/52 100%"), ("d", "52/52"), ("/lamp", "/lamp")):
            debugger.type(keys)
            debugger.wait_for(shown)
        debugger.type("Enter")
        debugger.wait_for("hit")
        debugger.type("q", "q", "q")  # out of the diff, the run and the list
        assert debugger.wait() == 0
        admin.execute("DROP ROLE stepwell_test_looker")


def test_a_role_that_may_write_is_told_until_the_next_key(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.wait_for(b"superuser role; Stepwell only reads; safer: sql/roles.sql")
    debugger.send(b"n")
    debugger.wait_for(b"SERIALIZABLE rolled back")
    debugger.send(b"q")
    assert debugger.wait() == 0


@pytest.mark.long
def test_a_debugger_that_is_killed_at_any_instant_leaves_nothing_behind(
    raw: Callable[..., RawTerminal], schema_dsn: str
) -> None:
    """Again and again, in the midst of moves and searches."""
    looping(schema_dsn)
    for instant in range(12):
        debugger = raw(*STEPWELL, "--dsn", schema_dsn, str(LOOPING))
        debugger.wait_for(b"1/52 2% after")
        debugger.send((b"/lamp\r" if instant % 2 else b"npnp") + b"np" * (instant % 7))
        threading.Event().wait(instant * 0.004)
        os.kill(debugger.pid, signal.SIGKILL)
        debugger.wait()
        wait_until(lambda: not backends(schema_dsn), lambda: f"left behind: {backends(schema_dsn)}")
