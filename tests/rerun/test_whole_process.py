"""What a replay in this process changes for all of it: one at a time, and all is as it was, whatever ends it."""

from __future__ import annotations

import _posixsubprocess
import asyncio
import os
import random
import signal
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from psycopg._connection_base import BaseConnection

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.errors import UsageError
from stepwell.rerun.playing import play
from tests.rerun.agents import fetch, search

Record = Callable[[Any], RecordedRun]


def of_all() -> list[object]:
    names = ("time", "sleep", "monotonic", "perf_counter")
    return [
        *(getattr(time, name) for name in names),
        asyncio.get_event_loop_policy(),
        os.environ.get("PGOPTIONS"),
        vars(BaseConnection)["_connect_gen"],
        vars(uuid)["os"],
        _posixsubprocess.fork_exec,
        random.getstate(),
        threading.excepthook,
    ]


def ends(run: Run) -> None:
    run.tool(search, "a")


def raises(run: Run) -> None:
    run.tool(search, "a")
    raise ValueError


def diverges(run: Run) -> None:
    run.tool(search, "b")


@pytest.mark.parametrize("agent", [ends, raises, diverges])
def test_all_is_as_it_was_however_the_agent_ends(record: Record, agent: Callable[[Run], None]) -> None:
    recorded, before = record(ends), of_all()
    assert play(recorded, agent).same is (agent is ends)
    assert of_all() == before


def test_ctrl_c_is_for_whoever_replays_and_no_end_of_the_agent(record: Record) -> None:
    def interrupted(run: Run) -> None:
        run.tool(search, "a")
        signal.raise_signal(signal.SIGINT)

    recorded, before = record(ends), of_all()
    with pytest.raises(KeyboardInterrupt):
        play(recorded, interrupted)
    assert of_all() == before


def test_a_second_thread_is_told_to_wait_its_turn(record: Record) -> None:
    refused: list[UsageError] = []

    def second() -> None:
        try:
            play(recorded, ends)
        except UsageError as error:
            refused.append(error)

    def first(run: Run) -> None:
        run.tool(search, "a")
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()

    recorded, before = record(ends), of_all()
    assert play(recorded, first).same
    assert "another thread of this process is replaying" in str(refused[0])
    assert of_all() == before
    assert play(recorded, ends).same


def test_where_a_loop_runs_what_is_to_be_awaited_is_refused_with_the_way_to_do_it(record: Record) -> None:
    async def agent(run: Run) -> None:
        await run.tool(fetch, "a")

    async def notebook() -> tuple[str | None, bool]:
        return play(recorded, agent).refused, (await asyncio.to_thread(play, recorded, agent)).same

    recorded = record(agent)
    why, is_same = asyncio.run(notebook())
    assert "asyncio.to_thread(stepwell.replay" in str(why)
    assert is_same
