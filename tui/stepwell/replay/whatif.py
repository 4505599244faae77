"""Branches of runs, saved."""

from contextlib import closing
from uuid import UUID

from stepwell.core.branching import Tail
from stepwell.store.branches import fork
from stepwell.store.connect import Target, connect


def save(target: Target, run_id: UUID, tail: Tail, name: str | None = None) -> UUID:
    """Store a branch of a run (`core.branching`), under a name of its own or that of the run; its id.

    Raises NotFoundError where the run has no row of its own, and DatabaseError, one line, for a role that may not, a
    server that takes no writes, and whatever else the database has against it. Nothing is stored then.
    """
    with closing(connect(target)) as connection:
        return fork(connection, run_id, tail, name)
