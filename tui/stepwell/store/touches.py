"""At which steps of a run one row of a watched table was written."""

from typing import Any, NamedTuple
from uuid import UUID

from psycopg import Connection, sql

from stepwell.store.asof import Standing
from stepwell.store.branches import steps_of
from stepwell.store.capture import LOG
from stepwell.store.texts import Texts, equal, read_texts


class Written(NamedTuple):
    """The first step whose end saw a write; `during`: its beginning did not."""

    step: int
    during: bool
    unseen: int
    """The step with the last instant that did not see it: `ended`, that of its end, else that of its beginning."""
    ended: bool
    who: str
    backend: int


def read_touches(
    connection: Connection[Any], standing: Standing, key: Texts, run_id: UUID, most: int
) -> tuple[list[Written], bool]:
    """The writes of a row during the run that its steps have seen, oldest first, and whether there are older ones.

    The newest `most` are looked at of those that were made while it went on, whatever came later. Raises what psycopg
    raises.
    """
    statement = sql.SQL(
        "WITH step AS MATERIALIZED (SELECT step_number, finished_order, snapshot_before,"
        " own_before, position_before, snapshot_after, own_after, position_after FROM agent_steps"
        " WHERE {run} AND snapshot_before IS NOT NULL AND snapshot_after IS NOT NULL),"
        " e AS MATERIALIZED (SELECT position, xid, who, backend FROM {log} WHERE {same}"
        " AND (xid >= (SELECT min(pg_snapshot_xmin(snapshot_before)) FROM step)"
        " AND xid < (SELECT max(pg_snapshot_xmax(snapshot_after)) FROM step)"
        " OR xid IN (SELECT own_after FROM step))"
        " ORDER BY position DESC LIMIT {most})"
        " SELECT e.who, e.backend::text, s.step_number::text, s.during::text, u.step_number::text, u.ended::text"
        " FROM e LEFT JOIN LATERAL"
        " (SELECT step_number, NOT ({before}) AS during FROM step WHERE {after}"
        " ORDER BY coalesce(finished_order, step_number), step_number LIMIT 1) AS s ON true LEFT JOIN LATERAL"
        " (SELECT step_number, NOT ({after}) AS ended FROM step WHERE NOT ({before})"
        " ORDER BY pg_snapshot_xmax(CASE WHEN {after} THEN snapshot_before ELSE snapshot_after END) DESC,"
        " step_number DESC LIMIT 1) AS u ON true ORDER BY e.position"
    ).format(
        log=sql.Identifier(LOG, f"t{standing.id}"),
        same=sql.SQL(" AND ").join(
            equal(sql.Identifier(f"a{number}"), sql.Literal(value))
            for number, value in zip(standing.key, key, strict=True)
        ),
        most=sql.Literal(most + 1),
        run=steps_of(run_id),
        before=_seen("before"),
        after=_seen("after"),
    )
    found = read_texts(connection, statement)
    seen = [
        Written(int(step), during == "true", int(unseen), ended == "true", who or "", int(backend or 0))
        for who, backend, step, during, unseen, ended in found[-most:]
        if step is not None and unseen is not None
    ]
    return seen, len(found) > most


def _seen(when: str) -> sql.Composed:
    """Whether an instant of a step has an entry in it."""
    snapshot, own, position = (
        sql.Identifier("step", f"{name}_{when}") for name in ("snapshot", "own", "position")
    )
    return sql.SQL(
        "CASE WHEN e.xid = {own} THEN e.position <= {position}"
        " ELSE pg_visible_in_snapshot(e.xid, {snapshot}) END"
    ).format(own=own, position=position, snapshot=snapshot)
