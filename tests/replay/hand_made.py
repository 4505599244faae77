"""Runs as nobody records them, and what people do to them while they are being looked at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import NamedTuple

import psycopg
from hypothesis import strategies as st
from psycopg import sql
from psycopg.types.json import Jsonb

from stepwell.core.world import Moment, World
from tests.replay.rows import RUN

Row = Mapping[str, object]

WHOLES = [{"$patch": [{"at": {"n": 1}, "set": [], "to": {"n": n, "m": 2}}]} for n in (1, 2)]
PATCHES: list[object] = [*WHOLES, {"$patch": [{"set": ["n"], "to": 3}]}, {"$patch": []}, {"k": 4}, None]
BARE = ("step_type", "input", "output")


def _maybe(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | values


def _json(values: Sequence[object]) -> st.SearchStrategy[object]:
    return st.sampled_from([Jsonb(value) for value in values])


_places = st.integers(-1, 30)
COLUMNS: dict[str, st.SearchStrategy[object]] = {
    "step_type": st.sampled_from(["llm_call", "tool_call", "thought", *["state_update"] * 4]),
    "input": _maybe(_json(PATCHES)),
    "output": _maybe(_json([{"n": 5}, {"n": 6, "k": []}, None])),
    "agent": st.sampled_from([None, None, "a"]),
    "name": st.sampled_from([None, None, "shared"]),
    "error": st.sampled_from([None, None, Jsonb({"type": "Boom", "message": "no"})]),
    "finished_at": st.sampled_from([None, "2025-03-01 11:41:03Z"]),
    "finished_order": _maybe(_places),
    "finished_before": _maybe(_places),
    "started_before": _maybe(_places),
    "tokens_in": _maybe(st.integers(0, 9)),
    "tokens_out": _maybe(st.integers(0, 9)),
}
NUMBERS = st.integers(-1, 24)


class Deed(NamedTuple):
    """Something that is done between two moves. `what` is one of the names in `DEEDS`."""

    what: str
    number: int
    row: Row


DEEDS = ("update", "update in a transaction", "commit", "delete", "insert", "elsewhere", "nothing", "nothing")


def rows(columns: Sequence[str] = tuple(COLUMNS)) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries({name: COLUMNS[name] for name in columns})


def recorded(count: int) -> st.SearchStrategy[list[Row]]:
    """As a recorder writes them, of steps that overlap: the order of finishing is that of the numbers, nearly."""

    def numbered(found: "tuple[list[Row], list[int]]") -> list[Row]:
        made, delays = found
        order = sorted(range(len(made)), key=lambda at: at + delays[at])
        places = {at: place for place, at in enumerate(order, 1)}
        return [{**row, "finished_order": places[at]} for at, row in enumerate(made)]

    return st.tuples(
        st.lists(rows(), min_size=count, max_size=count),
        st.lists(st.sampled_from([0, 0, 0, 1, 3, 20]), min_size=count, max_size=count),
    ).map(numbered)


def deeds(columns: Sequence[str] = tuple(COLUMNS)) -> st.SearchStrategy[Deed]:
    return st.builds(Deed, st.sampled_from(DEEDS), NUMBERS, rows(columns))


def moves() -> st.SearchStrategy[tuple[int, Moment]]:
    return st.tuples(st.integers(0, 40), st.sampled_from([Moment.AFTER, Moment.AFTER, Moment.ASKED]))


class Hands:
    """Two people with psql: one of them commits each thing at once, the other one some time later."""

    def __init__(self, quick: psycopg.Connection, slow: psycopg.Connection) -> None:
        self._quick = quick
        self._slow = slow

    def begin(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Have these rows, and no others."""
        self._slow.rollback()
        self._quick.execute("DELETE FROM agent_steps")
        for number, row in rows:
            self._insert(number, row)

    def do(self, deed: Deed) -> None:
        if deed.what == "update":
            self._update(self._quick, deed)
        elif deed.what == "update in a transaction":
            with (
                self._slow.transaction()
            ):  # within another one that goes on, so that it has a number of its own
                self._update(self._slow, deed)
        elif deed.what == "commit":
            self._slow.commit()
        elif deed.what == "delete":
            self._quick.execute(f"DELETE FROM agent_steps WHERE id IN ({_FREE})", [deed.number])
        elif deed.what == "insert":
            self._insert(deed.number, deed.row)
        elif deed.what == "elsewhere":
            self._quick.execute("SELECT pg_current_xact_id()")

    def numbers(self) -> list[int]:
        return [number for (number,) in self._quick.execute("SELECT step_number FROM agent_steps ORDER BY 1")]

    def _insert(self, number: int, row: Row) -> None:
        statement = sql.SQL("INSERT INTO agent_steps ({}) VALUES ({}) ON CONFLICT DO NOTHING")
        full = {"run_id": RUN, "step_number": number, **row}
        names = sql.SQL(", ").join(map(sql.Identifier, full))
        places = sql.SQL(", ").join(sql.Placeholder() * len(full))
        self._quick.execute(statement.format(names, places), list(full.values()))

    @staticmethod
    def _update(connection: psycopg.Connection, deed: Deed) -> None:
        changes = sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in deed.row)
        statement = sql.SQL("UPDATE agent_steps SET {} WHERE id IN ({})").format(changes, sql.SQL(_FREE))
        connection.execute(statement, [*deed.row.values(), deed.number])


_FREE = "SELECT id FROM agent_steps WHERE step_number = %s FOR UPDATE SKIP LOCKED"
"""A row that the other one has changed is left to them."""


def told(world: World) -> dict[str, object]:
    """All that a world says, but for how long it took and what was kept for it."""
    said = {field.name: getattr(world, field.name) for field in fields(world)}
    return said | {"replay": replace(world.replay, milliseconds=0, kept=None)}
