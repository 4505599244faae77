"""Whole runs, for a replay through the agent's own code."""

from contextlib import closing

from stepwell.core.recorded import RecordedRun
from stepwell.store import reading
from stepwell.store.connect import Target
from stepwell.store.reader import Reader
from stepwell.store.recorded import read_recorded


def load(target: Target, prefix: str) -> RecordedRun:
    """The run whose id begins so, `@failed` or `@last`, with all its steps. Raises NotFoundError, UsageError."""
    with closing(Reader(target)) as reader:
        return reader.read(lambda c: read_recorded(c, reading.find_run(c, prefix)))[0]
