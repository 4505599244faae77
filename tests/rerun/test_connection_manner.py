"""The connection of a replay gives rows of the kind that the agent's own gave, and commits as that did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import class_row, dict_row
from sqlalchemy import create_engine, text

from stepwell import Recorder, Run
from stepwell.core.recorded import RecordedRun
from stepwell.replay.recorded import load
from stepwell.store.connect import resolve
from tests.rerun.orders import again, assert_same, do, make, tell


class Counting(psycopg.Cursor[Any]):
    """One that tells what it is."""


@pytest.fixture
def dsn(schema_dsn: str) -> str:
    make(schema_dsn)
    return schema_dsn


def recorded_with(dsn: str, agent: Callable[[Run], object], **manner: Any) -> RecordedRun:
    """A run that was given a connection which is set so."""
    with (
        Recorder(dsn) as recorder,
        psycopg.connect(dsn, **manner) as connection,
        recorder.run(connection=connection) as run,
    ):
        agent(run)
    do(dsn, "UPDATE orders SET qty = 0")
    return load(resolve(dsn), str(run.run_id))


def told(run: Run) -> None:
    own = run.connection
    own.execute("SET LOCAL statement_timeout TO '5s'")
    row = own.execute("SELECT sum(qty)::int AS n FROM orders").fetchone()
    run.tool(tell, [row, type(own.cursor()).__qualname__, own.autocommit])


@pytest.mark.parametrize(
    "manner",
    [
        {"row_factory": dict_row},
        {"cursor_factory": psycopg.ClientCursor, "autocommit": True},
        {"cursor_factory": Counting, "row_factory": dict_row},
        {},
    ],
)
def test_it_is_set_as_the_agents_own_was(dsn: str, manner: dict[str, Any]) -> None:
    assert_same(again(dsn, recorded_with(dsn, told, **manner), told))


def test_in_autocommit_nothing_is_undone(dsn: str) -> None:
    def agent(run: Run) -> None:
        own = run.connection
        own.execute("UPDATE orders SET qty = 7 WHERE id = 1")
        own.rollback()
        run.tool(tell, own.execute("SELECT qty FROM orders WHERE id = 1").fetchone()[0])

    assert_same(again(dsn, recorded_with(dsn, agent, autocommit=True), agent))


def test_one_that_is_awaited_is_set_so_too(dsn: str) -> None:
    async def agent(run: Run) -> None:
        cursor = await run.connection.execute("SELECT sum(qty)::int AS n FROM orders")
        run.tool(tell, await cursor.fetchone())

    async def record() -> Run:
        async with await psycopg.AsyncConnection.connect(dsn, row_factory=dict_row) as connection:
            with Recorder(dsn) as recorder, recorder.run(connection=connection) as run:
                await agent(run)
        return run

    run = asyncio.run(record())
    do(dsn, "UPDATE orders SET qty = 0")
    assert_same(again(dsn, load(resolve(dsn), str(run.run_id)), agent))


def test_one_that_the_agent_makes_itself_counts_before_what_was_recorded(dsn: str) -> None:
    def agent(run: Run) -> None:
        with psycopg.connect(dsn, row_factory=dict_row) as own:
            row = (
                run.named(connection=own)
                .connection.execute("SELECT sum(qty)::int AS n FROM orders")
                .fetchone()
            )
        run.tool(tell, row["n"])

    report = again(dsn, recorded_with(dsn, agent), agent)
    assert report.divergence is None


def test_what_is_not_to_be_found_is_named(dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(tell, run.connection.execute("SELECT 1").fetchone() is not None)

    report = again(dsn, recorded_with(dsn, agent, row_factory=class_row(dict)), agent)
    assert report.divergence is None
    (note,) = report.notes
    assert note == (
        "the agent's connection had psycopg.rows:class_row.<locals>.class_row_ as its row_factory, which is not to be"
        " found: set it in the agent"
    )


def test_that_it_was_of_another_library_is_said(dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(tell, run.connection.execute(text("SELECT 1")).scalar())

    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    with (
        Recorder(dsn) as recorder,
        engine.connect() as connection,
        recorder.run(connection=connection) as run,
    ):
        agent(run)
    report = again(dsn, load(resolve(dsn), str(run.run_id)), agent)
    assert report.divergence is not None
    assert report.notes[0].startswith(
        "run.connection was a sqlalchemy.engine.base.Connection: in a replay it is"
    )
    engine.dispose()
