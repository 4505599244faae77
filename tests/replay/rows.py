"""Rows as people write them by hand."""

from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

RUN = UUID("7f3a0000-0000-4000-8000-000000000001")


class _Missing:
    """Stands for an output that never came."""


def add_step(
    dsn: str,
    number: int,
    type_: str,
    *,
    input: object = None,
    output: object = _Missing,
    run_id: UUID = RUN,
    **columns: object,
) -> None:
    """Insert one row; without `output` the column is NULL, with None it is JSON null."""
    row: dict[str, object] = {
        "run_id": run_id,
        "step_number": number,
        "step_type": type_,
        "input": Jsonb(input),
        **columns,
    }
    if output is not _Missing:
        row["output"] = Jsonb(output)
    statement = sql.SQL("INSERT INTO agent_steps ({}) VALUES ({})").format(
        sql.SQL(", ").join(map(sql.Identifier, row)), sql.SQL(", ").join(sql.Placeholder() * len(row))
    )
    with psycopg.connect(dsn) as connection:
        connection.execute(statement, list(row.values()))


def bare_table(dsn: str, role: str = "stepwell_test_reader") -> str:
    """The eight columns and their index, and a role that may do nothing but read them; its name."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS agent_steps (id serial PRIMARY KEY, run_id uuid NOT NULL,"
            " step_number int NOT NULL, step_type text NOT NULL, input jsonb, output jsonb,"
            " created_at timestamptz DEFAULT now(), seed bigint)"
        )
        connection.execute("CREATE INDEX IF NOT EXISTS by_run ON agent_steps (run_id, step_number)")
        connection.execute(
            f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute(f"GRANT SELECT ON agent_steps TO {role}")
    return role
