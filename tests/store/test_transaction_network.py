"""A move over a network that breaks or stands still: the server forgets it, and the debugger goes on."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stepwell.errors import DatabaseError
from stepwell.store.connect import resolve
from stepwell.store.reader import Reader
from tests.store.conftest import wait_until

PORT = 5432


class Network:
    """What lies between a client and the server: it can be cut, and it can carry nothing for a while."""

    def __init__(self, folder: Path, dsn: str) -> None:
        server = {name: str(value) for name, value in conninfo_to_dict(dsn).items()}
        self._server = (server["host"], int(server.get("port", PORT)))
        self.dsn = make_conninfo(dsn, host=str(folder), port=PORT)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f".s.PGSQL.{PORT}"))
        self._listener.listen()
        self._carries = threading.Event()
        self._carries.set()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        """Carry nothing more in either direction, and tell nobody."""
        self._carries.clear()

    def go_on(self) -> None:
        self._carries.set()

    def cut(self) -> None:
        """Break every connection that there is, but none that is made because of it."""
        for end in tuple(self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.go_on()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client, self._dial()), daemon=True).start()

    def _dial(self) -> socket.socket:
        host, port = self._server
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        end = socket.socket(socket.AF_UNIX)
        end.connect(f"{host}/.s.PGSQL.{port}")
        return end

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        self._ends += [client, server]
        other = {client: server, server: client}
        with client, server, contextlib.suppress(OSError):
            while True:
                for end in select.select([client, server], [], [])[0]:
                    self._carries.wait()
                    data = end.recv(65536)
                    if not data:
                        return
                    other[end].sendall(data)


@pytest.fixture
def network(dsn: str, tmp_path_factory: pytest.TempPathFactory, short_folder: Path) -> Iterator[Network]:
    folder = short_folder / tmp_path_factory.mktemp("net").name
    folder.mkdir()
    with closing(Network(folder, dsn)) as between:
        yield between


def sessions(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "SELECT pid, state FROM pg_stat_activity"
            " WHERE application_name = 'stepwell' AND datname = current_database()"
        ).fetchall()


def test_a_network_that_breaks_in_the_midst_of_a_move_is_said_and_the_move_made(
    dsn: str, network: Network
) -> None:
    attempts: list[int] = []

    def read(connection: psycopg.Connection) -> object:
        attempts.append(connection.info.backend_pid)
        if len(attempts) == 1:
            network.cut()
        return connection.execute("SELECT 7").fetchone()

    with closing(Reader(resolve(network.dsn))) as reader:
        found, report = reader.read(read)
        wait_until(lambda: len(sessions(dsn)) == 1)
    assert found == (7,)
    assert report.notes == ["reconnected: the server or the network broke the connection"]
    assert len(set(attempts)) == 2


def test_a_network_that_stands_still_pins_nothing_and_can_be_cancelled(dsn: str, network: Network) -> None:
    """The server ends the move by itself; the debugger, which hears of nothing, at the user's word."""
    options = "-c idle_in_transaction_session_timeout=100ms"
    reader = Reader(resolve(make_conninfo(network.dsn, options=options)))
    caught: list[str] = []

    def read(connection: psycopg.Connection) -> object:
        network.stall()
        return connection.execute("SELECT 7").fetchone()

    def move() -> None:
        with pytest.raises(DatabaseError) as raised:
            reader.read(read)
        caught.append(str(raised.value))

    with closing(reader):
        moving = threading.Thread(target=move)
        moving.start()
        wait_until(lambda: not network._carries.is_set() and sessions(dsn) == [])
        assert moving.is_alive()
        reader.cancel()
        moving.join()
        assert caught == ["cancelled"]
        network.go_on()
        assert reader.read(lambda c: c.execute("SELECT 7").fetchone())[0] == (7,)


def test_what_is_cancelled_while_its_connection_is_opened_is_not_run(network: Network) -> None:
    ran: list[object] = []
    caught: list[str] = []

    def move() -> None:
        with pytest.raises(DatabaseError) as raised:
            reader.read(ran.append)
        caught.append(str(raised.value))

    with closing(Reader(resolve(network.dsn))) as reader:
        network.stall()
        moving = threading.Thread(target=move)
        moving.start()
        wait_until(lambda: len(network._ends) > 0)
        reader.cancel()
        network.go_on()
        moving.join()
        assert (ran, caught) == ([], ["cancelled"])
        assert reader.read(lambda c: c.execute("SELECT 7").fetchone())[0] == (7,)


def test_a_server_at_work_notices_that_its_client_is_gone(dsn: str, network: Network) -> None:
    """However long the statement may take by its own limit."""
    with psycopg.connect(dsn) as connection:
        linux = connection.execute("SELECT version() LIKE '%linux%'").fetchone() == (True,)
    if not linux:
        pytest.skip("only a server on Linux is asked to look")
    attempts: list[int] = []

    def read(connection: psycopg.Connection) -> None:
        attempts.append(connection.info.backend_pid)
        if len(attempts) == 1:
            connection.execute("SET LOCAL statement_timeout = 0")
            threading.Timer(0.1, network.cut).start()
            connection.execute("SELECT pg_sleep(600)")

    with closing(Reader(resolve(network.dsn))) as reader:
        reader.read(read)
        assert len(attempts) == 2
        wait_until(lambda: attempts[0] not in {pid for pid, _ in sessions(dsn)})
