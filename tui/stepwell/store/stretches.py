"""Stretches of a run: folded by the server, and looked at again for what has changed since."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from stepwell.core.stretches import BEGINNING, Mark, Scope, Stretch, Totals
from stepwell.store.branches import steps_query
from stepwell.store.queries import query

LATER = 2**63
"""Than any transaction."""


class Held(NamedTuple):
    """What a stretch holds now."""

    rows: int
    newest: int
    """The last transaction that wrote one of its rows."""


def read_shape(connection: psycopg.Connection) -> str | None:
    """What the table of steps is; None where nothing tells whether its rows are as they were."""
    row = connection.execute(query("read_shape"), prepare=False).fetchone()
    return None if row is None else str(row[0])


def fold_stretches(
    connection: psycopg.Connection, run_id: UUID, after: int, through: int, every: int, mark: Mark
) -> list[Stretch]:
    """As many stretches of `every` rows as there are after a step, up to another one."""
    between = {"run_id": run_id, "after": after, "through": through, "every": every}
    with connection.cursor(row_factory=namedtuple_row) as cursor:
        found: list[Any] = cursor.execute(
            steps_query("fold_stretches", run_id), between, prepare=False
        ).fetchall()
    rows = {last: list(group) for last, group in groupby(found, key=lambda row: int(row.last))}
    wholes: dict[int, dict[Scope, int]] = {last: {} for last in rows}
    for last, shared, agent, place in connection.execute(
        steps_query("fold_wholes", run_id), _limits(run_id, after, list(rows)), prepare=False
    ):
        wholes[last][shared, agent] = place
    return [_stretch(last, rows[last], wholes[last], mark) for last in rows]


def read_changes(connection: psycopg.Connection, run_id: UUID, stretches: Sequence[Stretch]) -> list[Held]:
    """What each of the stretches holds now; they are the first of the run."""
    lasts = [stretch.last for stretch in stretches]
    statement = steps_query("read_changes", run_id)
    found = connection.execute(statement, _limits(run_id, BEGINNING, lasts), prepare=False)
    return [Held(rows, _transaction(newest)) for rows, newest in found]


def _limits(run_id: UUID, after: int, lasts: list[int]) -> dict[str, object]:
    return {"run_id": run_id, "afters": [after, *lasts[:-1]][: len(lasts)], "lasts": lasts}


def _stretch(last: int, rows: Iterable[Any], wholes: dict[Scope, int], mark: Mark) -> Stretch:
    """Of the rows of its agents."""
    found = list(rows)
    states: dict[Scope, tuple[int, ...]] = {(False, row.agent): tuple(row.own) for row in found if row.own}
    if shared := [number for row in found for number in row.shared or ()]:
        states[True, None] = tuple(shared)
    return Stretch(
        last=last,
        rows=sum(row.rows for row in found),
        newest=max(_transaction(row.newest) for row in found),
        mark=mark,
        ordered=any(row.ordered for row in found),
        agents={
            row.agent: Totals(row.steps, row.response, row.result, row.tokens_in, row.tokens_out)
            for row in found
            if row.steps
        },
        loose=tuple(number for row in found for number in row.loose or ()),
        states=states,
        wholes=wholes,
    )


def _transaction(number: int | None) -> int:
    """One that is not known is taken for later than any."""
    return LATER if number is None else number
