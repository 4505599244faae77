"""How overlays give way to what was recorded, as a replay gets there."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import Connection, sql

from stepwell.core.changed import is_earlier
from stepwell.core.omitted import Write
from stepwell.core.past import Certainty, Instant
from stepwell.store.asof import Standing
from stepwell.store.capture import LOG
from stepwell.store.changes import visible, written
from stepwell.store.overlays import TEMP, Column, Overlay, listed, names
from stepwell.store.texts import equal

FORESEEN = 1000
"""Rows of which it is looked up at each step what they are given."""
BRIEF = 40
"""Characters of a value that a note shows."""


class Otherwise(NamedTuple):
    """What was otherwise in the recording: `wrote other values to orders, key 7: status 'x', recorded 'y'`."""

    what: str
    write: Write
    """The last of the row that was recorded."""


def settle(
    connection: Connection[Any], overlay: Overlay, before: Instant | None, after: Instant | None
) -> list[Otherwise]:
    """The recording has got from one instant to the next, which names mean now: let it have its way.

    Rows that the past has by now are taken out of the overlay, and those that the agent's connection, where it is
    known, wrote otherwise. Returns what was otherwise.
    Nothing gives way to what was there before, as a thread or task sees it that is behind another.
    """
    if before is not None and after is not None and is_earlier(after, before):
        return []
    connection.execute(
        sql.SQL(
            'DELETE FROM {rows} AS o WHERE CASE WHEN o."!gone" THEN NOT EXISTS (SELECT FROM {past} AS p WHERE {same})'
            " ELSE EXISTS (SELECT FROM {past} AS p WHERE {same} AND ROW({p})::text = ROW({o})::text) END"
        ).format(
            rows=overlay.rows,
            past=overlay.past,
            same=overlay.same("p", "o"),
            p=names(overlay.standing.table.columns, "p"),
            o=names(overlay.standing.table.columns, "o"),
        ),
        prepare=False,
    )
    if before is None or after is None:
        return []
    return _overruled(connection, overlay, before, after)


def _overruled(
    connection: Connection[Any], overlay: Overlay, before: Instant, after: Instant
) -> list[Otherwise]:
    table = overlay.standing.table
    constant = [
        column.name for column in overlay.columns if not column.varies and column.name not in table.key
    ]
    rows = connection.execute(
        sql.SQL(
            "DELETE FROM {rows} AS o USING (SELECT {kept}, max(position) AS position,"
            " (array_agg(xid::text ORDER BY position DESC))[1] AS xid,"
            " (array_agg(backend ORDER BY position DESC))[1] AS backend"
            " FROM {written} GROUP BY {kept} HAVING bool_or({mine})) AS w"
            " LEFT JOIN {past} AS p ON {recorded} WHERE {same}"
            ' RETURNING ARRAY[{key}]::text[], o."!gone", p.{first} IS NULL, w.xid, w.position, w.backend,'
            " array_remove(ARRAY[{differences}]::text[], NULL)"
        ).format(
            rows=overlay.rows,
            kept=listed([_kept(number) for number in overlay.standing.key]),
            written=written(overlay.standing, before, after),
            mine=_mine(after),
            past=overlay.past,
            recorded=_by_number(overlay, "p"),
            same=_by_number(overlay, "o"),
            key=names(table.key, "o"),
            first=sql.Identifier(table.key[0]),
            differences=listed([_difference(name) for name in constant]),
        ),
        prepare=False,
    ).fetchall()
    found = []
    for key, is_gone, was_gone, xid, position, backend, differences in rows:
        if after.backend not in (None, backend):  # somebody else has written it since
            continue
        write = Write(overlay.standing.id, tuple(key), was_gone, False, int(xid), position, backend)
        what = f"{table.name}, key {', '.join(key)}"
        if is_gone != was_gone:
            done, then = ("removed", "wrote") if is_gone else ("wrote", "removed")
            found.append(Otherwise(f"{done} {what}, which the recording {then}", write))
        elif differences:
            cause = f" (or a trigger of {table.name} did)" if overlay.triggered else ""
            found.append(Otherwise(f"wrote other values to {what}: {'; '.join(differences)}{cause}", write))
    return found


def _kept(number: int) -> sql.Identifier:
    return sql.Identifier(f"a{number}")


def _by_number(overlay: Overlay, of: str) -> sql.Composed:
    standing = overlay.standing
    return listed(
        [
            equal(sql.Identifier(of, name), sql.Identifier("w", f"a{number}"))
            for name, number in zip(standing.table.key, standing.key, strict=True)
        ],
        " AND ",
    )


def _mine(instant: Instant) -> sql.Composable:
    if instant.backend is None:
        return sql.SQL("true")
    return sql.SQL("written.backend = {}").format(sql.Literal(instant.backend))


def _difference(name: str) -> sql.Composed:
    return sql.SQL(
        "CASE WHEN ROW(o.{name})::text <> ROW(p.{name})::text THEN format({form}, left(o.{name}::text, {brief}),"
        " left(p.{name}::text, {brief})) END"
    ).format(
        name=sql.Identifier(name),
        form=sql.Literal(f"{name.replace('%', '%%')} %L, recorded %L"),
        brief=sql.Literal(BRIEF),
    )


def wrote(
    connection: Connection[Any], standings: Sequence[Standing], before: Instant, after: Instant
) -> bool:
    """Whether the agent's connection, which both are of, wrote to one of these tables between the two."""
    return any(
        connection.execute(
            sql.SQL("SELECT FROM {} LIMIT 1").format(written(each, before, after, after.backend)),
            prepare=False,
        ).fetchone()
        is not None
        for each in standings
        if each.table.verdict.certainty is not Certainty.UNKNOWN
    )


