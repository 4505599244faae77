"""Runs and steps to list and read, written without the recorder."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def run_id(number: int) -> UUID:
    """Ids that sort as their numbers do."""
    return UUID(int=number << 96 | 0x4000_8000_0000_0000_0000)


def add_run(dsn: str, run: UUID, *, minute: float = 0, **columns: object) -> UUID:
    """Insert a row of agent_runs that began so many minutes after noon; its id."""
    row = {"run_id": run, "started_at": NOON + timedelta(minutes=minute), **columns}
    with psycopg.connect(dsn) as connection:
        connection.execute(_insert("agent_runs", row), list(row.values()))
    return run


def add_step(dsn: str, run: UUID, number: int, type_: str = "tool_call", **columns: object) -> None:
    """Insert a row of agent_steps; `output` is left out for a step in doubt."""
    row = {"run_id": run, "step_number": number, "step_type": type_, "input": Jsonb({}), **columns}
    with psycopg.connect(dsn) as connection:
        connection.execute(_insert("agent_steps", row), list(row.values()))


def _insert(table: str, row: dict[str, object]) -> sql.Composed:
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(sql.Placeholder() * len(row)),
    )
