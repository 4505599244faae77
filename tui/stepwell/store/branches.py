"""Branches: runs that have their first steps from another one. Their rows are read as if they were of one run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import Connection, sql

from stepwell.core.branching import Tail
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.store.queries import query

_OWN = b"run_id = %(run_id)s"
"""How the queries for the steps of one run name it."""


class Ancestor(NamedTuple):
    """A run whose steps below `before` are a branch's too, but for those in `hidden`."""

    run_id: UUID
    before: int
    hidden: tuple[int, ...] = ()


class BranchId(UUID):
    """The id of a branch, which knows where its steps are; equal to the id itself."""

    ancestors: tuple[Ancestor, ...]

    def __init__(self, run_id: UUID, ancestors: tuple[Ancestor, ...]) -> None:
        super().__init__(int=run_id.int)
        object.__setattr__(self, "ancestors", ancestors)

    def __reduce__(self) -> tuple[type["BranchId"], tuple[UUID, tuple[Ancestor, ...]]]:
        return BranchId, (UUID(int=self.int), self.ancestors)


def resolved(connection: Connection[Any], run_id: UUID) -> UUID:
    """The id of a run, which tells where its steps are if it is a branch. Raises what psycopg raises.

    Where a run has its first steps from does not change as long as it is there.
    """
    if isinstance(run_id, BranchId) or not _has_runs(connection):
        return run_id
    found = connection.execute(query("read_ancestors"), {"run_id": run_id}, prepare=False).fetchall()
    ancestors = tuple(Ancestor(parent, before, tuple(hidden)) for parent, before, hidden in found)
    return BranchId(run_id, ancestors) if ancestors else run_id


class Whereabouts:
    """Where the steps of one run are, looked up once."""

    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id
        self._is_known = isinstance(run_id, BranchId)

    def of(self, connection: Connection[Any]) -> UUID:
        """See `resolved`."""
        if not self._is_known:
            self._run_id, self._is_known = resolved(connection, self._run_id), True
        return self._run_id


def _has_runs(connection: Connection[Any]) -> bool:
    row = connection.execute(query("read_tables"), prepare=False).fetchone()
    return row is not None and bool(row[1])


def steps_query(name: str, run_id: UUID) -> bytes:
    """A query for the steps of a run; of a branch for those of the runs that it leaves, too.

    For any other run it is the query as it stands in its file.
    """
    text = query(name)
    if not isinstance(run_id, BranchId):
        return text
    return text.replace(_OWN, b"(" + _OWN + _of_ancestors(run_id).encode() + b")")


def steps_of(run_id: UUID) -> sql.Composable:
    """The condition for the rows of a run's steps."""
    own = sql.SQL("run_id = {}").format(sql.Literal(run_id))
    if not isinstance(run_id, BranchId):
        return own
    return sql.SQL("({} {})").format(own, sql.SQL(_of_ancestors(run_id)))


def _of_ancestors(branch: BranchId) -> str:
    """What else holds of the rows of a branch: SQL of nothing but ids and numbers."""
    return "".join(
        f" OR run_id = '{ancestor.run_id}' AND step_number < {ancestor.before:d}"
        + (
            f" AND step_number <> ALL ('{{{','.join(map(str, ancestor.hidden))}}}')"
            if ancestor.hidden
            else ""
        )
        for ancestor in branch.ancestors
    )


def fork(connection: Connection[Any], run_id: UUID, tail: Tail, name: str | None = None) -> UUID:
    """Store a branch of a run, which has that one's name if it has none of its own; its id.

    In a transaction of its own, or as part of the one that is open. Raises DatabaseError, with nothing stored, and
    NotFoundError where the run is gone.
    """
    # `uuid4` may be the one that a replay has put in its place.
    branch = UUID(bytes=os.urandom(16), version=4)
    edited = tail.edited
    own = tail.own
    payload = None if edited is None else edited.payload
    rows = {
        "branch": branch,
        "number": tail.number,
        "numbers": [each.number for each in own],
        "places": [each.place for each in own],
        "befores": [each.before for each in own],
        "opens": [each.open for each in own],
        "inputs": [each.input for each in own],
        "exacts": [each.input_exact for each in own],
        "output": payload and payload.output,
        "output_exact": payload and payload.output_exact,
    }
    run = {"branch": branch, "name": name, "number": tail.number, "whole": tail.whole}
    counts = {"steps": tail.steps, "finished": tail.finished}
    with _explained(connection), connection.transaction():
        source = resolved(connection, run_id)
        begun = connection.execute(query("fork_run"), {"run_id": source, **run, **counts}, prepare=False)
        if begun.fetchone() is None:
            raise NotFoundError(
                f"run {str(run_id)[:8]} has no row in agent_runs to fork from; stepwell init lists runs that were"
                " written by hand"
            )
        connection.execute(steps_query("fork_steps", source), {"run_id": source, **rows}, prepare=False)
    return branch


@contextmanager
def _explained(connection: Connection[Any]) -> Iterator[None]:
    """What the database has against it, in one line with the remedy."""
    who, where = connection.info.user, connection.info.dbname
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as problem:
        raise DatabaseError(
            f"{who} may not save a branch in {where}: {problem.diag.message_primary}; that takes INSERT on agent_runs"
            " and agent_steps, as the role stepwell_recorder has it (see sql/roles.sql)"
        ) from problem
    except psycopg.errors.ForeignKeyViolation as problem:
        raise NotFoundError("the run has been deleted meanwhile; nothing was saved") from problem
    except psycopg.errors.ReadOnlySqlTransaction as problem:
        raise DatabaseError(
            "this server takes no writes (a standby?); save the branch on the primary"
        ) from problem
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as problem:
        said = problem.diag.message_primary
        raise DatabaseError(
            f"a branch cannot be saved in {where}: {said}; bring it up to date: stepwell init"
        ) from problem
    except psycopg.Error as problem:
        said = problem.diag.message_primary or str(problem).strip()
        raise DatabaseError(f"the branch was not saved: {said}") from problem
