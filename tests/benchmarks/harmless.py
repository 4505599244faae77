"""What stepping costs the others: pgbench's transactions with and without a debugger that steps without pause."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from statistics import median

import psycopg
from psycopg.conninfo import conninfo_to_dict

from stepwell.replay import Replayer
from stepwell.store.binaries import locate
from stepwell.store.connect import resolve
from tests.benchmarks.harness import Table, ratio
from tests.benchmarks.moving import FIRST_STATE, MAKE_STEPS, RUN
from tests.threads import running

CLIENTS = 2
OURS = "application_name = 'stepwell' AND datname = current_database()"
BLOCKED_BY_US = (
    "SELECT count(*) FROM pg_stat_activity"
    f" WHERE pg_blocking_pids(pid) && ARRAY(SELECT pid FROM pg_stat_activity WHERE {OURS})"
)
LEFT_OPEN = f"SELECT count(*) FROM pg_stat_activity WHERE {OURS} AND state <> 'idle'"


def beside_writers(dsn: str, *, quick: bool) -> Table:
    """(f) Transactions a second of pgbench, at each level, alone and beside a debugger that never rests."""
    seconds, rounds, steps = (1, 1, 20) if quick else (10, 5, 1000)
    with psycopg.connect(dsn, autocommit=True) as connection:
        parameters = {"run": RUN, "steps": steps}
        connection.execute("DELETE FROM agent_steps WHERE run_id = %s", [RUN])
        connection.execute(MAKE_STEPS, parameters)
        connection.execute(FIRST_STATE, parameters)
    pgbench(dsn, "-i", "-q", "-s", "1")
    table = Table(
        f"pgbench (scale 1, {CLIENTS} clients) beside a debugger that steps through {steps:,} steps without pause",
        [
            "pgbench's level", "alone, tx/s", "beside it, tx/s", "ratio", "failed alone", "failed beside",
            "moves", "not SERIALIZABLE", "blocked by us", "open between moves",
        ],
    )  # fmt: skip
    for level in ("read committed", "serializable"):
        alone, beside = [], []
        seen = Seen()
        for _ in range(rounds):
            alone.append(_run(dsn, level, seconds))
            with stepping(dsn, steps, seen):
                beside.append(_run(dsn, level, seconds))
        rates = [median(rate for rate, _ in runs) for runs in (alone, beside)]
        failed = [sum(number for _, number in runs) for runs in (alone, beside)]
        row = [f"{rates[0]:.0f}", f"{rates[1]:.0f}", ratio(rates[1], rates[0]), *map(str, failed)]
        table.rows.append(
            [level, *row, f"{seen.moves:,}", *map(str, (seen.weaker, seen.blocked, seen.left_open))]
        )
    return table


# pgbench's own "simple update", with half of the accounts for each client: by itself none fails at any level.
SCRIPT = """
\\set aid 1 + :client_id * 50000 + random(0, 49999)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""


class Seen:
    """What was to be seen of a debugger at work."""

    moves = weaker = blocked = left_open = 0


@contextmanager
def stepping(dsn: str, steps: int, seen: Seen) -> Iterator[None]:
    """A debugger that steps without pause, and somebody who looks after each move whom it keeps waiting."""
    stop = threading.Event()

    def step() -> None:
        with closing(Replayer(resolve(dsn), RUN)) as replayer, psycopg.connect(dsn, autocommit=True) as other:
            while not stop.is_set():
                world = replayer.at(seen.moves % steps + 1)
                seen.moves += 1
                seen.weaker += not world.replay.isolation.startswith("SERIALIZABLE")
                if seen.moves % 10 == 0:
                    seen.left_open += _count(other, LEFT_OPEN)

    def look() -> None:
        with psycopg.connect(dsn, autocommit=True) as other:
            while not stop.wait(0.02):
                seen.blocked += _count(other, BLOCKED_BY_US)

    threads = [threading.Thread(target=work) for work in (step, look)]
    with running(threads, stop):
        yield


def _count(connection: psycopg.Connection, statement: str) -> int:
    row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


def _run(dsn: str, level: str, seconds: int) -> tuple[float, int]:
    """Transactions a second, and how many failed, of clients whose rows are their own."""
    isolation = level.replace(" ", r"\ ")
    said = pgbench(
        dsn, "-n", "-f", "-", "-c", str(CLIENTS), "-T", str(seconds), "--max-tries", "1",
        options=f"-c default_transaction_isolation={isolation}",
    )  # fmt: skip
    rate = re.search(r"tps = ([\d.]+)", said)
    failed = re.search(r"number of failed transactions: (\d+)", said)
    assert rate is not None
    return float(rate[1]), int(failed[1]) if failed else 0


def pgbench(dsn: str, *words: str, options: str = "", script: str = SCRIPT) -> str:
    """Run pgbench on the database, `script` on its standard input; what it printed."""
    server = conninfo_to_dict(dsn)
    connection = ["-h", str(server["host"]), "-p", str(server.get("port") or 5432), "-U", str(server["user"])]
    command = [
        "env",
        f"PGOPTIONS={options}",
        str(locate() / "pgbench"),
        *connection,
        *words,
        str(server["dbname"]),
    ]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout
