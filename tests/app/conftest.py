"""Databases that tests of the screens look at."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell.store.watching import watch
from tests.app import desk, recorded, watched
from tests.conftest import create_database, drop_database


@pytest.fixture(scope="session")
def recorded_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database that holds finished runs of every kind: only to be read."""
    conninfo = create_database(server, schema_template)
    for fill in (
        recorded.looping,
        recorded.died,
        recorded.swarm,
        recorded.hostile,
        recorded.empty,
        recorded.big,
        recorded.bare,
    ):
        fill(conninfo)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture(scope="session")
def watched_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database with a run during which tables were watched: only to be read."""
    conninfo = create_database(server, schema_template)
    watched.fill(conninfo)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture(scope="session")
def desk_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database with the run of the refund desk: only to be read."""
    conninfo = create_database(server, schema_template)
    desk.record(conninfo)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture
def desk_run(schema_dsn: str) -> str:
    """Conninfo of a database of its own that holds the refund desk's run."""
    desk.record(schema_dsn)
    return schema_dsn


@pytest.fixture
def desk_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the agent as it was recorded."""
    desk.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shop(schema_dsn: str) -> tuple[str, UUID]:
    """A run whose step 1 and 2 each close an order of a watched table, beside a table that is not watched."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, status text)")
        connection.execute("CREATE TABLE prices (id int PRIMARY KEY)")
        connection.execute("INSERT INTO orders VALUES (1, 'open'), (2, 'open')")
        watch(connection, "orders")

        def close(number: int) -> None:
            connection.execute("UPDATE orders SET status = 'closed' WHERE id = %s", (number,))

        recorder = stepwell.Recorder(schema_dsn)
        with recorder.run("shop") as run:
            run.tool(close, number=1)
            run.tool(close, number=2)
        recorder.close()
    return schema_dsn, run.run_id
