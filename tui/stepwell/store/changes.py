"""What changed in watched tables between two instants: which rows, from what to what, and by whom."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from psycopg import Connection, sql

from stepwell.core.changed import end_of
from stepwell.core.past import Certainty, Instant, Origin, RowChange, TableChanges
from stepwell.core.verdicts import xmin_of
from stepwell.store.asof import Standing, Survey, judge_again, survey, turn
from stepwell.store.capture import LOG
from stepwell.store.texts import Texts, equal, longest, read_texts, shortened

MOST_ENTRIES = 20_000
"""How many entries of a log are looked at for one step; what a bulk statement did beyond them is not."""


class Entry(NamedTuple):
    """A row that was written, and who did so last."""

    key: Texts
    who: str
    backend: int
    many: int
    """How many such rows there are in all."""
    written: int
    """How many entries they have."""


def read_changes(
    connection: Connection[Any],
    before: Instant | None,
    after: Instant | None,
    origin: Origin | None,
    *,
    limit: int = 200,
) -> tuple[TableChanges, ...]:
    """The net changes of each watched table from one instant to a later one, at most `limit` rows of each.

    Long values are cut, see `texts.shortened`. Tables of which either is unknown come without changes. To be called
    within a transaction that is rolled back: names mean the past in it from then on. Raises what psycopg raises.
    """
    old, new = survey(connection, before, origin), survey(connection, after, origin)
    known = _known(old, new)
    entries: dict[int, list[Entry]] = {}
    if before is not None and after is not None:
        for standing in known:
            if found := _entries(connection, standing, before, after, limit):
                entries[standing.id] = found
    olds = _rows(connection, old, entries, before, after, limit)
    news = _rows(connection, new, entries, before, after, limit)
    mine = _backend(before, after)
    return tuple(
        TableChanges(table, ())
        if standing.id not in entries or table.verdict.certainty is Certainty.UNKNOWN
        else TableChanges(
            table,
            tuple(_changes(entries[standing.id], olds[standing.id], news[standing.id], mine)),
            max(0, entries[standing.id][0].many - limit),
            entries[standing.id][0].written >= MOST_ENTRIES,
        )
        for standing, table in zip(new.standings, judge_again(connection, old, new), strict=True)
    )


def _known(old: Survey, new: Survey) -> list[Standing]:
    """The tables whose past is told at both instants."""
    told = {each.id for each in old.standings if each.table.verdict.certainty is not Certainty.UNKNOWN}
    return [
        each
        for each in new.standings
        if each.id in told and each.table.verdict.certainty is not Certainty.UNKNOWN
    ]


def _changes(
    entries: Sequence[Entry], olds: Mapping[Texts, Texts], news: Mapping[Texts, Texts], mine: int | None
) -> list[RowChange]:
    return [
        RowChange(
            entry.key, was, now, entry.who, entry.backend, None if mine is None else entry.backend == mine
        )
        for entry in entries
        if (was := olds.get(entry.key)) != (now := news.get(entry.key))
    ]


def _backend(before: Instant | None, after: Instant | None) -> int | None:
    """The server process of the agent's connection, where it was one and the same."""
    if before is None or after is None or before.backend != after.backend:
        return None
    return before.backend


def _entries(
    connection: Connection[Any], standing: Standing, before: Instant, after: Instant, limit: int
) -> list[Entry]:
    """The rows that were written, in the order in which they were last."""
    statement = sql.SQL(
        "SELECT who, backend::text, (count(*) OVER ())::text, entries::text, {key}"
        " FROM (SELECT DISTINCT ON ({key}) *, count(*) OVER () AS entries FROM {written}"
        " ORDER BY {key}, position DESC) AS last ORDER BY position LIMIT {limit}"
    ).format(key=_key(standing), written=written(standing, before, after), limit=sql.Literal(limit))
    return [
        Entry(tuple(key), who or "", int(backend or 0), int(many or 0), int(entries or 0))
        for who, backend, many, entries, *key in read_texts(connection, statement)
    ]


def written(standing: Standing, before: Instant, after: Instant, backend: int | None = None) -> sql.Composed:
    """The entries of transactions that the later instant saw and the earlier one did not, of one backend or of all."""
    return sql.SQL(
        "(SELECT * FROM {log} AS e WHERE (e.xid >= {oldest} AND e.xid < {end} OR e.xid = {own})"
        " AND {by} AND ({seen}) AND NOT ({known}) ORDER BY e.position LIMIT {most}) AS written"
    ).format(
        log=sql.Identifier(LOG, f"t{standing.id}"),
        oldest=_xid(xmin_of(before)),
        end=_xid(end_of(after)),
        own=_xid(after.own),
        by=sql.SQL("true" if backend is None else "e.backend = {}").format(sql.Literal(backend)),
        seen=visible(after),
        known=visible(before),
        most=sql.Literal(MOST_ENTRIES),
    )


def visible(instant: Instant) -> sql.Composed:
    """Whether an instant has what the entry `e` of a log tells."""
    plain = sql.SQL("pg_visible_in_snapshot(e.xid, {}::pg_snapshot)").format(sql.Literal(instant.snapshot))
    if instant.own is None:
        return plain
    return sql.SQL("CASE WHEN e.xid = {} THEN e.position <= {} ELSE {} END").format(
        _xid(instant.own), sql.Literal(instant.position or 0), plain
    )


def _xid(number: int | None) -> sql.Composed:
    return sql.SQL("{}::xid8").format(sql.Literal(None if number is None else str(number)))


def _rows(
    connection: Connection[Any],
    found: Survey,
    entries: Mapping[int, Sequence[Entry]],
    before: Instant | None,
    after: Instant | None,
    limit: int,
) -> dict[int, dict[Texts, Texts]]:
    """The rows of these tables as of the survey's instant, by the keys as the log has them."""
    if not entries or before is None or after is None:
        return {}
    turn(connection, found)
    rows: dict[int, dict[Texts, Texts]] = {}
    for standing in found.standings:
        if standing.id not in entries:
            continue
        table = standing.table
        key = _key(standing)
        most = longest(2 * len(entries[standing.id]), len(table.columns))
        statement = sql.SQL(
            "SELECT {given}, {columns}"
            " FROM (SELECT {key} FROM (SELECT DISTINCT ON ({key}) {key}, position FROM {written}"
            " ORDER BY {key}, position DESC) AS last"
            " ORDER BY position LIMIT {limit}) AS k JOIN {past} AS p ON {same}"
        ).format(
            key=key,
            given=sql.SQL(", ").join(sql.Identifier("k", f"a{number}") for number in standing.key),
            columns=sql.SQL(", ").join(shortened(sql.Identifier("p", name), most) for name in table.columns),
            written=written(standing, before, after),
            limit=sql.Literal(limit),
            past=sql.Identifier(standing.shadow, table.name),
            same=sql.SQL(" AND ").join(
                equal(sql.Identifier("p", name), sql.Identifier("k", f"a{number}"))
                for name, number in zip(table.key, standing.key, strict=True)
            ),
        )
        width = len(table.key)
        rows[standing.id] = {row[:width]: row[width:] for row in read_texts(connection, statement)}
    return rows


def _key(standing: Standing) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(f"a{number}") for number in standing.key)
