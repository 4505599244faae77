"""Which transactions have written to watched tables while a run went on."""

from collections.abc import Iterable
from typing import Any

from psycopg import Connection, sql

from stepwell.store.asof import Standing
from stepwell.store.capture import LOG
from stepwell.store.texts import read_texts

MOST_TRANSACTIONS = 20_000
"""How many transactions of a log are looked at, and how many entries of the agent's own; the oldest."""


def read_writers(
    connection: Connection[Any], standing: Standing, start: int, end: int
) -> tuple[list[int], bool]:
    """The transactions from `start` to below `end` that have written to a table, and whether there are more.

    However many entries each of them has, one is read. Raises what psycopg raises.
    """
    statement = sql.SQL(
        "WITH RECURSIVE writer AS ("
        "(SELECT e.xid FROM {log} AS e WHERE e.xid >= {start}::xid8 AND e.xid < {end}::xid8 ORDER BY e.xid LIMIT 1)"
        " UNION ALL SELECT next.xid FROM writer CROSS JOIN LATERAL"
        " (SELECT e.xid FROM {log} AS e WHERE e.xid > writer.xid AND e.xid < {end}::xid8 ORDER BY e.xid LIMIT 1)"
        " AS next) SELECT xid::text FROM writer LIMIT {most}"
    ).format(
        log=_log(standing),
        start=sql.Literal(str(start)),
        end=sql.Literal(str(end)),
        most=sql.Literal(MOST_TRANSACTIONS + 1),
    )
    found = [int(xid) for (xid,) in read_texts(connection, statement) if xid is not None]
    return found[:MOST_TRANSACTIONS], len(found) > MOST_TRANSACTIONS


def read_positions(
    connection: Connection[Any], standing: Standing, xids: Iterable[int]
) -> tuple[list[tuple[int, int]], bool]:
    """Transaction and position of what these have written to a table, and whether there is more.

    Raises what psycopg raises.
    """
    wanted = sorted(xids)
    if not wanted:
        return [], False
    statement = sql.SQL(
        "SELECT xid::text, position::text FROM {log} WHERE xid = ANY ({xids}::xid8[]) ORDER BY xid LIMIT {most}"
    ).format(
        log=_log(standing),
        xids=sql.Literal([str(xid) for xid in wanted]),
        most=sql.Literal(MOST_TRANSACTIONS + 1),
    )
    found = [(int(xid or 0), int(position or 0)) for xid, position in read_texts(connection, statement)]
    return found[:MOST_TRANSACTIONS], len(found) > MOST_TRANSACTIONS


def _log(standing: Standing) -> sql.Identifier:
    return sql.Identifier(LOG, f"t{standing.id}")
