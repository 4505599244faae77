"""What a recorded run's own connection wrote to watched tables, and what re-executed code did beside their past."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from psycopg import Connection, sql

from stepwell.core.changed import end_of
from stepwell.core.omitted import Watched, Write
from stepwell.core.past import Instant
from stepwell.core.verdicts import xmin_of
from stepwell.store.asof import Standing
from stepwell.store.capture import LOG
from stepwell.store.changes import MOST_ENTRIES
from stepwell.store.overlays import Overlay, listed
from stepwell.store.queries import query


class Row(NamedTuple):
    """One that was written to the overlay of table number `table`, at the mark that was set last by then."""

    table: int
    key: tuple[str, ...]
    new: bool
    mark: str


def read_writes(
    connection: Connection[Any], standing: Standing, backends: Collection[int], instants: Iterable[Instant]
) -> list[Write]:
    """What these server processes wrote between the first and the last of the instants, in order.

    At most `MOST_ENTRIES` of them, the oldest. Raises what psycopg raises.
    """
    found = list(instants)
    rows = connection.execute(
        sql.SQL(
            "SELECT ARRAY[{key}]::text[], e.new_xid IS NULL, e.old_xid IS NULL, e.xid::text, e.position, e.backend"
            " FROM {log} AS e WHERE (e.xid >= {oldest}::xid8 AND e.xid < {end}::xid8 OR e.xid = ANY ({owns}::xid8[]))"
            " AND e.backend = ANY ({backends}) ORDER BY e.position LIMIT {most}"
        ).format(
            key=listed([sql.Identifier("e", f"a{number}") for number in standing.key]),
            log=sql.Identifier(LOG, f"t{standing.id}"),
            oldest=sql.Literal(str(min(map(xmin_of, found)))),
            end=sql.Literal(str(max(map(end_of, found)))),
            owns=sql.Literal([str(each.own) for each in found if each.own is not None]),
            backends=sql.Literal(list(backends)),
            most=sql.Literal(MOST_ENTRIES),
        ),
        prepare=False,
    ).fetchall()
    return [
        Write(standing.id, tuple(key), removed, new, int(xid), position, backend)
        for key, removed, new, xid, position, backend in rows
    ]


def read_made(connection: Connection[Any], overlays: Iterable[Overlay]) -> Iterator[Row]:
    """All that was written beside the past of these tables and not rolled back. Raises what psycopg raises."""
    for overlay in overlays:
        rows = connection.execute(
            sql.SQL('SELECT ARRAY[{}]::text[], "!new", "!mark" FROM {}').format(
                listed([sql.Identifier(name) for name in overlay.standing.table.key]), overlay.made
            ),
            prepare=False,
        )
        yield from (Row(overlay.standing.id, tuple(key), new, mark) for key, new, mark in rows)


def read_watched(
    connection: Connection[Any], standings: Sequence[Standing], overlays: Iterable[Overlay]
) -> dict[int, Watched]:
    """What has to be known of these tables, by their numbers. Raises what psycopg raises."""
    causes: dict[int, set[int]] = {standing.id: set() for standing in standings}
    for source, effect in connection.execute(query("read_effects"), {"ids": list(causes)}, prepare=False):
        for number in causes if effect is None else (effect,):
            causes.get(number, set()).add(source)
    numbered = {overlay.standing.id for overlay in overlays if overlay.is_numbered}
    return {each.id: Watched(each.table.name, each.id in numbered, causes[each.id]) for each in standings}
