"""A recorded run of another database into the tables, row by row as it was there."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime

import psycopg

from stepwell.core import codec
from stepwell.core.identity import Identities
from stepwell.core.lines import one_line
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.recording import storable
from stepwell.core.steps import TOOL_CALL, Stored
from stepwell.store.importing import Imported, explained
from stepwell.store.queries import query

_DIED = ("running", "died")
"""What a run is that has not ended, which nobody goes on with here."""

_FROM_FILE = "recording"
"""The source of a run of which nothing else says that nobody writes it here by hand."""


def import_recorded(
    connection: psycopg.Connection,
    run: RecordedRun,
    at: datetime,
    on_step: Callable[[], None] = lambda: None,
) -> Imported:
    """Store the run in one transaction of its own, under its own id; if it is there already it stays untouched.

    `at` stands where a column needs a time and the run has none. Raises DatabaseError, with nothing stored.
    """
    run_id = run.head.run_id
    with explained(connection), connection.transaction():
        if connection.execute(query("insert_recorded_run"), _run_row(run, at)).fetchone() is None:
            return Imported(there=[run_id])
        identities, name = Identities(run), str(run_id)
        with connection.cursor() as cursor, cursor.copy(query("copy_recorded_steps")) as copy:
            for step in run.steps:
                copy.write_row((name, *_step_row(step, _call_hash(step, identities), run.head.started or at)))
                on_step()
    return Imported(new=[run_id], steps=len(run.steps))


def _run_row(run: RecordedRun, at: datetime) -> dict[str, object]:
    head = run.head
    kind, _, message = (head.error or "").partition(": ")
    last = max((step.number for step in run.steps), default=0)
    status = None if head.status == "unknown" else "running" if head.status in _DIED else head.status
    return {
        "run_id": head.run_id,
        "name": _plain(head.name),
        "status": status,
        "tags": one_line(dict(head.tags)) if head.tags else None,
        "steps": last,
        "finished": last - sum(step.in_doubt for step in run.steps),
        "agents": [storable(agent) for agent in head.agents],
        "started_at": head.started or at,
        "finished_at": head.finished,
        "error": codec.dump({"type": storable(kind), "message": storable(message)}) if head.error else None,
        "loop": None if head.loop is None else codec.dump(asdict(head.loop)),
        "source": _plain(head.source) or (None if status else _FROM_FILE),
        "seed": run.seed,
        "random": run.random,
        "zone": _plain(run.zone),
        "drawn": codec.dump(list(run.drawn)) if run.drawn else None,
        "result": run.result,
        "result_exact": run.result_exact,
    }


def _step_row(step: RecordedStep, call_hash: int | None, at: datetime) -> tuple[object, ...]:
    row = step.payload
    own = row.chain[0] if row.chain else Stored(step.number, row.input, row.input_exact)
    return (
        step.number, storable(step.type), own.plain, row.output, step.started or step.finished or at, step.seed,
        _plain(step.agent), _plain(step.name), step.parent, step.started, step.finished, step.finished_order,
        step.finished_before, step.started_before, row.error, own.exact, row.output_exact,
        step.tokens_in, step.tokens_out, _plain(step.finish_reason), call_hash, step.lane,
        codec.dump(list(step.drawn)) if step.drawn else None, step.random_after, _plain(step.form),
        own.base, own.keep, _plain(own.list), own.removed,
    )  # fmt: skip


def _call_hash(step: RecordedStep, identities: Identities) -> int | None:
    """Of a finished tool call, by which laps of a loop are told: equal for the same name, arguments and outcome."""
    if step.type != TOOL_CALL or step.in_doubt:
        return None
    row = step.payload
    asked = identities.digest(step).hex()
    return codec.digest(f"{step.name!a} {asked} {row.output} {row.output_exact} {row.error}")


def _plain(text: str | None) -> str | None:
    return None if text is None else storable(text)
