"""What reads the past leaves nothing: no row, no number of a transaction or a sequence, no setting, no lock."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from stepwell.core.world import Moment
from stepwell.replay import Replayer
from stepwell.store.changes import read_changes
from stepwell.store.connect import resolve
from tests.asof.looking import look_back
from tests.past.recorded import TABLES, Connection, Recorded
from tests.pooler import pooler
from tests.store.conftest import wait_until

TABLES_OF_ALL = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
OBJECTS = """
SELECT sequencename, last_value::text FROM pg_sequences
UNION ALL SELECT 'objects', md5(string_agg(oid::text || relname, ',' ORDER BY oid)) FROM pg_class
"""
SESSION = """
SELECT name, setting FROM pg_settings WHERE name <> 'application_name' -- the pool sets that for each client
UNION ALL SELECT 'the past', coalesce(current_setting('stepwell.snapshot', true), '')
UNION ALL SELECT 'orders', to_regclass('orders')::oid::text
UNION ALL SELECT 'prepared', name FROM pg_prepared_statements
UNION ALL SELECT 'cursor', name FROM pg_cursors
UNION ALL SELECT 'lock', l.locktype FROM pg_locks l JOIN pg_database d ON d.oid = l.database
          WHERE l.locktype = 'advisory' AND d.datname = current_database()
UNION ALL SELECT 'temporary', pg_my_temp_schema()::text
"""
NEXT = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
READS = """
SELECT sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::int FROM pg_stat_user_tables
WHERE schemaname = 'stepwell_log' OR relname = ANY (%s)
"""
GONE = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stepwell' AND datname = current_database()"


def move(dsn: str, recorded: Recorded) -> None:
    with closing(Replayer(resolve(dsn), recorded.run)) as replayer:
        for number in (1, 3, 2):
            replayer.at(number)


def ask(dsn: str, recorded: Recorded) -> None:
    with closing(Replayer(resolve(dsn), recorded.run)) as replayer:
        for text in (
            "SELECT * FROM orders",
            "SELECT count(*) FROM orders JOIN items ON items.number = orders.id",
            "SHOW port",
        ):
            replayer.query(2, Moment.AFTER, text)


def ask_amiss(dsn: str, recorded: Recorded) -> None:
    with closing(Replayer(resolve(dsn), recorded.run)) as replayer:
        for text in (
            "SELECT 1 / (qty - qty) FROM orders",
            "SELECT * FROM nothing",
            "DELETE FROM orders",
            "SELECT nextval('taken')",
        ):
            with pytest.raises(Exception, match=r"division|exist|only|nextval|READ ONLY|read-only"):
                replayer.query(2, Moment.AFTER, text)


def changes(dsn: str, recorded: Recorded) -> None:
    with closing(Replayer(resolve(dsn), recorded.run)) as replayer:
        assert any(table.changes for table in replayer.changes(2).tables)


def by_hand(dsn: str, recorded: Recorded) -> None:
    """As the two functions are called below a replayer, at the weaker level too."""
    before, after = recorded.instants[0], recorded.instants[-1]
    with psycopg.connect(dsn, prepare_threshold=None, application_name="stepwell") as connection:
        connection.isolation_level, connection.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        look_back(connection, before, None)
        connection.execute("SELECT * FROM orders").fetchall()
        connection.rollback()
        read_changes(connection, before, after, None)
        connection.rollback()


ACTS = [move, ask, ask_amiss, changes, by_hand]


@pytest.fixture
def pooled(schema_dsn: str, short_folder: Path) -> Iterator[str]:
    with pooler(schema_dsn, short_folder, size=1) as conninfo:
        yield conninfo


@pytest.mark.parametrize("act", ACTS)
def test_nothing_is_left_in_the_database_or_in_a_session_of_the_pool(
    pooled: str, recorded: Recorded, act: Callable[[str, Recorded], None]
) -> None:
    with psycopg.connect(pooled, prepare_threshold=None, autocommit=True) as client:
        session, before = set(client.execute(SESSION)), contents(client)
        # Whatever else runs on the server may begin a transaction meanwhile, and not every time.
        assert any(spends_nothing(client, lambda: act(pooled, recorded)) for _ in range(5))
        assert set(client.execute(SESSION)) == session
        assert contents(client) == before


def contents(client: Connection) -> list[tuple[object, ...]]:
    """All rows of all tables, where the sequences are, and which objects there are."""
    tables = [row[0] for row in client.execute(TABLES_OF_ALL)]
    rows = [
        (table, row[0])
        for table in tables
        for row in client.execute(f"SELECT t::text FROM {table} t".encode())
    ]
    return sorted([*rows, *client.execute(OBJECTS)], key=str)


def spends_nothing(client: Connection, act: Callable[[], None]) -> bool:
    """Whether no transaction was numbered meanwhile."""
    before = client.execute(NEXT).fetchone()
    act()
    return client.execute(NEXT).fetchone() == before


@pytest.mark.parametrize(("act", "reads"), [(move, False), (ask, True)])
def test_a_move_reads_nothing_of_the_tables_that_are_watched(
    schema_dsn: str, recorded: Recorded, act: Callable[[str, Recorded], None], reads: bool
) -> None:
    with psycopg.connect(schema_dsn, autocommit=True) as client:
        wait_until(lambda: client.execute(GONE).fetchone() == (0,))  # who ends tells what it has counted
        before = client.execute(READS, [list(TABLES)]).fetchone()
        act(schema_dsn, recorded)
        wait_until(lambda: client.execute(GONE).fetchone() == (0,))
        assert (client.execute(READS, [list(TABLES)]).fetchone() != before) is reads


def test_what_is_asked_for_holds_back_no_vacuum_and_no_lock_once_it_is_answered(
    schema_dsn: str, recorded: Recorded
) -> None:
    with (
        closing(Replayer(resolve(schema_dsn), recorded.run)) as replayer,
        psycopg.connect(schema_dsn, autocommit=True) as owner,
    ):
        replayer.at(1)
        replayer.query(1, Moment.AFTER, "SELECT * FROM orders")
        replayer.changes(2)
        owner.execute("SET lock_timeout = '1ms'")
        for table in TABLES:
            owner.execute(f"ALTER TABLE {table} ADD COLUMN later int".encode())
        held = owner.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stepwell' AND datname = current_database()"
            " AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR state <> 'idle')"
        ).fetchone()
        assert held == (0,)
