"""A production at work on watched tables, and a debugger beside it: who waited, who failed, what was left behind."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID

import psycopg

import stepwell
from stepwell.core.past import Answer, Certainty
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from stepwell.store.watching import watch
from tests.benchmarks.harmless import pgbench

Connection = psycopg.Connection[Any]
Act = Callable[[Connection, int], None]
Found = tuple[object, ...]

TABLES = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "orders", "left_book", "right_book")
MAKE = """
CREATE TABLE orders (id int PRIMARY KEY, status text DEFAULT 'open', qty int DEFAULT 0);
CREATE TABLE left_book (n int PRIMARY KEY, seed int NOT NULL);
CREATE TABLE right_book (n int PRIMARY KEY, seed int NOT NULL);
CREATE SEQUENCE invoices;
INSERT INTO orders (id) SELECT generate_series(1, 2000);
INSERT INTO left_book SELECT n, 0 FROM generate_series(1, 20) AS n;
INSERT INTO right_book SELECT n, 0 FROM generate_series(1, 20) AS n;
"""
STEPS = 6
QUERIES = (
    "SELECT * FROM orders ORDER BY id LIMIT 20",
    "SELECT count(*), sum(qty) FROM orders",
    "SELECT abalance FROM pgbench_accounts WHERE aid = 77",
    "SELECT sum(abalance) FROM pgbench_accounts",
    "SELECT l.n, l.seed, r.seed FROM left_book l JOIN right_book r USING (n) ORDER BY 1",
)
OURS = "application_name = 'stepwell' AND datname = current_database()"
STANDING = (
    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - state_change)) * 1000, 0)::float8"
    f" FROM pg_stat_activity WHERE {OURS} AND state LIKE 'idle in transaction%'"
)
BEHIND_US = (
    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - l.waitstart)) * 1000, 0)::float8 FROM pg_locks l"
    " WHERE NOT l.granted AND l.pid IN (SELECT pid FROM pg_stat_activity WHERE application_name <> 'stepwell')"
    f" AND pg_blocking_pids(l.pid) && ARRAY(SELECT pid FROM pg_stat_activity WHERE {OURS})"
)
FOUND = """
SELECT current_setting('search_path'), to_regclass('orders') = 'public.orders'::regclass,
       coalesce(current_setting('stepwell.snapshot', true), ''), current_setting('default_transaction_read_only'),
       current_setting('transaction_read_only'), current_setting('transaction_isolation'),
       (SELECT count(*) FROM pg_prepared_statements) + (SELECT count(*) FROM pg_cursors),
       (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory')
"""
"""What a client of the pool finds in the session that it is lent."""


def set_up(dsn: str) -> UUID:
    """pgbench's tables and some of an application's own, all watched but one; and a run whose steps write to them."""
    pgbench(dsn, "-i", "-q", "-s", "1")
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(MAKE)
        for table in TABLES:
            watch(owner, table)
        with stepwell.Recorder(dsn) as recorder, recorder.run("refund") as run:

            def refund(order: int) -> int:
                owner.execute("UPDATE orders SET status = 'refunded' WHERE id = %s", (order,))
                owner.execute("UPDATE pgbench_accounts SET abalance = abalance - 1 WHERE aid = %s", (order,))
                return order

            for order in range(1, STEPS + 1):
                run.tool(refund, order)
    return run.run_id


@dataclass
class Work:
    """What one of those at work came to. `longest` is in milliseconds."""

    done: int = 0
    longest: float = 0.0
    faults: list[str] = field(default_factory=list)


@dataclass
class Watcher:
    """What was seen of the debugger meanwhile, by looks every 50 ms. In milliseconds."""

    standing: float = 0.0
    """The longest that one of its transactions had stood idle."""
    kept: float = 0.0
    """The longest that somebody had waited for a lock of its."""
    moves: int = 0
    weaker: int = 0
    """How many of these found no safe snapshot in time among the serializable writers."""
    answers: int = 0
    refused: list[str] = field(default_factory=list)
    """Why a read was given up: the debugger itself waits for nobody long."""
    other: list[str] = field(default_factory=list)
    """Answers that were called exact and were not those of the first time."""


@contextmanager
def at_work(dsn: str, act: Act, work: Work, *, pause: float = 0.0) -> Iterator[None]:
    """Somebody who does this again and again, in a thread and over a connection of their own."""
    stop = threading.Event()

    def loop() -> None:
        with psycopg.connect(
            dsn, autocommit=True, prepare_threshold=None, application_name="shop"
        ) as connection:
            for number in count():
                began = time.perf_counter()
                try:
                    act(connection, number)
                    work.done += 1
                except psycopg.Error as problem:
                    work.faults.append(f"{problem.sqlstate} {problem}")
                    with suppress(psycopg.Error):
                        connection.rollback()
                work.longest = max(work.longest, (time.perf_counter() - began) * 1000)
                if stop.wait(pause):
                    return

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def update_one(connection: Connection, _: int) -> None:
    connection.execute("UPDATE orders SET qty = qty + 1 WHERE id = 1000")


def keep_book(table: str) -> Act:
    """A serializable transaction that reads and writes what nobody else touches: by itself it never fails."""

    def act(connection: Connection, number: int) -> None:
        connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
        connection.execute(f"SELECT sum(seed) FROM {table} WHERE n <= 10".encode())
        connection.execute(f"UPDATE {table} SET seed = seed + 1 WHERE n = %s".encode(), (number % 20 + 1,))
        connection.execute("COMMIT")

    return act


OWNERS = (
    "ALTER TABLE orders ADD COLUMN IF NOT EXISTS extra_{0} int",
    "CREATE INDEX IF NOT EXISTS orders_{0} ON orders (qty)",
    "VACUUM ANALYZE orders",
    "DROP INDEX IF EXISTS orders_{0}",
    "ALTER TABLE orders DROP COLUMN IF EXISTS extra_{0}",
)
"""What the owner of a table does to it now and then, one after the other; again where the day before ended."""


def owning(alters: Work) -> Act:
    """The owner's acts in turn; what those come to that lock everybody out is told apart."""

    def act(connection: Connection, number: int) -> None:
        lap, place = divmod(number, len(OWNERS))
        began = time.perf_counter()
        connection.execute(OWNERS[place].format(lap).encode())
        if OWNERS[place].startswith("ALTER"):
            alters.done += 1
            alters.longest = max(alters.longest, (time.perf_counter() - began) * 1000)

    return act


def look_for_traces(found: set[Found]) -> Act:
    """A client of the same pool, who looks whether the session that it is lent is as it should be."""

    def act(connection: Connection, _: int) -> None:
        found.update(connection.execute(FOUND).fetchall())

    return act


def debug(dsn: str, run: UUID, stop: threading.Event, seen: Watcher) -> None:
    """Step, ask and look at the changes, in turn and without pause."""
    first: dict[tuple[int, str], object] = {}
    with closing(Replayer(resolve(dsn), run)) as replayer:
        for number in count():
            step, text = number % STEPS + 1, QUERIES[number % len(QUERIES)]
            try:
                world = replayer.at(step)
                seen.moves += 1
                seen.weaker += not world.replay.isolation.startswith("SERIALIZABLE")
                answer = replayer.query(step, Moment.AFTER, text)
                seen.answers += 1
                if _is_exact(answer) and first.setdefault((step, text), answer.rows.rows) != answer.rows.rows:
                    seen.other.append(f"{step} {text}: {answer.rows.rows}")
                replayer.changes(step)
            except DatabaseError as problem:
                seen.refused.append(str(problem))
            if stop.is_set():
                return


def _is_exact(answer: Answer) -> bool:
    verdicts = [relation.verdict for relation in answer.seen if relation.verdict is not None]
    return bool(verdicts) and all(verdict.certainty is Certainty.EXACT for verdict in verdicts)


def look_on(connection: Connection, seen: Watcher) -> None:
    for name, statement in (("standing", STANDING), ("kept", BEHIND_US)):
        row = connection.execute(statement.encode()).fetchone()
        setattr(seen, name, max(getattr(seen, name), row[0] if row else 0.0))


@contextmanager
def debugging(dsn: str, pooled: str, run: UUID) -> Iterator[Watcher]:
    """A debugger in the pool `pooled`, and somebody who looks on."""
    stop, seen = threading.Event(), Watcher()
    debugger = threading.Thread(target=debug, args=(pooled, run, stop, seen))
    debugger.start()
    try:
        with at_work(dsn, lambda connection, _: look_on(connection, seen), Work(), pause=0.05):
            yield seen
    finally:
        stop.set()
        debugger.join()


@dataclass
class Day:
    """What a time of work came to: by who did it, with transactions a second and failures of pgbench."""

    work: dict[str, Work]
    found: set[Found]
    rate: float = 0.0
    failed: int = 0

    @property
    def faults(self) -> list[str]:
        return [fault for work in self.work.values() for fault in work.faults]


def work_day(dsn: str, pooled: str, seconds: int) -> Day:
    """All of them at once, as long as pgbench takes. All but the owner share the pool."""
    day = Day(
        {
            name: Work()
            for name in ("one-row UPDATE", "serializable", "serializable too", "owner", "ALTER TABLE", "spy")
        },
        set(),
    )
    with (
        at_work(pooled, update_one, day.work["one-row UPDATE"]),
        at_work(pooled, keep_book("left_book"), day.work["serializable"]),
        at_work(pooled, keep_book("right_book"), day.work["serializable too"]),
        at_work(dsn, owning(day.work["ALTER TABLE"]), day.work["owner"], pause=0.05),
        at_work(pooled, look_for_traces(day.found), day.work["spy"]),
    ):
        said = pgbench(pooled, "-n", "-f", "-", "-c", "2", "-T", str(seconds), "--max-tries", "1")
    rate, failed = (
        re.search(r"tps = ([\d.]+)", said),
        re.search(r"number of failed transactions: (\d+)", said),
    )
    assert rate is not None
    day.rate, day.failed = float(rate[1]), int(failed[1]) if failed else 0
    return day
