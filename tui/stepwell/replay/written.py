"""The steps of a run during which watched tables were written."""

from collections import defaultdict
from uuid import UUID

import psycopg

from stepwell.core.changed import ChangedSteps, changed_steps, end_of, outermost, owns
from stepwell.core.past import Certainty, Instant, Table
from stepwell.core.verdicts import xmin_of
from stepwell.store.asof import survey
from stepwell.store.instants import read_between, read_instants
from stepwell.store.written import read_positions, read_writers


def read_changed_steps(connection: psycopg.Connection, run_id: UUID) -> ChangedSteps:
    """By the logs of the tables whose past is known at the end of the run.

    Raises NotFoundError where a step has gone meanwhile, and what psycopg raises.
    """
    steps = read_between(connection, run_id)
    if not steps:
        return ChangedSteps((), survey(connection, None, None).tables, 0)
    first, last = outermost(steps)
    start, end = xmin_of(first.before), end_of(last.after)
    origin = read_instants(connection, run_id, last.number).origin
    # Not as of what the agent's own transaction saw, which has doubts of its own.
    found = survey(connection, Instant(last.after.snapshot), origin)
    partly = _blind(found.tables) or _blind(survey(connection, Instant(first.before.snapshot), origin).tables)
    xids: set[int] = set()
    positions: defaultdict[int, list[int]] = defaultdict(list)
    for standing in found.standings:
        if standing.table.verdict.certainty is Certainty.UNKNOWN:
            continue
        writers, more = read_writers(connection, standing, start, end)
        written, longer = read_positions(connection, standing, owns(steps))
        xids.update(writers)
        for xid, position in written:
            positions[xid].append(position)
        partly = partly or more or longer
    return ChangedSteps(changed_steps(steps, xids, positions), found.tables, len(steps), partly)


def _blind(tables: tuple[Table, ...]) -> bool:
    """Whether the past of one of them is not known."""
    return any(table.verdict.certainty is Certainty.UNKNOWN for table in tables)
