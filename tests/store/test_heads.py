"""Heads read in columns are the rows, read one by one, whatever is in them."""

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.rows import tuple_row
from psycopg.types.json import Jsonb

from stepwell.core.steps import StepHead
from stepwell.store.heads import read_heads
from tests.store.rows import run_id

RUN, OTHER = run_id(1), run_id(2)
BARE = """
CREATE TABLE agent_steps (id BIGSERIAL PRIMARY KEY, run_id UUID, step_number {}, step_type {}, input JSONB,
                          output JSONB, created_at {}, seed {})
"""
HASH = """CASE WHEN step_type::text = 'tool_call' AND (output IS NOT NULL OR {error} IS NOT NULL)
     THEN coalesce({call_hash}, hashtextextended(
          concat_ws(chr(31), {name}, input::text, output::text, {error}::text), 0)) END"""
ERROR = (
    "CASE WHEN error IS NOT NULL THEN concat_ws(': ', error ->> 'type', nullif(error ->> 'message', '')) END"
)
ROWS = """
SELECT step_number, step_type::text, output IS NOT NULL, created_at, seed, agent, name, parent_step, started_at,
       finished_at, finished_order, {error}, tokens_in, tokens_out, finish_reason, {hash}
FROM agent_steps WHERE run_id = %s ORDER BY step_number, id
"""
BARE_ROWS = """
SELECT step_number, step_type::text, output IS NOT NULL, created_at, seed, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, {hash}
FROM agent_steps WHERE run_id = %s ORDER BY step_number, id
"""

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
INT4, INT8 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
WORDS = st.sampled_from(["tool_call", "llm_call", "state_update", "", "search orders", "名", "\x01\x1f"])
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "run_id": st.sampled_from([RUN, RUN, RUN, OTHER]),
    "step_number": st.integers(-3, 12),
    "step_type": WORDS,
    "input": st.just(Jsonb({"query": 1})),
    "output": st.sampled_from([None, Jsonb(None), Jsonb([1])]),
    "created_at": TIMES,
    "seed": st.none() | INT8,
}
WIDE = PLAIN | {
    "agent": st.none() | WORDS,
    "name": st.none() | WORDS,
    "parent_step": st.none() | INT4,
    "started_at": st.none() | TIMES,
    "finished_at": st.none() | TIMES,
    "finished_order": st.none() | INT4,
    "tokens_in": st.none() | INT4,
    "tokens_out": st.none() | INT4,
    "finish_reason": st.none() | WORDS,
    "call_hash": st.none() | INT8,
    "error": st.sampled_from([None, *map(Jsonb, ({"type": "Boom", "message": "no"}, {"type": "Boom"}, {}))]),
}


