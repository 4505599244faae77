"""The tables of a transaction as of an instant, for statements of a test's own."""

from dataclasses import replace
from typing import Any

from psycopg import Connection

from stepwell.core.past import Instant, Origin, Table
from stepwell.store.asof import SLOW, survey, turn


def look_back(
    connection: Connection[Any], instant: Instant | None, origin: Origin | None, *, fast: bool = True
) -> tuple[Table, ...]:
    """Have names of watched tables mean their past until this transaction ends; the tables, with verdicts.

    `fast` False has all of it read from the logs.
    """
    found = survey(connection, instant, origin)
    if not fast:
        slow = tuple(replace(standing, mode=SLOW) for standing in found.standings)
        found = replace(found, standings=slow)
    turn(connection, found)
    return found.tables
