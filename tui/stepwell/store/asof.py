"""The database as of a step: within one transaction, unqualified names of watched tables mean their past."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psycopg import Connection, sql
from psycopg.rows import dict_row, tuple_row

from stepwell.core.past import Certainty, Instant, Origin, Table, Verdict
from stepwell.core.verdicts import AGE, Clock, Look, State, is_fast, later_columns, verdict
from stepwell.store.capture import LOG, PINNED, SHADOW
from stepwell.store.queries import query

FAST, SLOW = "fast", "slow"
"""How the view of a table reads it: by the xids in its rows, or by its log alone."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A watched table, its number, and how its view is to read it as of the instant."""

    id: int
    table: Table
    key: tuple[int, ...]
    """The numbers of its key's columns, by which its log calls them."""
    mode: str
    later: tuple[int, ...] = ()
    """The numbers of columns that its view has and the table had not then."""

    @property
    def shadow(self) -> str:
        """The schema of its past."""
        return f"{SHADOW}{self.id}"


@dataclass(frozen=True, slots=True)
class Survey:
    """All watched tables as of one instant. `now` is the snapshot of the transaction itself."""

    standings: tuple[Standing, ...] = ()
    instant: Instant | None = None
    origin: Origin | None = None
    now: str = ""
    path: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(standing.table for standing in self.standings)


def survey(connection: Connection[Any], instant: Instant | None, origin: Origin | None) -> Survey:
    """What can be known of each watched table as of the instant. Sets nothing. Raises what psycopg raises."""
    is_kept, may_ask = _kept(connection)
    if not is_kept:
        return Survey()
    clock, now, path = _clock(connection, instant, may_ask=may_ask)
    fast = clock.next < AGE and (instant is None or instant.own is None)
    standings = []
    found = _states(connection, instant)
    clock = replace(clock, kept=_has_kept(connection, found, instant))
    for number, state in found:
        worth = verdict(state, instant, origin, clock)
        mode = FAST if fast and is_fast(state) else SLOW
        key, columns = _names(state)
        table = Table(state.schema, state.name, tuple(key.values()), tuple(columns.values()), worth)
        standings.append(Standing(number, table, tuple(key), mode, later_columns(state)))
    return Survey(tuple(standings), instant, origin, now, tuple(path))


def judge_again(connection: Connection[Any], *found: Survey) -> tuple[Table, ...]:
    """The tables of the last of these surveys with the worst of their verdicts, once they were read.

    By now those that were read are locked against what a snapshot does not protect from, as TRUNCATE; before, they were
    not. Raises what psycopg raises.
    """
    last = found[-1]
    if not last.standings:
        return ()
    now = survey(connection, last.instant, last.origin)
    gone = Verdict(Certainty.UNKNOWN, "it is not watched any more")
    tables = {each.id: replace(each.table, verdict=gone) for each in last.standings}
    tables |= {each.id: each.table for each in now.standings}
    for each in (standing for one in found for standing in one.standings):
        tables[each.id] = max(tables[each.id], each.table, key=_badness)
    return tuple(tables[each.id] for each in last.standings)


def _badness(table: Table) -> int:
    return list(Certainty).index(table.verdict.certainty)


def are_watched(connection: Connection[Any]) -> bool:
    """Whether there may be watched tables in this database. Raises what psycopg raises."""
    return _kept(connection)[0]


def _kept(connection: Connection[Any]) -> tuple[bool, bool]:
    """Whether there is all that tells of watched tables: where a part was dropped, none is taken for watched.

    And whether this role may ask which server this is.
    """
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(query("read_kept"), prepare=False).fetchone()
    assert row is not None
    return bool(row[0]), bool(row[1])


def turn(connection: Connection[Any], found: Survey, pins: Mapping[str, str] = PINNED) -> None:
    """Have unqualified names of watched tables mean their past until this transaction ends.

    So do those of tables in schemas outside of the search path, where no other relation has the name. Where the past is
    unknown, and with no instant, they mean today's rows. All settings are local to the transaction, and so are `pins`,
    which are made beside: those under which values are written as texts. A table that is
    truncated or rewritten after the transaction's snapshot shows nothing: who has read it, and so has it locked, asks
    `judge_again`. Raises what psycopg raises.
    """
    if found.now:
        told = [each for each in found.standings if each.table.verdict.certainty is not Certainty.UNKNOWN]
        path = [name for schema in found.path for name in (*_shadows(told, schema), schema)]
        path += [each.shadow for each in _beyond(told, found.path)]
        modes = {f"stepwell.t{each.id}": each.mode for each in told}
        later = {f"stepwell.t{each.id}_later": f",{','.join(map(str, each.later))}," for each in told}
        _set(connection, found.instant or Instant(found.now), {**pins, **modes, **later}, path)


