"""`kill -9` at any instant: what was applied is on disk, and of each caller at most one step is in doubt."""

import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from stepwell import Recorder
from stepwell.cli import main
from stepwell.settings import paths
from stepwell.store.reading import list_runs
from tests.pooler import pooler
from tests.recorder.conftest import Look, steps_of
from tests.recorder.servers import Server

KILLS = [16, pytest.param(200, marks=pytest.mark.long)]

NURSERY = """
import os, random, select, signal, sys, threading, time
import stepwell, stepwell.recorder.finder, stepwell.recorder.line

dsn, marks, kills = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND), int(sys.argv[3])


def mark(*words):
    os.write(marks, (" ".join(map(str, words)) + "\\n").encode())


def record(tell):
    run = stepwell.Recorder(dsn, on_failure=sys.argv[4]).start()
    mark("run", run.run_id)
    os.write(tell, b".")

    def apply(caller, n):
        mark("applied", run.run_id, caller, n)
        return [caller, n]

    def work(caller):
        n = 0
        while True:
            run.agent(str(caller)).tool(apply, caller, n)
            mark("returned", run.run_id, caller, n)
            n += 1

    for caller in range(3):
        threading.Thread(target=work, args=(caller,)).start()


stepwell.recorder.line.PAUSES *= 2  # on a machine with much else to do
stepwell.recorder.finder.SPOOL_SECONDS = 0.1
for kill in range(kills):
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            record(tell)
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(tell)
    if kill % 3:  # most are killed once they record, however busy the machine is
        select.select([told], [], [], 30)
    time.sleep(random.uniform(0.01, float(sys.argv[5])))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(told)
"""


def kill_recorders(
    dsn: str, marks: Path, kills: int, on_failure: str = "error", longest: float = 0.12
) -> "subprocess.Popen[bytes]":
    """A process whose children record and are killed one after the other; they note in `marks` what they did."""
    marks.touch()
    script = [sys.executable, "-c", NURSERY, dsn, str(marks), str(kills), on_failure, str(longest)]
    return subprocess.Popen(script, stderr=subprocess.DEVNULL)


def losses(marks: Path, look: Callable[[UUID], list[Any]], *, server_too: bool = False) -> tuple[int, int]:
    """Hold the database to what was noted; how many runs there are, and how many steps in doubt.

    Where the server was killed as well, the last outcome of a caller may be what is in doubt.
    """
    applied: defaultdict[UUID, set[tuple[int, int]]] = defaultdict(set)
    returned: defaultdict[UUID, set[tuple[int, int]]] = defaultdict(set)
    for line in marks.read_text().splitlines():
        kind, name, *numbers = line.split()
        if kind != "run":
            caller, n = map(int, numbers)
            (applied if kind == "applied" else returned)[UUID(name)].add((caller, n))
    in_doubt = 0
    for run_id, calls in applied.items():
        rows = look(run_id)
        assert [row["step_number"] for row in rows] == list(range(1, len(rows) + 1))
        given = {(row["given"]["caller"], row["given"]["n"]): row for row in rows}
        assert len(given) == len(rows), "none is there twice"
        assert calls <= given.keys()
        last = dict(sorted(returned[run_id])) if server_too else {}
        certain = [(caller, n) for caller, n in returned[run_id] if last.get(caller) != n]
        assert all(given[call]["got"] == list(call) for call in certain)
        doubtful = [row for row in rows if row["output"] is None]
        assert all(count == 1 for count in Counter(row["agent"] for row in doubtful).values())
        in_doubt += len(doubtful)
    return len(applied), in_doubt


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kills", KILLS)
def test_kills_lose_nothing(schema_dsn: str, steps: Look, tmp_path: Path, kills: int) -> None:
    marks = tmp_path / "marks"
    assert kill_recorders(schema_dsn, marks, kills).wait(180) == 0
    runs, in_doubt = losses(marks, steps)
    assert runs > kills / 8, "most were killed before they did anything"
    assert in_doubt, "none was killed in the middle of a step"
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        assert {run.status for run in list_runs(connection, limit=kills)} == {"died"}


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("way", ["error", "spool", "pooler"])
def test_kills_of_recorders_and_of_their_server_lose_nothing(
    short_folder: Path, tmp_path: Path, way: str
) -> None:
    """Half a minute of it; behind a pooler too, which dies with nobody."""
    marks, server = tmp_path / "marks", Server(short_folder, f"victim-{way}")
    server.make()
    try:
        pool = partial(pooler, size=3, server_login_retry=0.1)
        with pool(server.dsn, short_folder) if way == "pooler" else nullcontext(server.dsn) as dsn:
            nursery = kill_recorders(dsn, marks, 40, "spool" if way == "spool" else "error", 1.0)
            crashes = 0
            while nursery.poll() is None:
                time.sleep(random.uniform(0.2, 1.5))
                server.kill()
                server.start_again()
                crashes += 1
            assert nursery.returncode == 0
        for file in sorted(paths().data.glob("spool/*")):
            if file.read_bytes():
                assert main(["import", "--dsn", server.dsn, str(file)]) == 0
        with psycopg.connect(server.dsn, autocommit=True, row_factory=dict_row) as connection:
            runs, in_doubt = losses(marks, partial(steps_of, connection), server_too=True)
        assert crashes > 3
        assert runs > 5, "most were killed before they did anything"
        assert in_doubt
    finally:
        server.remove()


PREDECESSOR = """
import os, signal, sys, stepwell

run = stepwell.Recorder(sys.argv[1]).start("long", tags={"a": 1})
print(run.run_id, flush=True)
run.state({"plan": [1, 2], "n": 1})
for _ in range(2):
    run.agent("b").tool(len, "again")
run.agent("b").tool(os.kill, os.getpid(), signal.SIGKILL)
"""


def test_a_run_whose_process_was_killed_is_taken_up_where_it_was(
    schema_dsn: str, steps: Any, run_row: Any
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PREDECESSOR, schema_dsn], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9
    run_id = UUID(done.stdout.strip())
    with psycopg.connect(schema_dsn, autocommit=True) as reader, Recorder(schema_dsn) as recorder:
        assert [run.status for run in list_runs(reader, limit=1)] == ["died"]
        run = recorder.resume(run_id)
        assert [run.status for run in list_runs(reader, limit=1)] == ["running"]
        run.state({"plan": [1, 2], "n": 2})
        run.state({"plan": [1, 2], "n": 3})
        for _ in range(2):
            run.agent("c").tool(len, "other")
        run.agent("b").tool(len, "again")
        run.finish()
    rows = steps(run_id)
    assert [row["step_number"] for row in rows] == list(range(1, 10))
    assert [row["given"] for row in rows[4:6]] == [
        {"$patch": [{"set": [], "to": {"plan": [1, 2], "n": 2}}]},
        {"$patch": [{"set": ["n"], "to": 3}]},
    ]
    assert [row["step_number"] for row in rows if row["finished_at"] is None] == [4]
    row = run_row(run_id)
    assert (row["status"], row["steps"], row["finished"], row["agents"]) == ("ok", 9, 8, ["b", "c"])
    assert row["loop"] == {"name": "len", "first": 2, "last": 9, "period": 1, "laps": 3}
