"""A table as of each step of a history is what a model of it is; the changes of each step lead on to the next."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, pairwise

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepwell.core.past import Certainty, Instant, Origin, RowChange, Verdict
from stepwell.store.changes import read_changes
from stepwell.store.watching import unwatch, watch
from tests.asof.compare import read_origin
from tests.asof.kinds import Connection
from tests.asof.looking import look_back
from tests.asof.seen import read_instant

Row = tuple[str, str | None]
State = dict[str, Row]
"""The rows by their key, as texts."""

KEYS = st.integers(1, 6)
NOTES = st.sampled_from([None, "", "a", "b "])
WRITES = st.one_of(
    st.tuples(st.just("insert"), KEYS, NOTES),
    st.tuples(st.just("upsert"), KEYS, NOTES),
    st.tuples(st.just("update"), KEYS, NOTES),
    st.tuples(st.just("delete"), KEYS, st.none()),
    st.tuples(st.just("move"), KEYS, KEYS),
    st.tuples(st.just("swap"), KEYS, KEYS),
    st.tuples(st.just("clear"), KEYS, st.none()),
)
Write = tuple[str, int, object]
PART = st.tuples(st.sampled_from(["bare", "kept", "rolled back"]), st.lists(WRITES, max_size=3))
"""Writes in a savepoint or in none."""


@dataclass(frozen=True)
class Step:
    """What a step did on the agent's connection, what another committed during it, and how the transaction went on."""

    parts: Sequence[tuple[str, Sequence[Write]]]
    other: Sequence[Write]
    then: str


STEPS = st.builds(
    Step,
    st.lists(PART, max_size=2),
    st.lists(WRITES, max_size=1),
    st.sampled_from(["open", "open", "commit", "commit", "roll back"]),
)


@dataclass(frozen=True)
class Point:
    """An instant and what the agent saw at it; `lasting` tells whether what it had written itself was committed."""

    instant: Instant
    state: State
    transaction: int


class History:
    """Runs steps on a table and on a model of it. The other connection keeps to keys of its own: it never waits."""

    def __init__(self, agent: Connection, other: Connection, table: str) -> None:
        self.points: list[Point] = []
        self.lost: set[int] = set()
        """The numbers of the transactions that were rolled back."""
        self._agent = agent
        self._other = other
        self._table = table
        self._committed: State = {}
        self._seen: State = {}
        self._transaction = 0
        self._look()

    def run(self, steps: Sequence[Step]) -> None:
        self._agent.execute("BEGIN")
        for step in steps:
            for how, writes in step.parts:
                self._part(how, writes)
            for verb, key, value in step.other:
                shifted = value + 100 if isinstance(value, int) else value
                self._write(self._other, (verb, key + 100, shifted), [self._seen, self._committed])
            if step.then != "open":
                self._end(keep=step.then == "commit")
            self._look()
        self._end(keep=True)
        self._agent.execute("ROLLBACK")
        self._look()

    def _part(self, how: str, writes: Sequence[Write]) -> None:
        before = dict(self._seen)
        if how != "bare":
            self._agent.execute("SAVEPOINT part")
        for write in writes:
            self._write(self._agent, write, [self._seen])
        if how == "kept":
            self._agent.execute("RELEASE part")
        if how == "rolled back":
            self._agent.execute("ROLLBACK TO part; RELEASE part")
            self._seen = before

    def _end(self, *, keep: bool) -> None:
        self._agent.execute("COMMIT" if keep else "ROLLBACK")
        if keep:
            self._committed = dict(self._seen)
        else:
            self.lost.add(self._transaction)
            self._seen = dict(self._committed)
        self._transaction += 1
        self._agent.execute("BEGIN")

    def _look(self) -> None:
        self.points.append(Point(read_instant(self._agent), dict(self._seen), self._transaction))

    def _write(self, connection: Connection, write: Write, states: Sequence[State]) -> None:
        """One statement on the table, and the same on the model."""
        statement, parameters = _statement(self._table, write)
        with connection.transaction():
            connection.execute(statement.encode(), parameters)
        for state in states:
            _change(state, write)


def _statement(table: str, write: Write) -> tuple[str, Sequence[object]]:
    verb, key, value = write
    low = key > 100
    swap = (
        f"WITH gone AS (DELETE FROM {table} WHERE id IN (%s, %s) RETURNING *)"
        f" INSERT INTO {table} SELECT CASE id WHEN %s THEN %s ELSE %s END, note FROM gone"
    )
    return {
        "insert": (f"INSERT INTO {table} VALUES (%s, %s) ON CONFLICT DO NOTHING", (key, value)),
        "upsert": (
            f"INSERT INTO {table} VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET note = excluded.note",
            (key, value),
        ),
        "update": (f"UPDATE {table} SET note = %s WHERE id = %s", (value, key)),
        "delete": (f"DELETE FROM {table} WHERE id = %s", (key,)),
        "move": (
            f"UPDATE {table} SET id = %s WHERE id = %s AND NOT EXISTS (SELECT FROM {table} WHERE id = %s)",
            (value, key, value),
        ),
        "swap": (swap, (key, value, key, value, key)),
        "clear": (f"DELETE FROM {table} WHERE (id > 100) = %s AND id >= %s", (low, key)),
    }[verb]