def number(
    connection: Connection[Any], overlay: Overlay, before: Instant | None, after: Instant | None
) -> None:
    """Have sequences go on as they did: with the key that the agent's connection made next, else after the last.

    That is looked for in the whole past of the table once; from one instant to the next it is in the log.
    """
    for column in overlay.drawn:
        _foresee(connection, overlay, column, after)
    for column in overlay.columns:
        if column.sequence is None or column.increment is None:
            continue
        own = sql.Identifier(TEMP, column.sequence)
        is_key = column.name in overlay.standing.table.key
        step = sql.Literal(column.increment)
        if is_key and before is not None and after is not None:
            best = sql.SQL(
                "(SELECT greatest(last_value + CASE WHEN is_called THEN {step} ELSE 0 END,"
                " (SELECT max({kept}) FROM {written}) + {step}) FROM {own})"
            ).format(
                step=step,
                kept=_kept_as(overlay, column),
                written=written(overlay.standing, before, after),
                own=own,
            )
        else:
            best = sql.SQL("(SELECT max({}) FROM {})").format(sql.Identifier(column.name), overlay.view)
            if is_key and after is not None:
                best = sql.SQL("greatest({}, {})").format(best, _made_last(overlay, column, after))
            best = sql.SQL("{} + {}").format(best, step)
        if is_key and after is not None and (made := _made_next(overlay, column, after)) is not None:
            best = sql.SQL("coalesce({}, {})").format(made, best)
        connection.execute(
            sql.SQL("SELECT setval({}::regclass, coalesce({}, 1), false)").format(
                sql.Literal(own.as_string(None)), best
            ),
            prepare=False,
        )


def _foresee(connection: Connection[Any], overlay: Overlay, column: Column, instant: Instant | None) -> None:
    """Note what the agent's connection, if it is known, gives rows after an instant in a column of the key."""
    parts = {"coming": overlay.coming(column)}
    connection.execute(sql.SQL("DELETE FROM {coming}").format(**parts), prepare=False)
    if instant is None or instant.backend is None:
        return
    connection.execute(
        sql.SQL(
            "INSERT INTO {coming} SELECT e.position, e.{kept} FROM {later} ORDER BY e.position LIMIT {most}"
        ).format(
            **parts,
            kept=_kept_as(overlay, column),
            later=_written_later(overlay, instant),
            most=sql.Literal(FORESEEN),
        ),
        prepare=False,
    )


def _written_later(overlay: Overlay, instant: Instant) -> sql.Composed:
    """The rows `e` of the log that the agent's connection wrote after an instant, as part of a query."""
    return sql.SQL("{log} AS e WHERE e.backend = {backend} AND e.dead IS FALSE AND NOT ({seen})").format(
        log=sql.Identifier(LOG, f"t{overlay.standing.id}"),
        backend=sql.Literal(instant.backend),
        seen=visible(instant),
    )


def _kept_as(overlay: Overlay, column: Column) -> sql.Identifier:
    """A column of the key, as the log has it."""
    standing = overlay.standing
    return _kept(standing.key[standing.table.key.index(column.name)])


def _made_last(overlay: Overlay, column: Column, instant: Instant) -> sql.Composed:
    """The largest number that the log knows of, of rows that are gone, too."""
    log = sql.Identifier(LOG, f"t{overlay.standing.id}")
    return sql.SQL("(SELECT max(e.{}) FROM {} AS e WHERE {})").format(
        _kept_as(overlay, column), log, visible(instant)
    )


def _made_next(overlay: Overlay, column: Column, instant: Instant) -> sql.Composed | None:
    if instant.backend is None:
        return None
    return sql.SQL(
        "(SELECT e.{kept} FROM {later} AND NOT EXISTS (SELECT FROM {rows} AS o WHERE o.{name} = e.{kept})"
        " ORDER BY e.position LIMIT 1)"
    ).format(
        kept=_kept_as(overlay, column),
        later=_written_later(overlay, instant),
        rows=overlay.rows,
        name=sql.Identifier(column.name),
    )
