"""A server that crashes, restarts or is replaced by its standby while agents record."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from stepwell import Recorder, Run
from tests.recorder.servers import Server, either
from tests.recorder.test_failures import in_threads

CALLERS = 3


@pytest.fixture(scope="module")
def primary(short_folder: Path) -> Iterator[Server]:
    server = Server(short_folder, "primary")
    server.make()
    yield server
    server.remove()


@pytest.fixture
def standby(primary: Server, short_folder: Path) -> Iterator[Server]:
    server = Server(short_folder, "heir")
    server.follow(primary)
    yield server
    server.remove()


class Callers:
    """Agents that take steps all the time, until they are told to stop."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.outcomes: list[object] = []
        self.acknowledged: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> "Callers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _work(self) -> None:
        self.outcomes = in_threads(*[lambda n=n: self._call(n) for n in range(CALLERS)])

    def _call(self, caller: int) -> int:
        lap = 0
        while not self._stop.is_set():
            self.run.agent(str(caller)).tool(str, f"{caller} {lap}")
            self.acknowledged.append(f"{caller} {lap}")
            lap += 1
        return lap

    def go_on(self, laps: int = 20) -> None:
        """Wait until they have taken so many more steps."""
        goal = len(self.acknowledged) + laps
        deadline = time.monotonic() + 60
        while len(self.acknowledged) < goal:
            assert time.monotonic() < deadline
            assert self._thread.is_alive(), self.outcomes
            time.sleep(0.01)


def rows_of(dsn: str, run: Run) -> list[dict[str, Any]]:
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        return connection.execute(
            "SELECT *, output ->> 0 AS got FROM agent_steps WHERE run_id = %s ORDER BY step_number",
            (run.run_id,),
        ).fetchall()


def test_a_crash_of_the_server_loses_and_doubles_nothing(primary: Server) -> None:
    with Recorder(primary.dsn) as recorder:
        run = recorder.start()
        with Callers(run) as callers:
            for _ in range(2):
                callers.go_on()
                primary.stop()
                primary.start()
            callers.go_on()
        run.finish()
    assert all(isinstance(outcome, int) for outcome in callers.outcomes), callers.outcomes
    rows = rows_of(primary.dsn, run)
    assert [row["step_number"] for row in rows] == list(range(1, len(rows) + 1))
    assert sorted(row["output"] for row in rows) == sorted(callers.acknowledged)
    assert sorted(row["finished_order"] for row in rows) == list(range(1, len(rows) + 1))


def test_recording_goes_on_at_the_standby_that_takes_over(
    primary: Server, standby: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with Recorder(either(primary, standby)) as recorder:
        run = recorder.start()
        with Callers(run) as callers:
            callers.go_on()
            sent = len(callers.acknowledged)
            wait_for_standby(primary, standby)
            primary.stop()
            standby.promote()
            callers.go_on()
        run.state({"a": 1})
        run.finish()
        recorder.resume(run.run_id).finish()
        with recorder.run() as later:
            pass
    try:
        assert [timeline_of(standby, each) for each in (run, later)] == [1, 2], "each where it began"
        rows = rows_of(standby.dsn, run)
        calls = [row["output"] for row in rows if row["step_type"] == "tool_call"]
        there = [output for output in calls if output is not None]  # the standby may lack the last outcomes
        assert len(there) == len(set(there)), "none is there twice"
        assert set(callers.acknowledged[:sent]) <= set(there), "what the standby had is there"
        numbers = [row["step_number"] for row in rows]
        assert len(numbers) == len(set(numbers))
        missing = set(range(1, numbers[-1] + 1)) - set(numbers)
        assert not missing or "has not got steps" in caplog.text
    finally:
        primary.start()


def timeline_of(server: Server, run: Run) -> int | None:
    with psycopg.connect(server.dsn) as connection:
        row = connection.execute(
            "SELECT timeline FROM agent_runs WHERE run_id = %s", (run.run_id,)
        ).fetchone()
    assert row is not None
    timeline: int | None = row[0]
    return timeline


def wait_for_standby(primary: Server, standby: Server) -> None:
    with psycopg.connect(primary.dsn) as connection:
        row = connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
    with psycopg.connect(standby.dsn, autocommit=True) as connection:
        while connection.execute("SELECT pg_last_wal_replay_lsn() < %s::pg_lsn", row).fetchone() == (True,):
            time.sleep(0.01)


LONG = [{"role": "user", "content": "x" * 20_000}]


def test_what_the_standby_had_not_got_is_lost_and_nothing_takes_its_place(
    primary: Server, standby: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """An asynchronous standby is behind: here it has been kept from following for a while."""

    def model(messages: list[object]) -> str:
        return str(len(messages))

    with Recorder(either(primary, standby)) as recorder:
        run = recorder.start()
        run.llm(model, messages=LONG)
        run.state({"a": 1, "b": 1})
        wait_for_standby(primary, standby)
        standby.stop()
        more = [*LONG, {"role": "user", "content": "more"}]
        run.llm(model, messages=more)
        run.state({"a": 2, "b": 1})
        lost = run.step("tool_call", "lost", 1)
        lost.__enter__()
        primary.stop()
        standby.start()
        standby.promote()
        run.llm(model, messages=[*more, {"role": "user", "content": "still more"}])
        run.state({"a": 3, "b": 1})
        with pytest.raises(Exception, match="no longer in the database"):
            lost.__exit__(None, None, None)
        run.finish()
    try:
        rows = rows_of(standby.dsn, run)
        assert [(row["step_number"], row["step_type"]) for row in rows] == [
            (1, "llm_call"),
            (2, "state_update"),
            (6, "llm_call"),
            (7, "state_update"),
        ]
        assert "has not got steps 3 to 5" in caplog.text
        assert rows[2]["input_base"] is None
        assert len(rows[2]["input"]["messages"]) == 3
        assert rows[3]["input"] == {"$patch": [{"set": [], "to": {"a": 3, "b": 1}}]}
    finally:
        primary.start()