def rows_of(columns: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(
        st.fixed_dictionaries(columns), max_size=10, unique_by=lambda row: (row["run_id"], row["step_number"])
    )


def put(connection: psycopg.Connection, rows: list[dict[str, Any]]) -> None:
    """Make these the rows of the table."""
    connection.execute("TRUNCATE agent_steps")
    for row in rows:
        insert = sql.SQL("INSERT INTO agent_steps ({}) VALUES ({})").format(
            sql.SQL(", ").join(map(sql.Identifier, row)), sql.SQL(", ").join(sql.Placeholder() * len(row))
        )
        connection.execute(insert, list(row.values()))


def one_by_one(connection: psycopg.Connection) -> list[StepHead]:
    call_hash = HASH.format(error="error", call_hash="call_hash", name="name")
    with connection.cursor(row_factory=tuple_row) as cursor:
        cursor.execute(ROWS.format(error=ERROR, hash=call_hash).encode(), [RUN])
        return [StepHead(*row) for row in cursor]


def one_by_one_bare(connection: psycopg.Connection) -> list[StepHead]:
    call_hash = HASH.format(error="NULL::jsonb", call_hash="NULL::bigint", name="NULL")
    return [
        StepHead(*row)
        for row in connection.execute(BARE_ROWS.format(hash=call_hash).encode(), [RUN]).fetchall()
    ]


def bare_table(
    dsn: str, number: str = "INT", type_: str = "TEXT", time: str = "TIMESTAMPTZ", seed: str = "BIGINT"
) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE agent_runs, agent_steps CASCADE")
        connection.execute(BARE.format(number, type_, time, seed).encode())


@few
@given(rows=rows_of(WIDE), after=st.none() | st.integers(-4, 13), data=st.data())
def test_columns_are_the_rows(
    rows: list[dict[str, Any]], after: int | None, data: st.DataObject, schema_dsn: str
) -> None:
    numbers = data.draw(st.lists(st.integers(-3, 12), max_size=4))
    unfinished = data.draw(st.lists(st.integers(-3, 12), max_size=4))
    with psycopg.connect(schema_dsn) as connection:
        put(connection, rows)
        expected = one_by_one(connection)
        assert read_heads(connection, RUN) == expected
        assert read_heads(connection, RUN, limit=2) == expected[:2]
        some = read_heads(connection, RUN, after=after, numbers=numbers, unfinished=unfinished)
        assert some == [
            head
            for head in expected
            if after is None
            or head.number > after
            or head.number in numbers
            or (head.number in unfinished and not head.in_doubt)
        ]


@few
@given(rows=rows_of(WIDE))
def test_without_details_nothing_else_is_missing(rows: list[dict[str, Any]], schema_dsn: str) -> None:
    with psycopg.connect(schema_dsn) as connection:
        put(connection, rows)
        for light, head in zip(
            read_heads(connection, RUN, details=False), read_heads(connection, RUN), strict=True
        ):
            assert (light.seed, light.finished_order, light.tokens_in, light.tokens_out) == (None,) * 4
            for name in ("number", "type", "has_output", "agent", "name", "parent", "started", "finished"):
                assert getattr(light, name) == getattr(head, name)
            assert (light.time, light.error, light.call_hash) == (head.time, head.error, head.call_hash)


def test_a_table_of_eight_columns_is_read_as_it_is(schema_dsn: str) -> None:
    bare_table(schema_dsn)
    check = few(given(rows=rows_of(PLAIN))(lambda rows: _is_read_as_it_is(rows, schema_dsn)))
    check()


def _is_read_as_it_is(rows: list[dict[str, Any]], dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        put(connection, rows)
        assert read_heads(connection, RUN) == one_by_one_bare(connection)


@pytest.mark.parametrize(
    ("types", "created"),
    [
        ({"number": "BIGINT", "type_": "VARCHAR(20)", "seed": "NUMERIC"}, datetime(2025, 3, 1, tzinfo=UTC)),
        ({"number": "SMALLINT", "time": "TIMESTAMP", "seed": "TEXT"}, datetime(2025, 3, 1)),
    ],
)
def test_columns_of_other_types_are_read_as_well(
    types: dict[str, str], created: datetime, schema_dsn: str
) -> None:
    """A time without a zone is taken for UTC, whatever the session's zone; a seed may be beyond 64 bits."""
    bare_table(schema_dsn, **types)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("SET TIME ZONE 'Asia/Tokyo'")
        put(
            connection,
            [{"run_id": RUN, "step_number": 3, "step_type": "plan", "created_at": created, "seed": 2**63}],
        )
        (head,) = read_heads(connection, RUN)
    assert head == StepHead(3, "plan", created=datetime(2025, 3, 1, tzinfo=UTC), seed=2**63)


def test_repeated_numbers_come_in_the_order_in_which_they_were_written(schema_dsn: str) -> None:
    bare_table(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        put(connection, [{"run_id": RUN, "step_number": 2, "step_type": each} for each in ("a", "b", "a")])
        assert [head.type for head in read_heads(connection, RUN)] == ["a", "b", "a"]
        connection.execute("CREATE INDEX by_run ON agent_steps (run_id, step_number)")
        row = {"run_id": RUN, "step_number": 2}
        put(connection, [row | {"id": 3 - place, "step_type": each} for place, each in enumerate("cba")])
        connection.execute("SET enable_seqscan = off")  # the index has them in the order in which they lie
        assert [head.type for head in read_heads(connection, RUN)] == ["a", "b", "c"]


def test_a_time_at_no_end_is_not_known(schema_dsn: str) -> None:
    bare_table(schema_dsn)
    with psycopg.connect(schema_dsn) as connection:
        for number, time in enumerate(("infinity", "-infinity")):
            connection.execute(
                "INSERT INTO agent_steps (run_id, step_number, step_type, created_at) VALUES (%s, %s, 'a', %s)",
                [RUN, number, time],
            )
        assert [head.created for head in read_heads(connection, RUN)] == [None, None]
