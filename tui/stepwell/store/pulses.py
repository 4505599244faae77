"""What becomes of runs, at a glance: cheap enough to look every half second."""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

import psycopg

from stepwell.core.liveness import ALIVE_SECONDS
from stepwell.core.steps import RunHead
from stepwell.store.queries import query


class Pulse(NamedTuple):
    """A run as far as anything shows that it has changed."""

    status: str
    steps: int
    unfinished: int

    @classmethod
    def of(cls, run: RunHead) -> "Pulse":
        """That of a run as it was read."""
        return cls(run.status, run.steps, run.unfinished)


def read_pulses(connection: psycopg.Connection, run_ids: Iterable[UUID]) -> dict[UUID, Pulse]:
    """Those of the runs that are there. Raises what psycopg raises."""
    wanted = {"run_ids": list(run_ids), "patience": ALIVE_SECONDS}
    found = connection.execute(query("read_pulses"), wanted, prepare=False)
    return {run_id: Pulse(*pulse) for run_id, *pulse in found}
