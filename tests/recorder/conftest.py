"""A recorder on a database of the test's own, and a way to look at what it wrote."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from stepwell import Recorder
from stepwell.core.codec import decode, parse
from stepwell.recorder import finder, link, pulse

Row = dict[str, Any]
Look = Callable[[UUID], list[Row]]


def exact(row: Row, column: str) -> object:
    """What the agent gave or got, as a Python value."""
    plain, rest = row[column], row[f"{column}_exact"]
    return decode(parse(plain), None if rest is None else parse(rest))


@pytest.fixture
def recorder(schema_dsn: str) -> Iterator[Recorder]:
    with Recorder(schema_dsn) as recorder:
        yield recorder


@pytest.fixture
def connection(schema_dsn: str) -> Iterator[psycopg.Connection[Row]]:
    """An observer that sees what is committed and nothing else."""
    with psycopg.connect(schema_dsn, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def steps_of(connection: psycopg.Connection[Row], run_id: UUID) -> list[Row]:
    """The committed steps of a run by number; `given` and `got` are the payloads as Python values."""
    rows = connection.execute(
        "SELECT *, input::text AS input, output::text AS output, input_exact::text AS input_exact,"
        " output_exact::text AS output_exact FROM agent_steps WHERE run_id = %s ORDER BY step_number",
        (run_id,),
    ).fetchall()
    for row in rows:
        row["given"] = exact(row, "input")
        row["got"] = None if row["output"] is None else exact(row, "output")
    return rows


@pytest.fixture
def steps(connection: psycopg.Connection[Row]) -> Look:
    """`steps_of` in this test's database."""
    return partial(steps_of, connection)


@pytest.fixture
def run_row(connection: psycopg.Connection[Row]) -> Callable[[UUID], Row]:
    def look(run_id: UUID) -> Row:
        row = connection.execute("SELECT * FROM agent_runs WHERE run_id = %s", (run_id,)).fetchone()
        assert row is not None
        return row

    return look


@pytest.fixture
def shut(server: str, connection: psycopg.Connection[Row]) -> Iterator[Callable[[bool], None]]:
    """Shuts the database for new connections and opens it again."""

    def do(closed: bool) -> None:
        with psycopg.connect(server, autocommit=True) as other:
            other.execute(f"ALTER DATABASE {connection.info.dbname} ALLOW_CONNECTIONS {not closed}")

    yield do
    do(False)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder that may go to a file gives a database up at once, and finds it again at once."""
    monkeypatch.setattr(finder, "SPOOL_SECONDS", 0.1)
    monkeypatch.setattr(finder, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(finder, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(link, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(pulse, "HEARTBEAT_SECONDS", 0.05)


@pytest.fixture
def spooling_recorder(schema_dsn: str) -> Iterator[Recorder]:
    with Recorder(schema_dsn, on_failure="spool") as recorder:
        yield recorder


@pytest.fixture
def outage(connection: psycopg.Connection[Row], shut: Callable[[bool], None]) -> Callable[[bool], None]:
    def begin_or_end(begins: bool) -> None:
        shut(begins)
        if begins:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    return begin_or_end


@pytest.fixture
def own(schema_dsn: str, connection: psycopg.Connection[Row]) -> Iterator[psycopg.Connection[Any]]:
    """The agent's, not in autocommit, with a table of its own."""
    connection.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    with psycopg.connect(schema_dsn) as own:
        yield own
        if own.info.transaction_status != psycopg.pq.TransactionStatus.UNKNOWN:
            own.rollback()
