"""A whole run, read for a replay through the agent's own code."""

from dataclasses import replace
from typing import Any

import psycopg

from stepwell.core.chance import drawn_in
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.steps import RunHead, Stored
from stepwell.core.whole import payload, with_bases
from stepwell.store.branches import BranchId, resolved
from stepwell.store.instants import number_of
from stepwell.store.reading import has_runs_table, rows, step_rows


def read_recorded(connection: psycopg.Connection, head: RunHead) -> RecordedRun:
    """The run with all its steps and all their payloads. A branch began when the run did that it has its first from."""
    head = replace(head, run_id=resolved(connection, head.run_id))
    found = step_rows(connection, "read_recorded_steps", head.run_id)
    stored = {row["step_number"]: _stored(row) for row in found}
    steps = tuple(_step(row, stored) for row in found)
    connected = any(number_of(row["backend"]) is not None for row in found)
    if not has_runs_table(connection):
        return RecordedRun(head, steps, connected=connected)
    first = head.run_id.ancestors[-1].run_id if isinstance(head.run_id, BranchId) else head.run_id
    for row in rows(connection, "read_recorded_run", run_id=head.run_id, first=first):
        drawn, head = row.pop("drawn"), replace(head, started=row.pop("started_at"))
        return RecordedRun(head, steps, **row, drawn=drawn_in(drawn), connected=connected)
    return RecordedRun(head, steps, connected=connected)


def _stored(row: dict[str, Any]) -> Stored:
    return Stored(
        row["step_number"],
        row["input"],
        row["input_exact"],
        row["input_base"],
        row["input_keep"],
        row["input_list"],
        row["input_removed"],
    )


def _step(row: dict[str, Any], stored: dict[int, Stored]) -> RecordedStep:
    number = row["step_number"]
    chain = with_bases(stored[number], stored)
    return RecordedStep(
        number,
        row["step_type"],
        row["name"],
        row["agent"],
        row["parent_step"],
        payload(chain, row["output"], row["output_exact"], row["error"]),
        row["started_at"],
        row["finished_at"],
        row["finished_order"],
        row["lane"],
        row["form"],
        row["random_after"],
        drawn_in(row["drawn"]),
        row["seed"],
        row["tokens_in"],
        row["tokens_out"],
        row["finish_reason"],
        row["finished_before"],
        row["started_before"],
    )
