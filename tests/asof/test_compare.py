"""The comparison finds what is wrong, and what is not committed yet is never called exact and wrong."""

from dataclasses import replace

import psycopg

from stepwell.store.watching import watch
from tests.asof.compare import compare
from tests.asof.kinds import Column, Connection, Kind
from tests.asof.looking import look_back
from tests.asof.seen import Seen, look_within

KIND = Kind(
    "t",
    "CREATE TABLE t (id int PRIMARY KEY, note text)",
    (Column("id", ("1", "2", "3")),),
    (Column("note", ("'a'",)),),
)


def test_a_row_that_is_missing_added_or_other_is_found_wrong(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        _make(connection)
        seen = _look(connection)
        connection.execute("DELETE FROM t WHERE id = 1")
        assert _wrong(connection, seen) == 0
        for rows in ((), (*seen.rows["t"], "(9,)"), ("(1,b)", "(2,a)"), (*seen.rows["t"], seen.rows["t"][0])):
            assert _wrong(connection, replace(seen, rows={"t": rows})) == 1


def test_what_is_written_but_not_committed_yet_is_not_told_wrong(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as agent, psycopg.connect(dsn, autocommit=True) as other:
        _make(agent)
        agent.execute("BEGIN; UPDATE t SET note = 'mine'; INSERT INTO t VALUES (3, 'mine')")
        seen = look_within(agent, [KIND])
        agent.execute("DELETE FROM t WHERE id = 3")
        assert len(seen.rows["t"]) == 3
        assert _wrong(other, seen) == 0
        agent.execute("COMMIT")
        assert _wrong(other, seen) == 0


def _make(connection: Connection) -> None:
    connection.execute(f"{KIND.create}; INSERT INTO t VALUES (1, 'a'), (2, 'a')".encode())
    watch(connection, "public.t")


def _look(connection: Connection) -> Seen:
    with connection.transaction():
        return look_within(connection, [KIND])


def _wrong(connection: Connection, seen: Seen) -> int:
    tally = compare(connection, [seen], [KIND], look_back, seed="1", since=0)
    assert tally.compared["t"] == 1
    return tally.wrong["t"]
