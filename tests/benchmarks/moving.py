"""What a move costs: against a bare SERIALIZABLE SELECT of the rows that its fold needs."""

from contextlib import closing
from statistics import median
from time import perf_counter
from uuid import UUID

import psycopg
from psycopg import IsolationLevel

from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.benchmarks.harness import Table, in_turns, ms, ratio

RUN = UUID("7f3a0000-0000-4000-8000-000000000001")

# Ten steps in turn: four model calls, four tool calls, two of state. Text that does not compress: 14 KB a call, and of
# those beyond 10,000 steps 1 KB. Every 64th state is given whole, as a recorder gives it.
MAKE_STEPS = """
INSERT INTO agent_steps (run_id, step_number, step_type, name, input, output, started_at, finished_at,
                         finished_order, finished_before, started_before, tokens_in, tokens_out)
SELECT %(run)s, n, type, type,
       CASE CASE WHEN n %% 320 = 0 THEN 'whole' ELSE type END
           WHEN 'llm_call' THEN jsonb_build_object('messages', jsonb_build_array(
                                    jsonb_build_object('role', 'user', 'content', text)))
           WHEN 'tool_call' THEN jsonb_build_object('query', n)
           WHEN 'whole' THEN jsonb_build_object('$patch', jsonb_build_array(jsonb_build_object(
                    'at', '{"customer": 5}'::jsonb, 'set', '[]'::jsonb, 'to', jsonb_build_object(
                        'customer', 42, 'tries', n, 'plan', (
                            SELECT jsonb_agg('look at order ' || n - 5 * ((n / 5 - place + 8) %% 8) ORDER BY place)
                            FROM generate_series(0, 7) AS place)))))
           ELSE jsonb_build_object('$patch', jsonb_build_array(
                    jsonb_build_object('set', jsonb_build_array('tries'), 'to', n),
                    jsonb_build_object('set', jsonb_build_array('plan', n / 5 %% 8), 'to', 'look at order ' || n)))
       END,
       CASE type WHEN 'llm_call' THEN jsonb_build_object('content', 'call the tool ' || n)
                 WHEN 'tool_call' THEN jsonb_build_object('rows', text)
                 ELSE '["$.tries"]' END,
       now(), now(), n, n - 1, n, 3000, 20
FROM generate_series(1, %(steps)s) AS n
CROSS JOIN LATERAL (
    SELECT CASE WHEN n %% 10 IN (0, 5) THEN 'state_update' WHEN n %% 2 = 0 THEN 'tool_call' ELSE 'llm_call' END
) AS kind (type)
CROSS JOIN LATERAL (
    SELECT string_agg(md5(n || '.' || i), '') FROM generate_series(1, CASE WHEN n <= 10000 THEN 450 ELSE 32 END) AS i
    WHERE type <> 'state_update'
) AS payload (text)
"""
FIRST_STATE = """
UPDATE agent_steps
SET input = '{"$patch": [{"set": [], "to": {"plan": [0, 1, 2, 3, 4, 5, 6, 7], "customer": 42}}]}'
WHERE run_id = %(run)s AND step_number = 5
"""
STATE_ROWS = """
SELECT step_number, agent, name, input::text, output::text FROM agent_steps
WHERE run_id = %s AND step_number <= %s AND step_type = 'state_update' ORDER BY finished_order
"""
LIGHT_COLUMNS = """
SELECT agent, step_number, step_type, finished_order, tokens_in, tokens_out FROM agent_steps
WHERE run_id = %s AND step_number <= %s
"""
PAYLOADS = (
    "SELECT step_number, input::text, output::text FROM agent_steps WHERE run_id = %s AND step_number <= %s"
)


def moves(dsn: str, *, quick: bool) -> Table:
    """(c) The world of step N of a run of 100,000 steps; the payloads of the first 10,000 take more than 100 MB."""
    sizes, rounds = ((10, 20), 2) if quick else ((100, 1_000, 10_000, 100_000), 25)
    parameters = {"run": RUN, "steps": sizes[-1]}
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, steps, finished) VALUES (%s, 'bench', 'ok', %s, %s)",
            [RUN, sizes[-1], sizes[-1]],
        )
        connection.execute(MAKE_STEPS, parameters)
        connection.execute(FIRST_STATE, parameters)
        connection.execute("VACUUM ANALYZE agent_steps")
        size = connection.execute("SELECT pg_size_pretty(pg_total_relation_size('agent_steps'))").fetchone()
    assert size is not None
    table = Table(
        f"One move in a run of {sizes[-1]:,} steps, {size[0]} of payloads",
        [
            "N",
            "move, ms",
            "beside a writer, ms",
            "first move, ms",
            "SELECT of what the fold needs, ms",
            "move against it",
            "SELECT of all payloads, ms",
        ],
    )
    with (
        closing(Replayer(resolve(dsn), RUN)) as replayer,
        psycopg.connect(dsn, prepare_threshold=None) as bare,
        psycopg.connect(dsn, autocommit=True) as other,
    ):
        bare.isolation_level = IsolationLevel.SERIALIZABLE
        bare.read_only = True
        for number in sizes:
            first = median(_first(dsn, number) for _ in range(min(rounds, 5)))
            table.rows.append(_row(replayer, bare, other, number, rounds, first))
    return table


def _first(dsn: str, number: int) -> float:
    """Milliseconds of a move over a connection over which nothing was folded yet."""
    with closing(Replayer(resolve(dsn), RUN)) as replayer:
        replayer.at(1)
        began = perf_counter()
        replayer.at(number)
        return (perf_counter() - began) * 1000


def _row(
    replayer: Replayer,
    bare: psycopg.Connection,
    other: psycopg.Connection,
    number: int,
    rounds: int,
    first: float,
) -> list[str]:
    def select(*statements: str) -> None:
        for statement in statements:
            bare.execute(statement, [RUN, number]).fetchall()
        bare.rollback()

    def move_beside() -> None:
        other.execute("SELECT pg_current_xact_id()")  # a commit, so that the rows have to be looked at again
        replayer.at(number)

    times = in_turns(
        {
            "beside": move_beside,
            "move": lambda: replayer.at(number),
            "fold": lambda: select(STATE_ROWS, LIGHT_COLUMNS),
        },
        rounds,
    )
    all_payloads = in_turns({"payloads": lambda: select(PAYLOADS)}, min(rounds, 3))["payloads"]
    return [
        f"{number:,}",
        ms(times["move"]),
        ms(times["beside"]),
        ms(first),
        ms(times["fold"]),
        ratio(times["move"], times["fold"]),
        ms(all_payloads),
    ]
