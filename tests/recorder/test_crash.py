"""`kill -9` at any instant: what was applied is on disk, and of each caller at most one step is in doubt."""

import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from stepwell import Recorder
from stepwell.store.reading import list_runs

KILLS = 100

NURSERY = """
import os, random, signal, sys, threading, time
import stepwell

dsn, marks, kills = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND), int(sys.argv[3])


def mark(*words):
    os.write(marks, (" ".join(map(str, words)) + "\\n").encode())


def record():
    run = stepwell.Recorder(dsn).start()
    mark("run", run.run_id)

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


for _ in range(kills):
    child = os.fork()
    if child == 0:
        record()
        time.sleep(60)
    time.sleep(random.uniform(0.01, 0.12))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_hundred_kills_lose_nothing(schema_dsn: str, steps: Any, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.touch()
    subprocess.run(
        [sys.executable, "-c", NURSERY, schema_dsn, str(marks), str(KILLS)], check=True, timeout=180
    )
    applied: defaultdict[UUID, set[tuple[int, int]]] = defaultdict(set)
    returned: defaultdict[UUID, set[tuple[int, int]]] = defaultdict(set)
    for line in marks.read_text().splitlines():
        kind, name, *numbers = line.split()
        if kind != "run":
            caller, n = map(int, numbers)
            (applied if kind == "applied" else returned)[UUID(name)].add((caller, n))
    assert len(applied) > KILLS / 4, "most were killed before they did anything"
    in_doubt = 0
    for run_id, calls in applied.items():
        rows = steps(run_id)
        assert [row["step_number"] for row in rows] == list(range(1, len(rows) + 1))
        given = {(row["given"]["caller"], row["given"]["n"]): row for row in rows}
        assert calls <= given.keys()
        assert all(given[call]["got"] == list(call) for call in returned[run_id])
        doubtful = [row for row in rows if row["output"] is None]
        assert all(count == 1 for count in Counter(row["agent"] for row in doubtful).values())
        in_doubt += len(doubtful)
    assert in_doubt, "none was killed in the middle of a step"
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        assert {run.status for run in list_runs(connection, limit=KILLS)} == {"died"}


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
