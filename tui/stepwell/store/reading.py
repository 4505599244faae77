"""Rows to values. Every function here reads only, and leaves the transaction that it is in alone."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row

from stepwell.core.liveness import ALIVE_SECONDS
from stepwell.core.past import Origin
from stepwell.core.search import Found, folds_case, spellings
from stepwell.core.steps import Loop, Payload, RunHead, StepHead, Stored
from stepwell.core.whole import payload
from stepwell.errors import DatabaseError, NotFoundError, UsageError
from stepwell.store.branches import steps_query
from stepwell.store.filters import filter_of, id_range, ids_of
from stepwell.store.limits import EVERYTHING
from stepwell.store.queries import query

Row = dict[str, Any]

FEW = 100_000
"""Up to so many runs are counted exactly."""
SEVERAL = 6
"""Of so many runs whose ids begin alike no more are looked for."""


def rows(connection: psycopg.Connection, name: str, **parameters: object) -> list[Row]:
    """All rows of one query as dicts, without a prepared statement, so that poolers do no harm."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query(name), parameters, prepare=False).fetchall()


def step_rows(connection: psycopg.Connection, name: str, run_id: UUID, **parameters: object) -> list[Row]:
    """The same of a query for the steps of a run; `run_id` is as `branches.resolved` gives it."""
    with connection.cursor(row_factory=dict_row) as cursor:
        wanted = {"run_id": run_id, **parameters}
        return cursor.execute(steps_query(name, run_id), wanted, prepare=False).fetchall()


def has_runs_table(connection: psycopg.Connection) -> bool:
    """Whether runs have rows of their own here. Raises DatabaseError where there is no agent_steps either."""
    row = connection.execute(query("read_tables")).fetchone()
    assert row is not None
    steps, runs, user, database, path = row
    if not steps:
        raise DatabaseError(
            f"no table agent_steps in database {database} as {user} (search_path: {path});"
            " create it: stepwell init; example: stepwell demo"
        )
    return bool(runs)


def where(connection: psycopg.Connection) -> str:
    """Role and database, for people: `agents@db1`."""
    row = connection.execute(query("read_tables")).fetchone()
    assert row is not None
    return f"{row[2]}@{row[3]}"


def list_runs(
    connection: psycopg.Connection,
    *,
    limit: int,
    after: RunHead | None = None,
    text: str = "",
    failed: bool = False,
) -> list[RunHead]:
    """A page of runs, newest first, following `after`. `failed` keeps those that failed or died."""
    page = {
        "started": after.started if after else None,
        "run_id": after.run_id if after else None,
        "limit": limit,
    }
    if not has_runs_table(connection):
        first, last = ids_of(text)
        if failed or (text and first is None):
            return []
        return [_bare_run(row) for row in rows(connection, "list_bare_runs", first=first, last=last, **page)]
    wanted = filter_of(connection, text)
    found = rows(connection, "list_runs", failed=failed, patience=ALIVE_SECONDS, **wanted, **page)
    return [_run(row) for row in found]


def count_runs(connection: psycopg.Connection) -> tuple[int, bool] | None:
    """How many runs there are and whether that was counted (else estimated); None for a bare table."""
    if not has_runs_table(connection):
        return None
    row = connection.execute(query("estimate_runs"), {"bound": FEW}).fetchone()
    assert row is not None
    return int(row[0]), bool(row[1])


def find_run(connection: psycopg.Connection, prefix: str) -> RunHead:
    """The one run whose id begins so; `@failed` and `@last` are the newest failed and the newest run.

    Raises NotFoundError for none, UsageError for several or for what cannot begin an id.
    """
    if prefix in ("@failed", "@last"):
        found = list_runs(connection, limit=1, failed=prefix == "@failed")
        if not found:
            raise NotFoundError(
                "no run has failed here" if prefix == "@failed" else "no run is recorded here"
            )
        return found[0]
    first, last = id_range(prefix)
    found, bare = [], None
    if has_runs_table(connection):
        between = {"first": first, "last": last, "limit": SEVERAL}
        found = [_run(row) for row in rows(connection, "find_runs", patience=ALIVE_SECONDS, **between)]
        if len(found) < 2 and not (found and first == last):  # the same id is the same run
            bare = [row["run_id"] for row in rows(connection, "find_bare_runs", **between)]
            if not found and len(bare) == 1:
                found = _bare_runs(connection, bare[0], bare[0])
    else:
        found = _bare_runs(connection, first, last)
    ids = sorted({*(bare or ()), *(run.run_id for run in found)})
    if not ids:
        raise NotFoundError(f"no run's id begins with {prefix}; list them: stepwell runs")
    if len(ids) > 1:
        some = ", ".join(str(run_id)[: len(prefix) + 4] + "…" for run_id in ids[: SEVERAL - 1])
        count = str(len(ids)) if len(ids) < SEVERAL else f"{SEVERAL} or more"
        raise UsageError(f"{prefix} matches {count} runs: {some}; give more of the id")
    return found[0]


