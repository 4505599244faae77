"""What being watched costs those who write: the same writes to a table that is watched and to one that is not."""

import re
from collections.abc import Callable, Mapping
from itertools import count
from statistics import median
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from stepwell.store.watching import watch
from tests.benchmarks.harmless import pgbench
from tests.benchmarks.harness import Table, in_turns, ms, ratio

Connection = psycopg.Connection[Any]

NARROW: LiteralString = "id int PRIMARY KEY, status text DEFAULT 'open', qty int DEFAULT 0"
TYPED: LiteralString = (
    ", tags text[] DEFAULT ARRAY['a', 'b'], price numeric DEFAULT 12.5, at timestamptz DEFAULT now()"
)
WIDE: LiteralString = (
    ", note text DEFAULT repeat('the lamp came broken; ', 22), more jsonb DEFAULT '{\"a\": [1, 2]}',"
    " raw json DEFAULT '{}', ref uuid DEFAULT gen_random_uuid()"
)
INDEXED = "the same, the one that changes indexed"
KINDS: Mapping[str, tuple[LiteralString, LiteralString]] = {
    "int, text, int": (NARROW, ""),
    INDEXED: (NARROW, ""),
    "six, an array among them": (NARROW + TYPED, ""),
    "ten, with 0.5 KB of text": (NARROW + TYPED + WIDE, ""),
    "types of its own": (NARROW + ", mood bench_mood DEFAULT 'ok', size bench_size DEFAULT 7", ""),
    "four partitions": (NARROW, "PARTITION BY HASH (id)"),
}
TYPES = "CREATE TYPE bench_mood AS ENUM ('ok', 'sad'); CREATE DOMAIN bench_size AS int CHECK (VALUE > 0)"
BULK = 10_000


def capture(dsn: str, *, quick: bool) -> Table:
    """(i) Transactions of one row, and statements of ten thousand, each to a table that is watched and to its twin."""
    rows, rounds, bulks = (1000, 3, 1) if quick else (100_000, 1500, 9)
    table = Table(
        f"Updates of a watched table of {rows:,} rows, beside its twin that is not watched",
        [
            "columns", "one row, ms", "watched, ms", "more, ms", f"{min(rows, BULK):,} rows, ms", "watched, ms",
            "against it", "WAL a row, bytes", "watched, bytes", "log on disk a row, bytes",
        ],
    )  # fmt: skip
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(TYPES)
        for number, (kind, (columns, rest)) in enumerate(KINDS.items()):
            names = [f"bench_{twin}_{number}" for twin in ("plain", "watched")]
            for name in names:
                make(connection, name, columns, rest, rows)
                if kind == INDEXED:
                    connection.execute(f"CREATE INDEX ON {name} (qty)".encode())
            watch(connection, names[1])
            table.rows.append(
                [kind, *_single(connection, names, rows, rounds), *_bulk(connection, names, rows, bulks)]
            )
    return table


def make(connection: Connection, name: str, columns: LiteralString, rest: LiteralString, rows: int) -> None:
    """A table with so many rows, vacuumed."""
    table = sql.Identifier(name)
    connection.execute(sql.SQL("CREATE TABLE {} ({}) {}").format(table, sql.SQL(columns), sql.SQL(rest)))
    for part in range(4 if rest else 0):
        connection.execute(
            sql.SQL(
                f"CREATE TABLE {{}} PARTITION OF {{}} FOR VALUES WITH (MODULUS 4, REMAINDER {part})"
            ).format(sql.Identifier(f"{name}_{part}"), table)
        )
    connection.execute(
        sql.SQL("INSERT INTO {} (id) SELECT generate_series(1, {})").format(table, sql.Literal(rows))
    )
    connection.execute(sql.SQL("VACUUM ANALYZE {}").format(table))


def _single(connection: Connection, names: list[str], rows: int, rounds: int) -> list[str]:
    numbers = count()

    def update(name: str) -> Callable[[], object]:
        statement = sql.SQL("UPDATE {} SET qty = qty + 1 WHERE id = %s").format(sql.Identifier(name))
        return lambda: connection.execute(statement, (next(numbers) % rows + 1,), prepare=True)

    times = in_turns({name: update(name) for name in names}, rounds)
    plain, watched = (times[name] for name in names)
    return [ms(plain), ms(watched), f"{watched - plain:+.2f}"]


