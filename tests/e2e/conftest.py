"""A recorded demo, and terminals to look at it in; whatever a test does, no connection may be left behind."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tests.conftest import create_database, drop_database
from tests.e2e.terminal import RawTerminal, Terminal, wait_until

STEPWELL = (sys.executable, "-m", "stepwell")
_numbers = count(1)


@pytest.fixture(scope="session")
def recorded(server: str) -> Iterator[str]:
    """Conninfo of a database with the demo's five runs, as the command records them."""
    conninfo = create_database(server)
    command = [*STEPWELL, "demo", "--no-open", "--dsn", conninfo]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture(autouse=True)
def nobody_left(recorded: str) -> Iterator[None]:
    """Whatever a test does, no process of it stays connected, and so none in a transaction."""
    yield
    wait_until(lambda: not backends(recorded), lambda: f"still connected: {backends(recorded)}")


def backends(dsn: str) -> list[tuple[object, ...]]:
    """Process, state and statement of everyone who is connected to this database as Stepwell."""
    ask = (
        "SELECT pid, state, query FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name LIKE 'stepwell%'"
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(ask).fetchall()


@pytest.fixture
def env() -> dict[str, str]:
    """A login as over SSH: the environment of the test, a terminal, a language."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "TMUX"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh", "PS1": "$ "}


@pytest.fixture
def terminal_folder(short_folder: Path) -> Path:
    folder = short_folder / f"t{next(_numbers)}"
    folder.mkdir()
    return folder


@pytest.fixture
def terminal(terminal_folder: Path, env: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    """Runs words in a tmux pane of 80 columns and 24 lines; `env` adds to the environment."""
    opened: list[Terminal] = []

    def run(*words: str, size: tuple[int, int] = (80, 24), **more: str) -> Terminal:
        command = ["env", *(f"{name}={value}" for name, value in more.items()), *words]
        opened.append(Terminal(terminal_folder, command, env, size=size))
        return opened[-1]

    yield run
    for one in opened:
        one.close()


@pytest.fixture
def shell(terminal: Callable[..., Terminal], recorded: str) -> Terminal:
    """A shell with job control; `$DSN` is the recorded demo."""
    opened = terminal("bash", "--norc", "--noprofile", DSN=recorded)
    opened.wait_for("$")
    return opened


@pytest.fixture
def raw(env: dict[str, str]) -> Iterator[Callable[..., RawTerminal]]:
    """Runs words on a bare pseudo-terminal; `env` adds to the environment."""
    opened: list[RawTerminal] = []

    def run(*words: str, controls: bool = True, size: tuple[int, int] = (80, 24), **more: str) -> RawTerminal:
        opened.append(RawTerminal(words, env | more, size=size, controls=controls))
        return opened[-1]

    yield run
    for one in opened:
        one.close()