def _change(state: State, write: Write) -> None:
    verb, key, value = write
    old, new = str(key), str(value)
    note = None if value is None else str(value)
    if verb == "insert":
        state.setdefault(old, (old, note))
    elif verb == "upsert" or (verb == "update" and old in state):
        state[old] = (old, note)
    elif verb == "delete":
        state.pop(old, None)
    elif verb == "move" and old in state and new not in state:
        state[new] = (new, state.pop(old)[1])
    elif verb == "swap":
        first, second = state.pop(old, None), state.pop(new, None)
        if first:
            state[new] = (new, first[1])
        if second:
            state[old] = (old, second[1])
    elif verb == "clear":
        for gone in [each for each in state if (int(each) > 100) == (key > 100) and int(each) >= key]:
            del state[gone]


@pytest.fixture
def connections(dsn: str) -> Iterator[tuple[Connection, Connection]]:
    with (
        psycopg.connect(dsn, autocommit=True) as agent,
        psycopg.connect(dsn, autocommit=True) as other,
    ):
        yield agent, other


_numbers = count(1)


LOOKED_AT = """
SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_all_tables
WHERE schemaname = 'stepwell_log' AND relname ~ '^t[0-9]'
"""
"""How many entries of logs this transaction has looked at."""
Connections = tuple[Connection, Connection]
HISTORIES = st.lists(STEPS, min_size=1, max_size=5)
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@settings(SETTINGS, max_examples=15)
@given(steps=HISTORIES)
def test_the_state_at_each_step_is_the_first_one_and_the_changes_since(
    connections: Connections, steps: list[Step]
) -> None:
    _assert_told(connections, steps)


@pytest.mark.long
@settings(SETTINGS, max_examples=200)
@given(steps=HISTORIES)
def test_the_state_at_each_step_of_many_histories(connections: Connections, steps: list[Step]) -> None:
    _assert_told(connections, steps)


def test_the_changes_of_a_step_are_read_without_what_was_written_later(connections: Connections) -> None:
    """However much that is by now."""
    agent, other = connections
    with _watched(agent, "busy") as table:
        other.execute(f"INSERT INTO {table} VALUES (1, 'a')".encode())
        before = read_instant(other)
        other.execute(f"UPDATE {table} SET note = 'b'".encode())
        after = read_instant(other)
        other.execute(
            f"INSERT INTO {table} SELECT n, 'c' FROM generate_series(2, 20000) AS n; ANALYZE".encode()
        )
        with _past(agent):
            (found,) = read_changes(agent, before, after, read_origin(agent))
            looked_at = agent.execute(LOOKED_AT).fetchone()
    assert [change.new for change in found.changes] == [("1", "b")]
    assert looked_at is not None
    assert 0 < int(str(looked_at[0])) < 100


def _assert_told(connections: Connections, steps: list[Step]) -> None:
    agent, other = connections
    with _watched(agent, f"history_{next(_numbers)}") as table:
        history = History(agent, other, table)
        history.run(steps)
        origin = read_origin(agent)
        for point in history.points:
            _assert_shown(agent, table, point, origin, lost=_is_lost(history, point))
        _assert_leads_on(agent, history, origin)


@contextmanager
def _watched(connection: Connection, table: str) -> Iterator[str]:
    connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, note text)".encode())
    watch(connection, f"public.{table}")
    try:
        yield table
    finally:
        connection.execute("ROLLBACK")
        unwatch(connection, f"public.{table}")
        connection.execute(f"DROP TABLE {table}".encode())


def _is_lost(history: History, point: Point) -> bool:
    """Whether what the agent itself had written by then is known to nobody."""
    return point.instant.own is not None and point.transaction in history.lost


def _assert_shown(agent: Connection, table: str, point: Point, origin: Origin, *, lost: bool) -> None:
    for fast in (True, False):
        with _past(agent):
            (found,) = look_back(agent, point.instant, origin, fast=fast)
            rows = agent.execute(f"SELECT id::text, note FROM {table}".encode()).fetchall()
            if lost:
                assert found.verdict.certainty is Certainty.UNCERTAIN
            else:
                assert found.verdict == Verdict(Certainty.EXACT)
                assert {row[0]: row for row in rows} == point.state
                assert len(rows) == len(point.state)


def _assert_leads_on(agent: Connection, history: History, origin: Origin) -> None:
    """Add up the changes of the steps. What a transaction that was rolled back saw of its own is left out."""
    points = [point for point in history.points if not _is_lost(history, point)]
    state = dict(points[0].state)
    for before, after in pairwise(points):
        with _past(agent):
            (found,) = read_changes(agent, before.instant, after.instant, origin)
        assert found.more == 0
        for change in found.changes:
            _apply(state, change)
        assert state == after.state


def _apply(state: State, change: RowChange) -> None:
    (key,) = change.key
    assert key is not None
    assert state.get(key) == change.old
    assert change.old != change.new
    if change.new is None:
        del state[key]
    else:
        state[key] = (str(change.new[0]), change.new[1])


@contextmanager
def _past(connection: Connection) -> Iterator[None]:
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
