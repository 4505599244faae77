"""Whole runs, for a replay through the agent's own code."""

from contextlib import closing

from stepwell.core.recorded import RecordedRun
from stepwell.store import reading
from stepwell.store.connect import Target
from stepwell.store.instants import read_all_instants
from stepwell.store.reader import Reader
from stepwell.store.recorded import read_recorded


def load(target: Target, prefix: str) -> RecordedRun:
    """The run whose id begins so, `@failed` or `@last`, with all its steps. Raises NotFoundError, UsageError."""
    with closing(Reader(target)) as reader:
        return reader.read(lambda c: read_recorded(c, reading.find_run(c, prefix)))[0]


def saw_tables(target: Target, run: RecordedRun) -> bool:
    """Whether the agent was given a connection of its own, and a step was recorded with what that saw."""
    with closing(Reader(target)) as reader:
        found = reader.read(lambda c: read_all_instants(c, run.head.run_id))[0]
    sides = (side for step in found.values() for side in (step.before, step.after))
    return any(side is not None and side.backend is not None for side in sides)
