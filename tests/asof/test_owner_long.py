"""What an owner does with a watched database as a whole: dumps and restores, replication, and very large values."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell.core.past import Certainty, Instant
from stepwell.settings import paths
from stepwell.store import embedded, keeper
from stepwell.store.account import server_account
from stepwell.store.binaries import within_reach
from stepwell.store.cluster import Cluster
from stepwell.store.watching import watch
from tests.asof.compare import read_origin
from tests.asof.kinds import Connection
from tests.asof.looking import look_back
from tests.asof.seen import read_instant
from tests.conftest import FAST, create_database, drop_database

pytestmark = pytest.mark.long
SETUP = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE orders (id int PRIMARY KEY, feel mood, note text);
INSERT INTO orders SELECT n, 'ok', 'note ' || n FROM generate_series(1, 50) AS n;
"""
WRITES = """
INSERT INTO orders VALUES (100, 'sad', 'new');
UPDATE orders SET note = 'changed', id = id + 1000 WHERE id < 10;
DELETE FROM orders WHERE id BETWEEN 20 AND 30;
TRUNCATE orders;
INSERT INTO orders VALUES (1, 'ok', 'again');
"""


@contextmanager
def _database(server: str) -> Iterator[Connection]:
    conninfo = create_database(server)
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            yield connection
    finally:
        drop_database(server, conninfo)


def test_a_dump_is_restored_elsewhere_and_written_there(server: str, short_folder: Path) -> None:
    with _database(server) as source, _database(server) as target:
        source.execute(SETUP)
        watch(source, "public.orders")
        source.execute("UPDATE orders SET note = 'logged' WHERE id = 3")
        before = read_instant(source)
        _restore(_dump(source, short_folder), target, short_folder)
        assert _rows(target) == _rows(source)
        target.execute(WRITES)
        source.execute(WRITES)
        assert _rows(target) == _rows(source)
        assert not _is_exact_and_other_than(target, before, ["nothing of here"])
        watch(target, "public.orders")
        after = read_instant(target)
        expected = _rows(target)
        target.execute("DELETE FROM orders")
        assert not _is_exact_and_other_than(target, after, expected)


def test_a_dump_of_the_table_alone_says_what_it_lacks_and_its_rows_are_there(
    server: str, short_folder: Path
) -> None:
    with _database(server) as source, _database(server) as target:
        source.execute(SETUP)
        watch(source, "public.orders")
        target.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        _restore(_dump(source, short_folder, "-t", "orders"), target, short_folder, lenient=True)
        target.execute(WRITES)
        source.execute(WRITES)
        assert _rows(target) == _rows(source)


@pytest.fixture
def logical_server(server: str, short_folder: Path) -> Iterator[str]:
    """A server that replicates: the one under test, or one of this test's own."""
    with psycopg.connect(server) as connection:
        if connection.execute("SHOW wal_level").fetchone() == ("logical",):
            yield server
            return
    home = short_folder / "logical"
    with embedded.start(paths({"STEPWELL_HOME": str(home)}), options=FAST | {"wal_level": "logical"}):
        cluster = Cluster.under(home)
        yield cluster.conninfo("postgres")
        keeper.stop(str(cluster.data))


def test_what_logical_replication_applies_is_logged(logical_server: str) -> None:
    with _database(logical_server) as source, _database(logical_server) as target:
        for connection in (source, target):
            connection.execute(SETUP)
        target.execute("TRUNCATE orders")
        watch(target, "public.orders")
        with _subscription(source, target):
            _wait_until_equal(source, target)
            points = []
            for statement in WRITES.strip().splitlines():
                points.append((read_instant(target), _rows(target)))
                source.execute(statement.encode())
                _wait_until_equal(source, target)
            for instant, rows in points:
                assert not _is_exact_and_other_than(target, instant, rows)
                assert _verdict(target, instant) is Certainty.EXACT


def test_a_value_of_150_megabytes_is_written_as_without_watching(server: str) -> None:
    with _database(server) as connection:
        connection.execute("CREATE TABLE big (id int PRIMARY KEY, data bytea, words text)")
        connection.execute(
            "ALTER TABLE big ALTER data SET STORAGE EXTERNAL, ALTER words SET STORAGE EXTERNAL"
        )
        watch(connection, "public.big")
        connection.execute(
            "INSERT INTO big SELECT 1, decode(repeat('00ff', 75000000), 'hex'), repeat('ä', 75000000)"
        )
        instant = read_instant(connection)
        told = connection.execute("SELECT id, md5(data), md5(words) FROM big").fetchall()
        connection.execute("UPDATE big SET id = 2")
        connection.execute("UPDATE big SET data = 'small'")
        connection.execute("DELETE FROM big")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (table,) = look_back(connection, instant, read_origin(connection))
        if table.verdict.certainty is Certainty.EXACT:
            assert connection.execute("SELECT id, md5(data), md5(words) FROM big").fetchall() == told
        connection.execute("ROLLBACK")


def _rows(connection: Connection) -> list[str]:
    return sorted(str(row[0]) for row in connection.execute("SELECT ROW(id, feel, note)::text FROM orders"))


def _verdict(connection: Connection, instant: Instant) -> Certainty:
    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        (table,) = look_back(connection, instant, read_origin(connection))
    return table.verdict.certainty


def _is_exact_and_other_than(connection: Connection, instant: Instant, rows: list[str]) -> bool:
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (table,) = look_back(connection, instant, read_origin(connection))
        return table.verdict.certainty is Certainty.EXACT and _rows(connection) != rows


def _dump(connection: Connection, folder: Path, *options: str) -> Path:
    return _run(folder, "pg_dump", *options, "-d", connection.info.dsn)


def _restore(dump: Path, connection: Connection, folder: Path, *, lenient: bool = False) -> None:
    stop = "0" if lenient else "1"
    _run(
        folder, "psql", "-q", "-X", "-v", f"ON_ERROR_STOP={stop}", "-d", connection.info.dsn, "-f", str(dump)
    )


def _run(folder: Path, program: str, *options: str) -> Path:
    """What it writes, in a file."""
    account = server_account()
    done = account.run([within_reach(folder / "server", account) / program, *options])
    assert done.returncode == 0, done.stderr
    written = folder / f"{program}.sql"
    # Newer dumps set what older servers do not know.
    written.write_text(
        "\n".join(line for line in done.stdout.splitlines() if "transaction_timeout" not in line)
    )
    return written


@contextmanager
def _subscription(source: Connection, target: Connection) -> Iterator[None]:
    """From one database to another of the same server, where a slot must be made by hand."""
    name, info = f"{target.info.dbname}_slot", source.info
    conninfo = make_conninfo(host=info.host, port=info.port, user=info.user, dbname=info.dbname)
    source.execute("CREATE PUBLICATION all_orders FOR TABLE orders")
    source.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))
    target.execute(
        f"CREATE SUBSCRIPTION from_there CONNECTION '{conninfo}' PUBLICATION all_orders"
        f" WITH (create_slot = false, slot_name = '{name}')".encode()
    )
    try:
        yield
    finally:
        target.execute("DROP SUBSCRIPTION from_there")


def _wait_until_equal(source: Connection, target: Connection) -> None:
    until = time.monotonic() + 30
    while _rows(source) != _rows(target):
        assert time.monotonic() < until, "nothing was applied"
        time.sleep(0.02)
