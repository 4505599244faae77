"""Whether the changes between instants, one after the other, lead from the rows of the first to those of each."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from psycopg import sql

from stepwell.core.past import Certainty, Instant, Origin, Table, TableChanges
from stepwell.store.changes import read_changes
from stepwell.store.texts import Texts, read_texts
from tests.asof.kinds import Connection
from tests.asof.looking import look_back
from tests.asof.seen import pin

State = dict[Texts, Texts]
"""Rows by their keys."""


def fold(connection: Connection, instants: Sequence[Instant], origin: Origin) -> tuple[int, list[str]]:
    """How many states of tables were compared, and what was wrong. The instants are one connection's, in order."""
    pin(connection)
    compared, faults = 0, []
    states = _states(connection, instants[0], origin)
    for before, after in pairwise(instants):
        following = _states(connection, after, origin)
        for found in _changes(connection, before, after, origin):
            name = found.table.name
            if name not in states or name not in following or not _is_exact(found.table):
                continue
            compared += 1
            if (wrong := _apply(states[name], found)) or states[name] != following[name]:
                faults.append(f"{name} from {before} to {after}: {wrong or 'other rows'}")
        states = following
    return compared, faults


def _states(connection: Connection, instant: Instant, origin: Origin) -> dict[str, State]:
    """The tables whose rows are told exactly."""
    found = {}
    with _past(connection):
        for table in look_back(connection, instant, origin):
            if _is_exact(table):
                names = sql.SQL(", ").join(map(sql.Identifier, table.columns))
                statement = sql.SQL("SELECT {} FROM {}").format(names, sql.Identifier(table.name))
                places = [table.columns.index(name) for name in table.key]
                found[table.name] = {
                    tuple(row[place] for place in places): row for row in read_texts(connection, statement)
                }
        exact = {table.name for table in look_back(connection, instant, origin) if _is_exact(table)}
    return {name: state for name, state in found.items() if name in exact}


def _changes(
    connection: Connection, before: Instant, after: Instant, origin: Origin
) -> tuple[TableChanges, ...]:
    with _past(connection):
        return read_changes(connection, before, after, origin, limit=10_000)


def _apply(state: State, found: TableChanges) -> str:
    """Change the state; what is wrong with a change, if anything is."""
    for change in found.changes:
        if change.old == change.new or (
            change.old is not None and state.get(_key(found, change.old)) != change.old
        ):
            return f"{change.key} is said to have been {change.old}, then {change.new}"
    # Keys may be equal and written otherwise, as 1.0 and 1.00 are: the rows have those that they had.
    for change in found.changes:
        if change.old is not None:
            del state[_key(found, change.old)]
    for change in found.changes:
        if change.new is not None:
            state[_key(found, change.new)] = change.new
    return ""


def _key(found: TableChanges, row: Texts) -> Texts:
    return tuple(row[found.table.columns.index(name)] for name in found.table.key)


def _is_exact(table: Table) -> bool:
    return table.verdict.certainty is Certainty.EXACT


@contextmanager
def _past(connection: Connection) -> Iterator[None]:
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        connection.execute("SET LOCAL jit = off")
        yield
    finally:
        connection.execute("ROLLBACK")
