"""The life of a run: begun, ended, resumed, and seen to be alive or not."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

import stepwell
from stepwell import DatabaseError, EncodingError, NotFoundError, Recorder, RecordingError, UsageError
from stepwell.core.liveness import lock_key
from stepwell.store.migrate import migrate
from stepwell.store.queries import schema_files
from stepwell.store.reading import list_runs
from tests.store.rows import add_run


def status_of(dsn: str, run_id: UUID) -> str:
    """What the list of runs shows."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return next(run.status for run in list_runs(connection, limit=50) if run.run_id == run_id)


def test_a_run_has_a_row_with_its_name_tags_and_end(recorder: Recorder, run_row: Any) -> None:
    with recorder.run("refund-triage", tags={"tenant": "a", "n": [1]}) as run:
        open_row = run_row(run.run_id)
    row = run_row(run.run_id)
    assert (open_row["status"], open_row["finished_at"]) == ("running", None)
    assert (row["name"], row["tags"], row["status"]) == ("refund-triage", {"tenant": "a", "n": [1]}, "ok")
    assert row["finished_at"] >= row["started_at"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("no"), "failed"),
        (KeyboardInterrupt(), "failed"),
        (SystemExit(1), "failed"),
        (SystemExit(0), "ok"),
    ],
)
def test_a_run_whose_block_raises_has_failed_with_that(
    recorder: Recorder, run_row: Any, error: BaseException, status: str
) -> None:
    with pytest.raises(type(error)) as caught, recorder.run() as run:
        raise error
    assert caught.value is error
    row = run_row(run.run_id)
    assert row["status"] == status
    assert (row["error"] or {}).get("type") == (type(error).__name__ if status == "failed" else None)


def test_a_run_that_fits_no_block_is_started_and_finished(recorder: Recorder, run_row: Any) -> None:
    run = recorder.start("loose")
    assert stepwell.current_run() is None
    run.finish(ValueError("why"))
    assert run_row(run.run_id)["error"]["message"] == "why"
    with recorder.start() as block:
        assert stepwell.current_run() is block
    assert run_row(block.run_id)["status"] == "ok"

    async def main() -> UUID:
        run = recorder.start()
        await run.afinish()
        return run.run_id

    assert run_row(asyncio.run(main()))["status"] == "ok"


def test_a_run_is_resumed_by_whoever_knows_its_id(schema_dsn: str, steps: Any, run_row: Any) -> None:
    with Recorder(schema_dsn) as first:
        run = first.start()
        run.tool(len, "ab")
        run.finish(ValueError("gave up"))
    with Recorder(schema_dsn) as second:
        again = second.resume(str(run.run_id))
        assert again.run_id == run.run_id
        row = run_row(run.run_id)
        assert (row["status"], row["error"], row["finished_at"]) == ("running", None, None)
        with again:
            again.tool(len, "abc")
    assert [(r["step_number"], r["got"]) for r in steps(run.run_id)] == [(1, 2), (2, 3)]
    assert run_row(run.run_id)["status"] == "ok"


def test_printed_it_says_which_run_it_is_and_by_whom(recorder: Recorder) -> None:
    with recorder.run("refund-triage") as run:
        assert repr(run) == f"<stepwell.Run 'refund-triage' {run.run_id.hex[:8]}>"
        assert repr(run.agent("b")) == f"<stepwell.Run 'refund-triage' {run.run_id.hex[:8]} agent 'b'>"
    resumed = recorder.resume(run.run_id)
    resumed.finish()
    assert repr(resumed) == repr(run)


def test_a_recorder_is_printed_without_its_password(schema_dsn: str) -> None:
    with Recorder(f"{schema_dsn} password=secret") as recorder:
        assert repr(recorder).startswith("<stepwell.Recorder stepwell_test_")
        assert "secret" not in repr(recorder)


def test_resuming_what_is_not_there_is_refused(recorder: Recorder) -> None:
    with pytest.raises(NotFoundError, match=r"no run .* to resume"):
        recorder.resume(uuid4())
    with pytest.raises(NotFoundError, match="no run's id begins with 6cbb"):
        recorder.resume("6cbb")
    with pytest.raises(UsageError, match="cannot begin a run's id"):
        recorder.resume("x")