def _bare_runs(connection: psycopg.Connection, first: UUID, last: UUID) -> list[RunHead]:
    """A few runs of which only steps exist, with ids between two."""
    page = {"first": first, "last": last, "started": None, "run_id": None, "limit": SEVERAL}
    return [_bare_run(row) for row in rows(connection, "list_bare_runs", **page)]


def step_head(
    number: int,
    type_: str,
    has_output: bool,
    created: datetime | None,
    seed: int | None,
    agent: str | None,
    name: str | None,
    parent: int | None,
    started: datetime | None,
    finished: datetime | None,
    finished_order: int | None,
    error: str | None,
    tokens_in: int | None,
    tokens_out: int | None,
    finish_reason: str | None,
    call_hash: int | None = None,
) -> StepHead:
    """The columns of a head, in their order in the queries, as one."""
    return StepHead(
        number, type_, has_output, created, seed, agent, name, parent, started, finished, finished_order,
        error, tokens_in, tokens_out, finish_reason, call_hash,
    )  # fmt: skip


def read_payload(connection: psycopg.Connection, run_id: UUID, number: int) -> Payload:
    """What a step was given and gave. Raises NotFoundError where the run has no such step."""
    step = {"run_id": run_id, "number": number}
    with connection.cursor(row_factory=dict_row) as cursor:
        bases = steps_query("read_bases", run_id)
        chain = stored_rows(cursor.execute(bases, step | EVERYTHING._asdict(), prepare=False))
    found = step_rows(connection, "read_payload", run_id, number=number)
    if not found or not chain:
        raise NotFoundError(f"run {str(run_id)[:8]} has no step {number}")
    return payload(chain, **found[0])


def search_steps(connection: psycopg.Connection, run_id: UUID, text: str) -> list[Found]:
    """Steps in which `text` occurs, and all model calls; reads every payload of the run as it is stored."""
    needles = list(spellings(text))
    found = step_rows(connection, "search_steps", run_id, needles=needles, fold=folds_case(text))
    columns = ("step_number", "step_type", "agent", "in_input", "in_output", "call_hash", "input_base")
    return [Found(*(row[column] for column in columns)) for row in found]


def stored_rows(cursor: psycopg.Cursor[DictRow]) -> list[Stored]:
    """The inputs that a query has found, each the base of the one before it."""
    return sorted((Stored(**row) for row in cursor), key=lambda row: -row.number)


def _run(row: Row) -> RunHead:
    return RunHead(
        run_id=row["run_id"],
        status=row["status"],
        name=row["name"],
        tags=row["tags"] if isinstance(row["tags"], dict) else {},
        steps=row["steps"],
        unfinished=max(0, row["unfinished"]),
        unfinished_name=row["unfinished_name"],
        unfinished_number=row["unfinished_number"],
        unfinished_started=row["unfinished_started"],
        agents=tuple(row["agents"]),
        started=row["started_at"],
        finished=row["finished_at"],
        error=row["error"],
        loop=_loop(row["loop"]),
        source=row["source"],
        origin=_origin(row["system_identifier"], row["timeline"]),
        parent=row["parent_run_id"],
        forked_at=row["forked_at_step"],
    )


def _origin(system: int | None, timeline: int | None) -> Origin | None:
    return None if system is None or timeline is None else Origin(system, timeline)


def _loop(value: Mapping[str, Any] | None) -> Loop | None:
    return (
        None
        if value is None
        else Loop(**{key: value[key] for key in ("name", "first", "last", "period", "laps")})
    )


def _bare_run(row: Row) -> RunHead:
    return RunHead(
        row["run_id"],
        "unknown",
        steps=row["steps"],
        unfinished=int(row["open"]),
        unfinished_name=row["last_name"] if row["open"] else None,
        unfinished_number=row["last_number"] if row["open"] else None,
        started=row["started_at"],
        finished=row["finished_at"],
    )
