"""While a replay lasts, code that forgot to use `run` does no harm, and is named."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.util import spawnv_passfds
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.errors import ReadOnlySqlTransaction

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.rerun import guards
from stepwell.rerun.playing import play
from stepwell.store.connect import GUARD
from tests.rerun.agents import search

HERE = Path(__file__).name


@pytest.fixture
def notes() -> Iterator[list[str]]:
    found: list[str] = []
    with guards.armed(found.append):
        yield found


def to_socket(family: int, address: Any, how: str = "connect") -> None:
    with socket.socket(family, socket.SOCK_DGRAM if how == "sendto" else socket.SOCK_STREAM) as end:
        end.sendto(b"", address) if how == "sendto" else getattr(end, how)(address)


async def open_stream() -> None:
    await asyncio.open_connection("192.0.2.1", 443)


REACHING: dict[str, tuple[Callable[[], Any], str]] = {
    "a name": (lambda: socket.create_connection(("api.example.com", 443)), "looked up api.example.com"),
    "an address": (lambda: to_socket(socket.AF_INET, ("192.0.2.1", 443)), "reached out to 192.0.2.1:443"),
    "of six": (lambda: to_socket(socket.AF_INET6, ("::1", 443)), "reached out to ::1:443"),
    "a socket's": (lambda: to_socket(socket.AF_UNIX, "/run/nothing"), "reached out to /run/nothing"),
    "without a word": (
        lambda: to_socket(socket.AF_INET, ("192.0.2.1", 53), "sendto"),
        "reached out to 192.0.2.1:53",
    ),
    "to be reached": (
        lambda: to_socket(socket.AF_INET, ("127.0.0.1", 0), "bind"),
        "reached out to 127.0.0.1:0",
    ),
    "a task": (lambda: asyncio.run(open_stream()), "reached out to 192.0.2.1:443"),
    "old ways": (lambda: socket.gethostbyname("old.example.com"), "looked up old.example.com"),
    "a process": (lambda: subprocess.run(["ls", "-l"], check=False), "started ls -l"),
    "a shell": (lambda: os.system("rm -rf nothing"), "started rm -rf nothing"),
    "itself": (lambda: os.execv("/bin/true", ["true", "x"]), "started true x"),
    "one more Python": (
        lambda: spawnv_passfds(b"/bin/true", ["python", "-c", "x"], []),
        "started python -c x",
    ),
    "posix": (lambda: os.posix_spawn("/bin/true", ["true"], {}), "started true"),
}


@pytest.mark.parametrize("how", REACHING)
def test_what_reaches_out_is_an_error_and_a_note_with_its_place(how: str, notes: list[str]) -> None:
    act, says = REACHING[how]
    with pytest.raises(guards.Forbidden, match="a replay ") as raised:
        act()
    assert isinstance(raised.value, OSError)
    assert says in str(raised.value)
    (note,) = notes
    assert note.startswith(str(Path("tests/rerun") / HERE))
    assert note.endswith(f"{says}: refused")


def test_a_client_takes_it_for_a_network_that_is_down(notes: list[str]) -> None:
    with pytest.raises(OSError, match="a replay asks no network: it looked up example"):
        urllib.request.urlopen("http://example.invalid")
    assert len(notes) == 1


def test_of_the_host_of_the_replays_own_database_the_address_is_told() -> None:
    notes: list[str] = []
    with guards.armed(notes.append, ["localhost"]):
        assert socket.getaddrinfo("localhost", 1)
    assert notes == []


def test_event_loops_and_pipes_work(notes: list[str]) -> None:
    asyncio.run(asyncio.sleep(0))
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"x")
        assert other.recv(1) == b"x"
    assert socket.getaddrinfo("127.0.0.1", 80)
    assert notes == []


def test_nothing_is_refused_once_it_is_over() -> None:
    with guards.armed(print):
        pass
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
    assert "PGOPTIONS" not in os.environ


def test_one_inside_the_other_tells_the_inner_and_then_the_outer(notes: list[str]) -> None:
    inner: list[str] = []
    with guards.armed(inner.append), pytest.raises(guards.Forbidden):
        socket.gethostbyname("one.example.com")
    with pytest.raises(guards.Forbidden):
        socket.gethostbyname("two.example.com")
    assert ("one" in inner[0], len(inner), "two" in notes[0], len(notes)) == (True, 1, True, 1)


READ_ONLY = "opened a connection of its own, which is read-only"


def test_connections_of_psycopg_are_read_only_and_noted(dsn: str, notes: list[str]) -> None:
    with psycopg.connect(dsn) as connection, pytest.raises(ReadOnlySqlTransaction):
        connection.execute("CREATE TABLE made (id int)")
    assert len(notes) == 1
    assert notes[0].startswith(str(Path("tests/rerun") / HERE))
    assert notes[0].endswith(READ_ONLY)


def test_so_are_those_that_are_awaited_and_keep_options_of_their_own(dsn: str, notes: list[str]) -> None:
    async def connect() -> tuple[Any, ...] | None:
        options = "-c work_mem=77kB"
        async with await psycopg.AsyncConnection.connect(dsn, options=options) as connection:
            query = "SELECT current_setting('work_mem'), current_setting('transaction_read_only')"
            return await (await connection.execute(query)).fetchone()

    assert asyncio.run(connect()) == ("77kB", "on")
    assert [note.endswith(READ_ONLY) for note in notes] == [True]


def test_so_are_those_of_other_clients_of_libpq(dsn: str) -> None:
    with guards.armed(print):
        options = os.environ["PGOPTIONS"]
        with guards.armed(print):
            assert os.environ["PGOPTIONS"] == options
    with psycopg.connect(dsn, options=options) as connection:
        row = connection.execute("SHOW transaction_read_only").fetchone()
    assert row == ("on",)


def test_a_replay_in_this_process_is_guarded_as_long_as_it_lasts(
    record: Callable[[Any], RecordedRun], schema_dsn: str
) -> None:
    def agent(run: Run) -> str:
        if replaying:
            with suppress(OSError):
                socket.gethostbyname("telemetry.example.com")
            with psycopg.connect(schema_dsn) as connection:
                connection.execute("SELECT 1")
        return run.result(run.tool(search, "a")[0])

    replaying = False
    recorded = record(agent)
    replaying = True
    report = play(recorded, agent)
    assert report.same
    first, second = report.notes
    assert first.endswith("looked up telemetry.example.com: refused")
    assert second.endswith(READ_ONLY)
    assert all(note.startswith(str(Path("tests/rerun") / HERE)) for note in report.notes)


def test_code_in_a_folder_that_is_called_like_a_library_is_the_users_too(
    record: Callable[[Any], RecordedRun], schema_dsn: str
) -> None:
    text = """
def agent(run):
    run.tool(search, "a")
    if replaying:
        with socket.socket() as end, suppress(OSError):
            end.connect(("192.0.2.1", 443))
        psycopg.connect(dsn).close()
"""
    scope: dict[str, Any] = {**globals(), "replaying": False, "dsn": schema_dsn}
    exec(compile(text, "/home/me/psycopg-contextlib/agent.py", "exec"), scope)
    recorded = record(scope["agent"])
    scope["replaying"] = True
    first, second = play(recorded, scope["agent"]).notes
    assert first.endswith("agent.py:6 reached out to 192.0.2.1:443: refused")
    assert second.endswith(READ_ONLY)


def test_whoever_wants_all_to_be_read_only_anyway_has_it_so_when_the_guards_are_lifted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGOPTIONS", f"-c lock_timeout=1s {GUARD}")
    with guards.armed(print), guards.armed(print):
        guards.lift()
        assert os.environ["PGOPTIONS"] == f"-c lock_timeout=1s {GUARD}"


def test_once_the_guards_are_lifted_the_agents_own_connections_write(dsn: str, notes: list[str]) -> None:
    guards.lift()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE written ()")
    assert not notes
