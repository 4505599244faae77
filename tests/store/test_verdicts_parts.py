"""What is said of the past of a watched table with partitions, and what saying so locks."""

from collections.abc import Iterator

import psycopg
import pytest

from stepwell.core.past import Certainty, Verdict
from stepwell.store.asof import survey
from stepwell.store.watching import watch
from tests.asof.looking import look_back
from tests.store.watching import Connection, instant


@pytest.fixture
def partitioned(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE p (id int PRIMARY KEY, qty int) PARTITION BY RANGE (id)")
        connection.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)")
        connection.execute("CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200)")
        connection.execute("INSERT INTO p VALUES (1, 1), (101, 101)")
        watch(connection, "p")
        yield connection


def test_judging_a_partitioned_table_locks_no_partition_before_the_whole(partitioned: Connection) -> None:
    """Who changes it locks the whole first, and would wait for us as we for them."""
    then = instant(partitioned)
    parts = "('p1'::regclass, 'p2'::regclass)"
    locked = f"SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN {parts}"
    with partitioned.transaction(force_rollback=True):
        look_back(partitioned, then, None)
        assert partitioned.execute(locked).fetchone() == (0,)


def test_two_partitions_may_be_truncated_at_once(partitioned: Connection) -> None:
    then = instant(partitioned)
    with psycopg.connect(partitioned.info.dsn) as other, partitioned.transaction():
        partitioned.execute("SET LOCAL lock_timeout = '5s'; TRUNCATE p1")
        other.execute("SET LOCAL lock_timeout = '5s'; TRUNCATE p2")
        other.commit()
    with partitioned.transaction(force_rollback=True):
        (table,) = look_back(partitioned, then, None)
        assert partitioned.execute("SELECT id FROM p ORDER BY id").fetchall() == [(1,), (101,)]
    assert table.verdict == Verdict(Certainty.EXACT)


def test_a_partition_that_was_attached_after_the_snapshot_is_told_once_the_table_was_read(
    partitioned: Connection,
) -> None:
    """Its rows are there by then, though they were in no partition."""
    partitioned.execute("CREATE TABLE p3 (LIKE p INCLUDING ALL); INSERT INTO p3 VALUES (201, 201)")
    then = instant(partitioned)
    with psycopg.connect(partitioned.info.dsn, autocommit=True) as other, partitioned.transaction():
        partitioned.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (before,) = look_back(partitioned, then, None)
        other.execute("ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (200) TO (300)")
        assert len(partitioned.execute("SELECT id FROM p").fetchall()) == 3
        (after,) = survey(partitioned, then, None).tables
    assert before.verdict == Verdict(Certainty.EXACT)
    assert after.verdict.why.endswith("this very moment; ask again")