def test_a_run_is_resumed_by_a_beginning_of_its_id_that_no_other_has(
    recorder: Recorder, schema_dsn: str, steps: Any
) -> None:
    ids = [UUID(f"6cbb{digit}000-0000-4000-8000-000000000001") for digit in "12"]
    for run_id in ids:
        add_run(schema_dsn, run_id)
    with recorder.resume("6CBB1") as run:
        run.tool(len, "ab")
    assert run.run_id == ids[0]
    assert [step["got"] for step in steps(ids[0])] == [2]
    with pytest.raises(UsageError, match="6cbb matches 2 runs"):
        recorder.resume("6cbb")


def test_what_is_begun_after_the_end_is_refused_and_what_was_under_way_finishes(
    recorder: Recorder, steps: Any, run_row: Any
) -> None:
    made: list[int] = []
    run = recorder.start()
    stream = run.tool(lambda: iter("ab"))
    with run.agent("b").step("tool_call", "slow") as slow:
        run.finish()
        for begin in (
            lambda: run.tool(made.append, 1),
            lambda: run.agent("b").state({"a": 1}),
            lambda: run.step("tool_call", "late").__enter__(),
            lambda: asyncio.run(run.astate({"a": 1})),
            lambda: asyncio.run(a_tool(run, made)),
        ):
            with pytest.raises(RecordingError, match=rf"^run {run.run_id} has ended.*recorder\.resume\("):
                begin()
        slow.output = "done"
    assert list(stream) == ["a", "b"]
    assert made == []
    assert [row["finished_at"] is not None for row in steps(run.run_id)] == [True, True]
    assert run_row(run.run_id)["status"] == "ok"
    with recorder.resume(run.run_id) as again:
        again.tool(made.append, 2)
    assert made == [2]
    assert run_row(run.run_id)["steps"] == 3


async def a_tool(run: stepwell.Run, made: list[int]) -> None:
    async def append() -> None:
        made.append(0)

    await run.tool(append)


def test_a_thread_that_outlives_the_block_is_refused_and_a_run_within_it_is_not(
    recorder: Recorder, steps: Any
) -> None:
    over = threading.Event()

    def late() -> None:
        over.wait()
        run.tool(len, "late")

    with ThreadPoolExecutor(1) as pool:
        with recorder.run() as run, recorder.run() as inner:
            inner.finish()
            run.tool(len, "in time")
            thread = pool.submit(late)
        over.set()
        with pytest.raises(RecordingError, match="has ended, so tool_call len was neither made nor recorded"):
            thread.result()
    assert [step["got"] for step in steps(run.run_id)] == [7]


def test_one_opening_is_for_one_run(recorder: Recorder) -> None:
    opening = recorder.run()
    with opening:
        pass
    with pytest.raises(UsageError, match="begun already"), opening:
        pass


def test_tags_and_durability_are_checked(recorder: Recorder, schema_dsn: str) -> None:
    with pytest.raises(EncodingError, match="plain JSON"):
        recorder.start(tags={"a": object()})
    with pytest.raises(EncodingError, match="plain JSON"):
        recorder.start(tags={"a": (1,)})
    with pytest.raises(UsageError, match="durability"):
        Recorder(schema_dsn, durability="none")  # type: ignore[arg-type]  # on purpose


def test_a_database_without_the_tables_is_refused_with_the_remedy(dsn: str) -> None:
    with pytest.raises(DatabaseError, match=r"no table agent_runs .*stepwell init"):
        Recorder(dsn)


def test_a_database_with_the_bare_table_only_is_refused_too(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "CREATE TABLE agent_steps (id bigint, run_id uuid, step_number int, step_type text, input jsonb,"
            " output jsonb, created_at timestamptz, seed bigint)"
        )
        connection.execute("CREATE TABLE agent_runs (run_id uuid)")
    with pytest.raises(DatabaseError, match="stepwell init"):
        Recorder(dsn)


def test_a_database_of_an_earlier_version_is_refused_too(dsn: str) -> None:
    files = schema_files()
    with psycopg.connect(dsn) as connection:
        for version, text in files:
            if version < 8:
                connection.execute(text)
    with pytest.raises(DatabaseError, match=r"or an older one; create it: stepwell init$"):
        Recorder(dsn)
    migrate(dsn)
    with Recorder(dsn) as recorder:
        assert recorder.start(seed=3).seed == 3


@pytest.mark.parametrize(
    ("durability", "settings"),
    [("ahead", ["on", "off"]), ("sync", ["on", "on"]), ("async", ["off", "off"])],
)
def test_durability_decides_which_commits_wait_for_the_disk(
    schema_dsn: str, durability: Any, settings: list[str]
) -> None:
    """That of an intent and that of an outcome."""
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")
        connection.execute("CREATE TABLE seen (setting text)")
        connection.execute(
            "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN INSERT INTO seen SELECT current_setting('synchronous_commit'); RETURN NULL; END$$"
        )
        connection.execute("CREATE TRIGGER see AFTER INSERT OR UPDATE ON agent_steps EXECUTE FUNCTION see()")
    with Recorder(schema_dsn, durability=durability) as recorder, recorder.run() as run:
        run.tool(len, "a")
    with psycopg.connect(schema_dsn) as connection:
        assert [setting for (setting,) in connection.execute("SELECT * FROM seen")] == settings


def test_an_open_run_is_seen_to_be_alive_and_a_dropped_one_to_have_died(schema_dsn: str) -> None:
    recorder = Recorder(schema_dsn)
    run, done = recorder.start(), recorder.start()
    done.finish()
    assert status_of(schema_dsn, run.run_id) == "running"
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert connection.execute(held).fetchone() == (1,)
        key = connection.execute("SELECT pg_try_advisory_lock(%s)", (lock_key(run.run_id),)).fetchone()
        assert key == (False,)
    recorder.close()
    assert status_of(schema_dsn, run.run_id) == "died"
    assert status_of(schema_dsn, done.run_id) == "ok"


def run_script(dsn: str, script: str) -> "subprocess.CompletedProcess[str]":
    program = "import stepwell, sys, os, threading, time\nrecorder = stepwell.Recorder(sys.argv[1])\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program + textwrap.dedent(script), dsn],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ},
        check=False,
    )


def test_the_end_of_the_interpreter_closes_what_is_open(schema_dsn: str, steps: Any) -> None:
    done = run_script(
        schema_dsn,
        """
        run = recorder.start("left open")
        print(run.run_id)
        stream = run.tool(lambda: (n for n in range(9)))
        next(stream)
        run.tool(len, "ab")
        threading.Thread(target=lambda: (time.sleep(0.1), run.tool(len, "abc"))).start()
        threading.Thread(target=run.tool, args=(time.sleep, 60), daemon=True).start()
        while run.book.writer._link._books[run.run_id].last < 3: time.sleep(0.01)
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    run_id = UUID(done.stdout.strip())
    rows = sorted(steps(run_id), key=lambda row: str(row["given"]))
    assert sorted(str(row["got"]) for row in rows if row["name"] == "len") == ["2", "3"]
    assert [row["output"] for row in rows if row["name"] == "sleep"] == [None]  # in doubt
    assert status_of(schema_dsn, run_id) == "died"


def test_importing_stepwell_loads_neither_the_terminal_nor_the_highlighter() -> None:
    script = "import sys, stepwell; print(sorted({'textual', 'pygments', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_exported_is_sorted_and_there() -> None:
    assert sorted(stepwell.__all__) == stepwell.__all__
    assert all(hasattr(stepwell, name) for name in stepwell.__all__)


def test_nothing_configured_means_the_embedded_postgres_whose_tables_are_made(
    stepwell_home: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with Recorder() as recorder, recorder.run() as run:
        assert run.tool(len, "ab") == 2
    assert "using the embedded Postgres" in caplog.text
    assert stepwell_home.exists()


def test_what_finish_said_stands_at_the_end_of_the_block(recorder: Recorder, run_row: Any) -> None:
    with recorder.run() as run:
        run.finish(ValueError("given up"))
    assert run_row(run.run_id)["error"]["message"] == "given up"


def test_a_run_whose_beginning_is_cancelled_is_not_left_running(recorder: Recorder, connection: Any) -> None:
    async def begin() -> None:
        async with recorder.run("cancelled"):
            raise AssertionError("entered")

    async def main() -> None:
        task = asyncio.create_task(begin())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    recorder.close()
    row = connection.execute("SELECT status, error ->> 'type' AS error FROM agent_runs").fetchone()
    assert row == {"status": "failed", "error": "asyncio.exceptions.CancelledError"}
