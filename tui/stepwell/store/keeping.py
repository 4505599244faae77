"""What is worth keeping: the facts of a run that is about to end, and the mark that it gets."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.rows import dict_row

from stepwell.core.steps import Loop
from stepwell.store.branches import resolved, steps_query
from stepwell.store.queries import query


@dataclass(frozen=True, slots=True)
class Facts:
    """What is recorded of a run, whoever recorded it; of a branch also what it has from the run that it leaves."""

    name: str | None
    steps: int
    raised: int
    in_doubt: int
    loop: Loop | None
    agents: tuple[str, ...]
    started: datetime
    tags: dict[str, Any] = field(default_factory=dict)


def read_facts(connection: Connection[Any], run_id: UUID) -> Facts | None:
    """None where the run is no longer there. Raises what psycopg raises."""
    statement = steps_query("read_facts", resolved(connection, run_id))
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement, {"run_id": run_id}, prepare=False).fetchone()
    if row is None:
        return None
    loop = row["loop"] and Loop(**{part: row["loop"][part] for part in Loop.__dataclass_fields__})
    return Facts(
        row["name"],
        row["steps"],
        row["raised"],
        row["in_doubt"],
        loop,
        tuple(row["agents"]),
        row["started_at"],
        row["tags"] or {},
    )


def keep_run(connection: Connection[Any], run_id: UUID, why: str) -> None:
    """Mark a run as worth keeping. Raises what psycopg raises."""
    connection.execute(query("keep_run"), {"run_id": run_id, "why": why}, prepare=False)