def _shadows(standings: Sequence[Standing], schema: str) -> list[str]:
    """The views that stand before the tables of this schema."""
    return [each.shadow for each in standings if each.table.schema == schema]


def _beyond(standings: Sequence[Standing], path: Sequence[str]) -> list[Standing]:
    """Tables whose schema is not in the path: a name that nothing else has means the past of one of these.

    Not where two of them have the same name. And no more than the past: a schema that is not in the path may hold
    functions that nobody wants to run unasked.
    """
    beyond = [each for each in standings if each.table.schema not in path]
    times = Counter(each.table.name for each in beyond)
    return [each for each in beyond if times[each.table.name] == 1]


def _clock(
    connection: Connection[Any], instant: Instant | None, *, may_ask: bool
) -> tuple[Clock, str, Sequence[str]]:
    own = None if instant is None or instant.own is None else str(instant.own)
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query("read_clock"), {"own": own, "may_ask": may_ask}, prepare=False).fetchone()
    assert row is not None
    now, path = row.pop("now"), row.pop("path")
    return Clock(**{**row, "next": int(row["next"])}), now, path


def _states(connection: Connection[Any], instant: Instant | None) -> list[tuple[int, State]]:
    snapshot = None if instant is None else instant.snapshot
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(query("read_watched"), {"snapshot": snapshot}, prepare=False).fetchall()
    return [
        (
            row["id"],
            State(
                schema=row["schema"],
                name=row["name"],
                shape=_with_parts(row["shape"], row["parts"]),
                looks=[Look(bool(seen), *rest) for seen, *rest in row["shapes"] or ()],
                readable=row["readable"],
                logged=row["logged"],
                writable=row["writable"],
                log_readable=row["log_readable"],
                viewed=row["viewed"],
                pruned=row["pruned"],
                lost=row["lost"],
                system=row["system"],
            ),
        )
        for row in rows
    ]


def _with_parts(shape: dict[str, Any] | None, parts: Sequence[str] | None) -> dict[str, Any] | None:
    """The shape, which is not current where the table has other partitions by now."""
    if shape is None or parts is None or set(parts) == set(shape["parts"] or ()):
        return shape
    return {**shape, "current": False}


def _has_kept(
    connection: Connection[Any], found: Sequence[tuple[int, State]], instant: Instant | None
) -> bool:
    """Whether a log has the last entry that the instant's own transaction had made by then, if it had made one.

    What was rolled back to a savepoint afterwards takes the end of what there was, and so always this one.
    """
    if instant is None or instant.own is None or not instant.position:
        return True
    numbers = [number for number, state in found if state.logged and state.log_readable]
    return bool(
        _any(
            connection,
            numbers,
            sql.SQL("xid = {}::xid8 AND position = {}").format(
                sql.Literal(str(instant.own)), sql.Literal(instant.position)
            ),
        )
    )


def _any(connection: Connection[Any], numbers: Sequence[int], condition: sql.Composable) -> set[int]:
    """The tables whose logs have an entry of that kind."""
    if not numbers:
        return set()
    each = [
        sql.SQL("(SELECT {} FROM {} WHERE {} LIMIT 1)").format(
            sql.Literal(number), sql.Identifier(LOG, f"t{number}"), condition
        )
        for number in numbers
    ]
    with connection.cursor(row_factory=tuple_row) as cursor:
        return {row[0] for row in cursor.execute(sql.SQL(" UNION ALL ").join(each), prepare=False)}


def _names(state: State) -> tuple[dict[int, str], dict[int, str]]:
    """Number and name of its key's columns, and of all of them, as its past has them."""
    shape = [look for look in state.looks if look.why == "watched"][-1].shape
    columns = {column[0]: column[1] for column in shape["columns"] or ()}
    return {number: columns[number] for number in shape["key"] or ()}, columns


def _set(connection: Connection[Any], instant: Instant, own: dict[str, str], path: Sequence[str]) -> None:
    """The path has the views before the tables they stand for, so that a name still finds the same table."""
    settings = {
        "stepwell.snapshot": instant.snapshot,
        "stepwell.own": "" if instant.own is None else str(instant.own),
        "stepwell.position": "" if instant.position is None else str(instant.position),
        "search_path": ", ".join(sql.Identifier(name).as_string(None) for name in path),
        **own,
    }
    connection.execute(
        query("set_locally"), {"names": list(settings), "values": list(settings.values())}, prepare=False
    )