def _bulk(connection: Connection, names: list[str], rows: int, rounds: int) -> list[str]:
    """And the bytes of WAL for each row, of the last round, when no page is written whole for the first time."""
    size = min(rows, BULK)
    wal: dict[str, float] = {}

    def update(name: str) -> Callable[[], object]:
        statement = sql.SQL("UPDATE {} SET qty = qty + 1 WHERE id <= {}").format(
            sql.Identifier(name), sql.Literal(size)
        )

        def act() -> None:
            before = _one(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'")
            connection.execute(statement)
            wal[name] = float(_one(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'") - before) / size

        return act

    times = in_turns({name: update(name) for name in names}, rounds)
    plain, watched = (times[name] for name in names)
    written = [f"{wal[name]:.0f}" for name in names]
    return [ms(plain), ms(watched), ratio(watched, plain), *written, f"{_log_size(connection, names[1]):.0f}"]


def _log_size(connection: Connection, name: str) -> float:
    """The bytes of its log for each row that is logged, with indexes."""
    log = f"stepwell_log.t{_one(connection, 'SELECT id FROM stepwell_log.tables WHERE relation = %s::regclass', name)}"
    return float(
        _one(connection, f"SELECT pg_total_relation_size(%s)::numeric / (SELECT count(*) FROM {log})", log)
    )


def _one(connection: Connection, statement: str, *values: object) -> Any:
    row = connection.execute(statement.encode(), values).fetchone()
    assert row is not None
    return row[0]


WRITERS = 8
WAYS = ("plain", "watched", "alone")
WRITE = """
\\set id random(1, {rows} - {size} + 1)
UPDATE writers_{way}_:client_id SET qty = qty + 1 WHERE id BETWEEN :id AND :id + {size} - 1;
"""


def writers(dsn: str, *, quick: bool) -> Table:
    """(j) Eight writers at once: not watched, watched, and as if the logs of the tables shared no sequence."""
    seconds, rounds, rows = (1, 1, 200) if quick else (5, 7, 10_000)
    table = Table(
        f"{WRITERS} writers at once, each to a table of its own",
        ["rows a transaction", "tx/s", "watched, tx/s", "against it", "a sequence a log, tx/s", "against one for all"],
    )  # fmt: skip
    with psycopg.connect(dsn, autocommit=True) as connection:
        for way in WAYS:
            for number in range(WRITERS):
                name = f"writers_{way}_{number}"
                make(connection, name, NARROW, "", rows)
                if way != "plain":
                    watch(connection, name)
                if way == "alone":
                    _have_own_sequence(connection, name)
    for size in (1, 100):
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                rates[way].append(_rate(dsn, WRITE.format(way=way, size=size, rows=rows), seconds))
        plain, watched, alone = (median(rates[way]) for way in WAYS)
        many = [f"{rate:,.0f}" for rate in (plain, watched, alone)]
        table.rows.append([str(size), *many[:2], ratio(watched, plain), many[2], ratio(watched, alone)])
    return table


def _rate(dsn: str, script: str, seconds: int) -> float:
    said = pgbench(dsn, "-n", "-f", "-", "-c", str(WRITERS), "-j", "2", "-T", str(seconds), script=script)
    return float(re.findall(r"tps = ([\d.]+)", said)[0])


def _have_own_sequence(connection: Connection, name: str) -> None:
    """Have the trigger of a watched table number by a sequence that no other has."""
    number = _one(connection, "SELECT id FROM stepwell_log.tables WHERE relation = %s::regclass", name)
    sequence = f"stepwell_log.{name}"
    connection.execute(f"CREATE SEQUENCE {sequence}; GRANT USAGE ON SEQUENCE {sequence} TO PUBLIC".encode())
    function = f"stepwell_log.t{number}_capture"
    text = str(_one(connection, "SELECT pg_get_functiondef(%s::regproc)", function))
    assert "'stepwell_log.position'" in text
    connection.execute(text.replace("'stepwell_log.position'", f"'{sequence}'").encode())
