"""Threads, tasks and processes on one run: unique gapless numbers, and every payload where it belongs."""

import asyncio
import contextvars
import multiprocessing
import os
import threading
from typing import Any
from uuid import UUID

import pytest

import stepwell
from stepwell import Recorder, Run

THREADS, STEPS = 8, 6


def check_numbers(rows: list[dict[str, Any]], total: int) -> None:
    assert [row["step_number"] for row in rows] == list(range(1, total + 1))
    assert sorted(row["finished_order"] for row in rows) == list(range(1, total + 1))
    for row in rows:
        assert row["finished_before"] < row["step_number"] <= row["started_before"]
        assert row["finished_before"] < row["finished_order"] <= row["started_before"]


def record(run: Run, who: str) -> None:
    for n in range(STEPS):
        value = {"who": who, "n": n, "text": f"{who}/{n}" * 20}
        assert run.agent(who).tool(dict, value) == value


def in_threads(run: Run, who: str) -> None:
    threads = [threading.Thread(target=record, args=(run, f"{who}.{n}")) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_process(dsn: str, run_id: UUID, who: str) -> None:
    with Recorder(dsn) as recorder:
        in_threads(recorder.resume(run_id), who)


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.long)])
def test_processes_of_eight_threads_share_one_run(
    recorder: Recorder, schema_dsn: str, steps: Any, run_row: Any, count: int
) -> None:
    spawn = multiprocessing.get_context("spawn")
    run = recorder.start()
    processes = [
        spawn.Process(target=in_process, args=(schema_dsn, run.run_id, f"p{n}")) for n in range(count)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * count
    run.finish()
    rows = steps(run.run_id)
    total = count * THREADS * STEPS
    check_numbers(rows, total)
    assert all(row["got"] == row["given"]["args"][0] and row["got"]["who"] == row["agent"] for row in rows)
    assert len({(row["got"]["who"], row["got"]["n"]) for row in rows}) == total
    row = run_row(run.run_id)
    assert (row["steps"], row["finished"]) == (total, total)
    assert len(row["agents"]) == count * THREADS


def test_several_runs_share_the_writer_and_each_counts_for_itself(recorder: Recorder, steps: Any) -> None:
    runs = [recorder.start() for _ in range(5)]
    threads = [threading.Thread(target=in_threads, args=(run, "a")) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in runs:
        check_numbers(steps(run.run_id), THREADS * STEPS)


def test_recorders_that_share_several_runs_do_not_deadlock(schema_dsn: str, steps: Any) -> None:
    with Recorder(schema_dsn) as one, Recorder(schema_dsn) as two:
        runs = [one.start() for _ in range(4)]
        views = [*runs, *(two.resume(run.run_id) for run in runs)]
        threads = [threading.Thread(target=record, args=(view, str(n))) for n, view in enumerate(views * 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for run in runs:
            check_numbers(steps(run.run_id), 4 * STEPS)


def test_tasks_record_side_by_side(recorder: Recorder, steps: Any) -> None:
    async def tool(n: int) -> int:
        await asyncio.sleep(0)
        inner = stepwell.current_run()
        assert inner is not None
        return await inner.tool(leaf, n)

    async def leaf(n: int) -> int:
        return n

    async def main() -> UUID:
        async with recorder.run() as run:
            assert await asyncio.gather(*(run.tool(tool, n) for n in range(100))) == list(range(100))
        return run.run_id

    rows = steps(asyncio.run(main()))
    check_numbers(rows, 200)
    outer = {row["step_number"]: row["got"] for row in rows if row["name"] == "tool"}
    assert all(outer[row["parent_step"]] == row["got"] for row in rows if row["name"] == "leaf")


def test_a_thread_has_a_parent_step_when_it_is_given_the_context(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run, run.step("tool_call", "outer"):
        context = contextvars.copy_context()
        for target, args in ((run.tool, (len, "a")), (context.run, (run.tool, len, "ab"))):
            thread = threading.Thread(target=target, args=args)
            thread.start()
            thread.join()
    assert [row["parent_step"] for row in steps(run.run_id)] == [None, None, 1]


def test_a_group_of_callers_shares_commits(recorder: Recorder, connection: Any) -> None:
    run = recorder.start()
    connection.execute("BEGIN")
    connection.execute("SELECT FROM agent_runs WHERE run_id = %s FOR UPDATE", (run.run_id,))
    about_to = threading.Semaphore(0)

    def call() -> None:
        about_to.release()
        run.tool(len, "a")

    threads = [threading.Thread(target=call) for _ in range(10)]
    for thread in threads:
        thread.start()
    for _ in threads:
        about_to.acquire()
    threading.Timer(0.2, lambda: connection.execute("COMMIT")).start()
    for thread in threads:
        thread.join()
    found = connection.execute("SELECT count(DISTINCT xmin::text) AS commits FROM agent_steps").fetchone()
    assert found["commits"] < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
class TestForks:
    def test_a_forked_child_records_into_the_run_over_a_connection_of_its_own(
        self, recorder: Recorder, steps: Any
    ) -> None:
        def in_child() -> None:
            run.tool(len, "ab")
            run.state({"b": 2})

        with recorder.run() as run:
            run.state({"a": 1})
            run.tool(len, "a")
            with run.step("tool_call", "forking"):
                child = os.fork()
                if child == 0:
                    _exit_after(in_child)
                assert os.waitpid(child, 0)[1] == 0
            run.tool(len, "abc")
            run.state({"a": 3})
        rows = steps(run.run_id)
        check_numbers(rows, 7)
        assert [(r["name"], r["got"], r["parent_step"]) for r in rows] == [
            (None, ["$"], None),
            ("len", 1, None),
            ("forking", None, None),
            ("len", 2, 3),
            (None, ["$"], 3),
            ("len", 3, None),
            (None, ["$"], None),
        ]

    def test_a_fork_while_other_threads_record_harms_neither_side(
        self, recorder: Recorder, steps: Any
    ) -> None:
        run = recorder.start()
        threads = [threading.Thread(target=in_threads, args=(run, f"t{n}")) for n in range(2)]
        for thread in threads:
            thread.start()
        children = []
        for n in range(4):
            child = os.fork()
            if child == 0:
                _exit_after(lambda n=n: record(run, f"c{n}"))
            children.append(child)
        for thread in threads:
            thread.join()
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
        check_numbers(steps(run.run_id), (2 * THREADS + 4) * STEPS)

    def test_a_child_does_not_keep_the_run_of_its_dead_parent_alive(
        self, schema_dsn: str, connection: Any
    ) -> None:
        reader, writer = os.pipe()
        parent = os.fork()
        if parent == 0:
            os.close(reader)
            run = Recorder(schema_dsn).start()
            if os.fork() == 0:  # lives on, and holds whatever it has inherited
                os.read(os.open("/dev/zero", os.O_RDONLY), 1)
                threading.Event().wait(20)
                os._exit(0)
            os.write(writer, run.run_id.bytes)
            os._exit(0)
        os.close(writer)
        assert os.read(reader, 16)
        os.close(reader)
        os.waitpid(parent, 0)
        for _ in range(500):
            found = connection.execute(
                "SELECT count(*) AS held FROM pg_locks WHERE locktype = 'advisory'"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            ).fetchone()
            if not found["held"]:
                return
            threading.Event().wait(0.01)
        pytest.fail("the grandchild holds the lock of the run")


def _exit_after(work: Any) -> None:
    """Do the work of a forked child, and leave at once with status 0 if it went well."""
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)
