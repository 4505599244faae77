"""What was seen at an instant against what is shown of it later."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import eq
from random import Random
from typing import Protocol

import psycopg

from stepwell.core.past import Certainty, Instant, Origin, Table
from stepwell.core.verdicts import xmin_of
from tests.asof.kinds import Connection, Kind
from tests.asof.seen import Rows, Seen, pin

PLANS = (
    "SET LOCAL enable_seqscan = on",
    "SET LOCAL enable_seqscan = off",
    "SET LOCAL enable_hashjoin = off",
    "SET LOCAL enable_nestloop = off; SET LOCAL enable_indexonlyscan = off",
)
"""Ways that the planner is pushed: what is shown must not depend on the plan."""


class LookBack(Protocol):
    """Has unqualified names mean the tables as of the instant until the transaction ends."""

    def __call__(self, connection: Connection, instant: Instant, origin: Origin, /) -> Sequence[Table]: ...


@dataclass
class Tally:
    """Per table: how many snapshots were compared, how many were not called exact, and how many were and wrong."""

    since: int = 0
    """Snapshots before this transaction may well be unknown: they do not count as doubted."""
    compared: Counter[str] = field(default_factory=Counter)
    inexact: Counter[str] = field(default_factory=Counter)
    doubted: Counter[str] = field(default_factory=Counter)
    """Why those that might well have been called exact were not."""
    wrong: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.compared += other.compared
        self.inexact += other.inexact
        self.doubted += other.doubted
        self.wrong += other.wrong
        self.faults += other.faults


def compare(
    connection: Connection,
    some: Sequence[Seen],
    kinds: Sequence[Kind],
    look_back: LookBack,
    *,
    seed: str,
    since: int,
) -> Tally:
    """Look back at each instant, in an order of chance. Rows that are called exact and are not those seen are wrong."""
    pin(connection)
    chance = Random(seed)
    origin = read_origin(connection)
    tally = Tally(since)
    for seen in chance.sample(some, len(some)):
        _compare_one(connection, seen, kinds, lambda at: look_back(connection, at, origin), chance, tally)
    return tally


def read_origin(connection: Connection) -> Origin:
    """Of the server that the connection leads to."""
    found = connection.execute(
        "SELECT system_identifier, timeline_id FROM pg_control_system(), pg_control_checkpoint()"
    ).fetchone()
    assert found is not None
    return Origin(int(str(found[0])), int(str(found[1])))


def _is_certain(seen: Seen, since: int) -> bool:
    """Whether there is no reason to doubt what is shown of it."""
    return xmin_of(seen.instant) >= since and seen.lasting


def _compare_one(
    connection: Connection,
    seen: Seen,
    kinds: Sequence[Kind],
    look: Callable[[Instant], Sequence[Table]],
    chance: Random,
    tally: Tally,
) -> None:
    plan = chance.choice(PLANS)
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        doubts = _doubts(look(seen.instant))
        connection.execute(f"{plan}; SET LOCAL jit = off".encode())
        differences = {
            kind.name: _difference(connection, seen.rows[kind.name], kind, chance)
            for kind in chance.sample(kinds, len(kinds))
        }
        doubts |= _doubts(look(seen.instant))  # of tables that were rewritten before they were read
    finally:
        connection.execute("ROLLBACK")
    for kind in kinds:
        tally.compared[kind.name] += 1
        if kind.plain in doubts:
            tally.inexact[kind.name] += 1
            tally.doubted[doubts[kind.plain]] += _is_certain(seen, tally.since)
        elif differences[kind.name]:
            tally.wrong[kind.name] += 1
            tally.faults.append(f"{kind.name} at {seen.instant}, {plan}: {differences[kind.name]}")


def _doubts(tables: Sequence[Table]) -> dict[str, str]:
    """Why tables are not called exact."""
    return {
        table.name: f"{table.name}: {table.verdict.why}"
        for table in tables
        if table.verdict.certainty is not Certainty.EXACT
    }


def _difference(connection: Connection, rows: Rows, kind: Kind, chance: Random) -> str:
    """What is shown and was not seen, and the reverse; empty where there is neither."""
    key = chance.choice(kind.key[0].literals)
    where = f" WHERE {kind.key[0].name} = {key})"
    one = kind.rows.removesuffix(")") + where
    # OFFSET 0 keeps the condition out of the view, which then gives all rows.
    same = (
        kind.rows.removesuffix(f"FROM {kind.name})") + f"FROM (SELECT * FROM {kind.name} OFFSET 0) t{where}"
    )
    asked = f"SELECT {kind.rows}, {one}, {same}, (SELECT count(*) FROM {kind.name})"
    try:
        with connection.transaction():
            found = connection.execute(asked.encode(), prepare=False).fetchone()
    except psycopg.Error as error:
        return f"fails: {error}"
    assert found is not None
    shown, by_key, fenced, number = found
    assert isinstance(shown, list)
    assert isinstance(by_key, list)
    assert isinstance(fenced, list)
    if tuple(sorted(shown)) != rows:
        return _told(Counter(rows) - Counter(shown), Counter(shown) - Counter(rows))
    if number != len(rows):
        return f"count(*) gives {number} of {len(rows)}"
    if sorted(by_key) != sorted(fenced):
        return f"for key {key}: {by_key}, should be {fenced}"
    return ""


def _told(missing: Counter[str], added: Counter[str]) -> str:
    """Rows that differ; of long ones that go together, where the difference is."""
    lacking, surplus = sorted(missing.elements()), sorted(added.elements())
    if len(lacking) != len(surplus):
        return f"missing {[row[:200] for row in lacking]}, too many {[row[:200] for row in surplus]}"
    pairs = []
    for old, new in zip(lacking, surplus, strict=True):
        place = sum(1 for _ in takewhile(bool, map(eq, old, new)))
        pairs.append(
            f"…{old[max(0, place - 30) : place + 60]} became …{new[max(0, place - 30) : place + 60]}"
        )
    return "; ".join(pairs[:4])
