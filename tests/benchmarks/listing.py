"""What a page of the list of runs costs where there are many."""

import psycopg

from stepwell.replay.runs import Runs
from stepwell.store.connect import resolve
from tests.benchmarks.harness import Table, in_turns, ms, ratio

MAKE_RUNS = """
INSERT INTO agent_runs (run_id, name, status, steps, finished, started_at, finished_at)
SELECT gen_random_uuid(), 'agent ' || n %% 1000, CASE WHEN n %% 50 = 0 THEN 'failed' ELSE 'ok' END, 20, 20,
       now() - make_interval(secs => n), now() - make_interval(secs => n)
FROM generate_series(1, %s) AS n
"""
BARE_PAGE = "SELECT * FROM agent_runs ORDER BY started_at DESC, run_id DESC LIMIT 50"


def first_page(dsn: str, *, quick: bool) -> Table:
    """(e) Pages of 1,000,000 runs, at the top and far down, and of those that match."""
    count, rounds = (2000, 2) if quick else (1_000_000, 40)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(MAKE_RUNS, [count])
        connection.execute("VACUUM ANALYZE agent_runs")
        row = connection.execute(
            "SELECT run_id FROM agent_runs ORDER BY started_at OFFSET 500 LIMIT 1"
        ).fetchone()
    assert row is not None
    runs = Runs(resolve(dsn))
    far = runs.find(str(row[0]))
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as bare:
        times = in_turns(
            {
                "bare SELECT … LIMIT 50": lambda: bare.execute(BARE_PAGE).fetchall(),
                "first page": lambda: runs.page(50),
                "a page at the other end": lambda: runs.page(50, after=far),
                "first page of those that failed": lambda: runs.page(50, failed=True),
                "first page of a name": lambda: runs.page(50, text="agent 77"),
                "a name that no run has": lambda: runs.page(50, text="nothing like it"),
                "the same of those that failed": lambda: runs.page(50, text="nothing like it", failed=True),
                "how an id begins": lambda: runs.page(50, text="7f3a"),
                "how many there are": lambda: runs.count() or (),
            },
            rounds,
        )
    runs.close()
    table = Table(f"The list of {count:,} runs", ["", "ms", "against the bare SELECT"])
    bare_ms = times["bare SELECT … LIMIT 50"]
    table.rows += [[name, ms(taken), ratio(taken, bare_ms)] for name, taken in times.items()]
    return table
