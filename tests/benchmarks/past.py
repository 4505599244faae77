"""What the past costs to read: the same statements on a watched table as of an instant and on the live table."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.core.past import Instant
from stepwell.replay import Replayer
from stepwell.store.bounded import REPEATABLE_READ, begin
from stepwell.store.connect import resolve
from stepwell.store.migrate import migrate
from stepwell.store.watching import watch
from tests.asof.looking import look_back
from tests.benchmarks.harness import Table, in_turns, ms, ratio
from tests.benchmarks.moving import FIRST_STATE, MAKE_STEPS, RUN

Connection = psycopg.Connection[Any]
Begin = Callable[[], object]

MAKE: LiteralString = """
CREATE TABLE {table} (id int PRIMARY KEY, status text, qty int, tags text[]);
INSERT INTO {table}
SELECT n, CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'open' END, n % 100, ARRAY['a', 'b']
FROM generate_series(1, {rows}) AS n;
CREATE INDEX ON {table} (status);
"""
CHANGE: LiteralString = "UPDATE {table} SET qty = qty + 1 WHERE id BETWEEN {first} AND {last}"
WEAR: LiteralString = """
DO $$ BEGIN
    FOR n IN 1..{times} LOOP
        UPDATE {table} SET qty = n WHERE id = 7;
        COMMIT;
    END LOOP;
END $$
"""
JOIN: LiteralString = (
    "SELECT sum(t.qty) FROM generate_series(1, {rows}, {rows} / %d) AS n JOIN {table} AS t ON t.id = n"
)
STATEMENTS: Mapping[str, LiteralString] = {
    "by primary key": "SELECT * FROM {table} WHERE id = {rows} / 3",
    "join, 3 keys": JOIN.replace("%d", "3"),
    "join, 300 keys": JOIN.replace("%d", "least({rows}, 300)"),
    "by an index: one row in 1,000": "SELECT * FROM {table} WHERE status = 'rare'",
    "ORDER BY key LIMIT 50": "SELECT * FROM {table} ORDER BY id LIMIT 50",
    "ORDER BY key DESC LIMIT 50": "SELECT * FROM {table} ORDER BY id DESC LIMIT 50",
    "count(*)": "SELECT count(*) FROM {table}",
    "sum": "SELECT sum(qty) FROM {table}",
}
HOT: Mapping[str, LiteralString] = {"the row of one key": "SELECT * FROM {table} WHERE id = 7"}


def past(dsn: str, *, quick: bool) -> Table:
    """(g) Statements as of an instant, with so many changes of the table since."""
    rows, changes, wear, rounds = (
        (2000, (100, 2000), 50, 2) if quick else (1_000_000, (10_000, 1_000_000), 20_000, 9)
    )
    table = Table(
        f"Statements as of an instant, on a watched table of {rows:,} rows",
        [
            "changes since",
            "statement",
            "live, ms",
            "as of then, ms",
            "against live",
            "from the log alone, ms",
            "against live",
        ],
    )
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        for number in changes:
            name = f"bench_{number}"
            instant = _made(connection, name, rows)
            _change(connection, name, rows, number)
            _compare(connection, table, f"{number:,}", STATEMENTS, name, rows, instant, rounds)
        instant = _made(connection, "bench_hot", 100)
        connection.execute("SET synchronous_commit = off")
        connection.execute(_of(WEAR, "bench_hot", 100, times=wear))
        _vacuum(connection, "bench_hot")
        _compare(connection, table, f"{wear:,} of one row", HOT, "bench_hot", 100, instant, rounds)
    return table


def _of(text: LiteralString, name: str, rows: int, **numbers: int) -> sql.Composed:
    parts = {part: sql.Literal(value) for part, value in {"rows": rows, **numbers}.items()}
    return sql.SQL(text).format(table=sql.Identifier(name), **parts)


def _made(connection: Connection, name: str, rows: int) -> Instant:
    """A table that is watched, and the instant after that."""
    connection.execute(_of(MAKE, name, rows))
    connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(name)))
    watch(connection, name)
    return now(connection)


def now(connection: Connection) -> Instant:
    row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert row is not None
    return Instant(row[0])


def _change(connection: Connection, name: str, rows: int, number: int) -> None:
    """So many rows, by ten statements, spread over the table."""
    size = number // 10
    for first in range(1, rows + 1, rows // 10):
        connection.execute(_of(CHANGE, name, rows, first=first, last=first + size - 1))
    _vacuum(connection, name)


def _vacuum(connection: Connection, name: str) -> None:
    """The table and its log, as the server would in time."""
    row = connection.execute(
        "SELECT id FROM stepwell_log.tables WHERE relation = %s::regclass", (name,)
    ).fetchone()
    assert row is not None
    log = sql.Identifier("stepwell_log", f"t{row[0]}")
    connection.execute(sql.SQL("VACUUM ANALYZE {}, {}").format(sql.Identifier(name), log))


def _compare(
    connection: Connection,
    table: Table,
    since: str,
    statements: Mapping[str, LiteralString],
    name: str,
    rows: int,
    instant: Instant,
    rounds: int,
) -> None:
    ways: dict[str, Begin] = {
        "live": lambda: None,
        "past": partial(look_back, connection, instant, None),
        "log": partial(look_back, connection, instant, None, fast=False),
    }
    for what, text in statements.items():
        times = _times(connection, ways, _of(text, name, rows), rounds)
        of_log = ratio(times["log"], times["live"])
        table.rows.append(
            [
                since,
                what,
                ms(times["live"]),
                ms(times["past"]),
                ratio(times["past"], times["live"]),
                ms(times["log"]),
                of_log,
            ]
        )


def _times(
    connection: Connection, ways: Mapping[str, Begin], statement: sql.Composed, rounds: int
) -> dict[str, float]:
    """Median milliseconds of the statement alone, in each way in turn; one round first that does not count."""
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds + 1):
        for way, ready in ways.items():
            with rolled_back(connection):
                ready()
                began = perf_counter()
                connection.execute(statement).fetchall()
                taken[way].append((perf_counter() - began) * 1000)
    return {way: median(times[1:]) for way, times in taken.items()}


@contextmanager
def rolled_back(connection: Connection) -> Iterator[None]:
    """In a transaction such as a move has."""
    begin(connection, REPEATABLE_READ, statement_ms=600_000)
    try:
        yield
    finally:
        connection.rollback()


WATCHED = (0, 1, 10)
SCANS = """
SELECT sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::int FROM pg_stat_user_tables
WHERE schemaname = 'stepwell_log' OR relname LIKE 'looked%'
"""


def looking(dsn: str, *, quick: bool) -> Table:
    """(h) What watched tables cost a move that shows nothing of them, and what it costs to have names mean the past."""
    steps, rounds = (20, 2) if quick else (1000, 200)
    table = Table(
        f"A move at step {steps:,} in a database with watched tables, and having names mean their past",
        [
            "watched tables",
            "a move, ms",
            "against none",
            "scans of them and their logs by it",
            "look_back, ms",
        ],
    )
    with ExitStack() as stack:
        places = {number: stack.enter_context(_database(dsn, number, steps)) for number in WATCHED}
        before = {number: _scans(place) for number, place in places.items()}
        replayers = {number: Replayer(resolve(place), RUN) for number, place in places.items()}
        times = in_turns(
            {str(number): partial(replayer.at, steps) for number, replayer in replayers.items()}, rounds
        )
        for number, place in places.items():
            replayers[number].close()
            time.sleep(0.2)  # until its server process has ended, which tells then what it has counted
            scans = _scans(place) - before[number]
            taken = times[str(number)]
            row = [str(number), ms(taken), ratio(taken, times["0"]), str(scans), ms(_look(place, rounds))]
            table.rows.append(row)
    return table


@contextmanager
def _database(dsn: str, watched: int, steps: int) -> Iterator[str]:
    """One with a run and so many watched tables."""
    name = f"bench_watched_{watched}"
    place = make_conninfo(dsn, dbname=name)
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        migrate(place)
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(MAKE_STEPS, {"run": RUN, "steps": steps})
            connection.execute(FIRST_STATE, {"run": RUN})
            for number in range(watched):
                _made(connection, f"looked_at_{number}", 100)
            connection.execute("VACUUM ANALYZE")
        yield place
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _scans(place: str) -> int:
    with psycopg.connect(place) as connection:
        row = connection.execute(SCANS.encode()).fetchone()
    return int(row[0] or 0) if row else 0


def _look(place: str, rounds: int) -> float:
    """Median milliseconds of having names mean the past."""
    taken = []
    with psycopg.connect(place, autocommit=True, prepare_threshold=None) as connection:
        instant = now(connection)
        for _ in range(rounds + 1):
            with rolled_back(connection):
                began = perf_counter()
                look_back(connection, instant, None)
                taken.append((perf_counter() - began) * 1000)
    return median(taken[1:])
