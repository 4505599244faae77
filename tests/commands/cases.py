"""A database with one run of each kind that matters, and the command line on it."""

import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from stepwell.cli import main
from tests.replay.rows import add_step

FAILED = UUID("7f3a0000-0000-4000-8000-000000000001")
DIED = UUID("7f810000-0000-4000-8000-000000000002")
WELL = UUID("04aa0000-0000-4000-8000-000000000003")
HOSTILE = "\x1b]52;c;cm0=\x07\x1b[31mred\r\u202e[/b]\u009b2J"
LOOP = {"name": "search_orders", "first": 3, "last": 4, "period": 1, "laps": 24}


def fill(dsn: str, name: str = "refund-triage") -> None:
    """Three runs, named `name`: the newest failed, one died (its recorder holds no lock), one is well."""
    error = {"type": "MaxTurnsError", "message": "25 turns"}
    with psycopg.connect(dsn) as connection:
        for run_id, status, steps, finished, minutes, extra in (
            (FAILED, "failed", 4, 4, 3, {"error": Jsonb(error), "loop": Jsonb(LOOP)}),
            (DIED, "running", 1, 0, 9, {}),
            (WELL, "ok", 1, 1, 60, {}),
        ):
            connection.execute(
                "INSERT INTO agent_runs (run_id, name, status, steps, finished, error, loop, started_at, finished_at)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, now() - make_interval(mins => %s),"
                " CASE WHEN %s <> 'running' THEN now() END)",
                (
                    run_id,
                    name,
                    status,
                    steps,
                    finished,
                    extra.get("error"),
                    extra.get("loop"),
                    minutes,
                    status,
                ),
            )
    prompt = {"messages": [{"role": "user", "content": f"find {HOSTILE}"}]}
    known = {"finished_order": 1, "tokens_in": 12, "tokens_out": 3, "name": "gpt-5-mini"}
    add_step(dsn, 1, "llm_call", input=prompt, output={"text": "searching"}, run_id=FAILED, **known)
    plan = {"plan": ["find order"], "tries": 3}
    add_step(dsn, 2, "state_update", output=plan, run_id=FAILED, finished_order=2)
    for number in (3, 4):
        found = [{"id": 8102}, {"id": 8177, "note": HOSTILE}]
        query = {"query": "lamp"}
        columns = {"name": "search_orders", "finished_order": number, "call_hash": 5}
        add_step(dsn, number, "tool_call", input=query, output=found, run_id=FAILED, **columns)
    begun = {"name": "send_email", "started_at": datetime(2025, 3, 1, 12, tzinfo=UTC)}
    add_step(dsn, 1, "tool_call", input={"to": "ada"}, run_id=DIED, **begun)
    add_step(dsn, 1, "tool_call", output=1, run_id=WELL, name="get_customer", finished_order=1)


def stepwell(dsn: str, *words: str) -> int:
    """The command line within this process."""
    return main(["--dsn", dsn, *words])


def shell(*words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """The command line as a process of its own."""
    command = [sys.executable, "-m", "stepwell", *words]
    return subprocess.run(command, capture_output=True, env=env, check=False, timeout=60)
