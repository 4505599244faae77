"""Replaying in this process: `stepwell.replay`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from stepwell.core.explaining import explained
from stepwell.core.rerun import Report
from stepwell.errors import NotFoundError
from stepwell.replay.recorded import load
from stepwell.rerun.database import Database
from stepwell.rerun.executing import Instead
from stepwell.rerun.playing import Agent, Terms, play
from stepwell.rerun.stops import Diverged, Refused, Stop
from stepwell.store.connect import resolve


def replay(
    run_id: UUID | str,
    agent: Agent,
    to: int | None = None,
    *,
    dsn: str | None = None,
    pure: Collection[str] = (),
    stand_ins: Mapping[str, Callable[..., Any]] | None = None,
) -> Report:
    """Call `agent` with the run as it was recorded. Raises Diverged where it does otherwise.

    The agent gets the same `run` as when it was recorded: models and tools answer from the recording, at most to step
    `to`; the clock, `random` and `uuid4` are the recorded ones. An object with `llm_response`, `tool_result` and
    `step()`, or a class or function that makes one, is fed with the answers instead: see `stepwell.rerun.push`.
    `run_id` may be the beginning of an id, `@failed` or `@last`, `dsn` as for a Recorder. Tools named in `pure` are
    executed again and compared, those in `stand_ins` replaced. Raises Refused where the recording has no answer that
    can be handed out, NotFoundError and UsageError where there is no such run or step, UsageError while another
    thread of this process replays. What ends the agent is compared with what ended it then, a Ctrl-C of now goes
    through.

    `run.connection` is the database as of where the agent is: of psycopg, to be awaited where a loop runs, unless
    `run.named` was given one that is not; watched tables are meant by their names without a schema. It is read-only;
    what the agent writes to a watched table it alone sees. For that it is called a second time, from the beginning,
    unless it is known to write (`stepwell.rerun.database`): what it prints by then is printed twice, and what it has
    left in its modules is there. What begins and ends its transactions means savepoints.
    """
    target = resolve(dsn)
    recorded = load(target, str(run_id))
    if to is not None and to not in recorded.by_number:
        raise NotFoundError(f"{str(recorded.head.run_id)[:8]}: no step {to!r}; it has {len(recorded.steps)}")
    report = play(
        recorded, agent, to, Terms(instead=Instead(pure, stand_ins or {}), database=Database(target))
    )
    if (stop := stop_of(report)) is not None:
        raise stop
    return report


def stop_of(report: Report, *advice: str) -> Stop | None:
    """What is raised for a report, None where the agent did what was recorded. `advice` is for a divergence."""
    stop: Stop
    if report.divergence is not None:
        stop = Diverged(report.divergence)
        notes = [explained(report.divergence), *advice]
    elif report.refused is not None:
        stop, notes = Refused(report.refused), []
    else:
        return None
    for note in (*notes, *(f"note: {note}" for note in report.notes)):
        stop.add_note(note)
    return stop
