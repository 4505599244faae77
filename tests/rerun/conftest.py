"""Runs of small agents, recorded once a session."""

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

Agent = Callable[[Run], Any]


@pytest.fixture
def recorder(schema_dsn: str) -> Iterator[Recorder]:
    with closing(Recorder(schema_dsn, durability="async")) as opened:
        yield opened


@pytest.fixture
def record(recorder: Recorder, schema_dsn: str) -> Callable[[Agent], RecordedRun]:
    """Run an agent for real and read its recording."""

    def do(agent: Agent) -> RecordedRun:
        async def wait(result: Any) -> None:
            await result

        with recorder.run("recorded", seed=5) as run:
            result = agent(run)
            if inspect.isawaitable(result):
                asyncio.run(wait(result))
        return load(resolve(schema_dsn), str(run.run_id))

    return do
