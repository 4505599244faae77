"""Runs of small agents, recorded by one recorder a file."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from stepwell import Recorder, Run
from stepwell.core.recorded import RecordedRun
from stepwell.replay.recorded import load
from stepwell.store.connect import resolve
from tests.conftest import create_database, drop_database

Agent = Callable[[Run], Any]


@pytest.fixture(scope="module")
def runs_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of the database that `record` records in, for the tests of a file."""
    conninfo = create_database(server, schema_template)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture(scope="module")
def recorder(runs_dsn: str) -> Iterator[Recorder]:
    with closing(Recorder(runs_dsn, durability="async")) as opened:
        yield opened


@pytest.fixture
def record(recorder: Recorder, runs_dsn: str) -> Callable[[Agent], RecordedRun]:
    """Run an agent for real and read its recording."""

    def do(agent: Agent) -> RecordedRun:
        async def wait(result: Any) -> None:
            await result

        with recorder.run("recorded", seed=5) as run:
            result = agent(run)
            if inspect.isawaitable(result):
                asyncio.run(wait(result))
        return load(resolve(runs_dsn), str(run.run_id))

    return do
