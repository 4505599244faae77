"""Opening a run and looking on while it is written: time, memory, and what is written to the terminal."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from uuid import UUID

import psycopg

from stepwell.app.mover import Mover
from stepwell.core.timeline import build
from stepwell.core.world import Moment
from stepwell.store.connect import resolve
from tests.benchmarks.harness import Table, in_turns, ms, ratio

# Ten steps in turn: four model calls, four tool calls, two of state; now and then a loop of a hundred calls.
MAKE_STEPS = """
INSERT INTO agent_steps (run_id, step_number, step_type, name, input, output, created_at, started_at, finished_at,
                         finished_order, finished_before, started_before, tokens_in, tokens_out, call_hash)
SELECT %(run)s, n, type, CASE type WHEN 'llm_call' THEN 'gpt-5-mini' WHEN 'tool_call' THEN 'search_' || n %% 7 END,
       jsonb_build_object('query', md5(n::text)), jsonb_build_object('rows', repeat(md5(n::text), 8)),
       at, at, at + interval '0.7 s', n, n - 1, n, 3000, 20,
       CASE type WHEN 'tool_call' THEN CASE WHEN n %% 1000 < 100 THEN 7 ELSE hashint8(n)::int8 << 20 END END
FROM generate_series(1, %(steps)s) AS n
CROSS JOIN LATERAL (
    SELECT CASE WHEN n %% 10 IN (0, 5) THEN 'state_update' WHEN n %% 2 = 0 THEN 'tool_call' ELSE 'llm_call' END,
           now() + n * interval '0.8 s' - %(steps)s * interval '0.8 s'
) AS kind (type, at)
"""
BARE = """
SELECT step_number, step_type, output IS NOT NULL, created_at, agent, name, parent_step, started_at, finished_at,
       error, call_hash
FROM agent_steps WHERE run_id = %s ORDER BY step_number
"""
WRITER = """
import itertools, sys, time, uuid, stepwell
dsn, run, rate = sys.argv[1], uuid.UUID(sys.argv[2]), float(sys.argv[3])
with stepwell.Recorder(dsn, durability="async") as recorder:
    run = recorder.resume(run)
    print("writing", flush=True)
    began = time.monotonic()
    for number in itertools.count():
        run.tool(lambda query: query, query=number)
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
"""
OPENED = b'"rows"'
"""Of the output of the first step."""
QUIET = 0.5
"""Seconds without output after which the terminal shows all there is."""


def opening(dsn: str, *, quick: bool) -> Table:
    """(f) From the shell, and within the debugger, until the first world and the whole timeline are there."""
    sizes = (10, 100) if quick else (100, 1_000, 10_000, 100_000)
    table = Table(
        "Opening a run",
        [
            "steps",
            "heads, timeline, first world, ms",
            "SELECT of the same columns, ms",
            "opening against it",
            "from the shell, ms",
            "memory then, MB",
        ],
    )
    for number, steps in enumerate(sizes):
        run = UUID(int=(0x0F00 + number) << 112 | 0x4000_8000_0000_0000_0001)
        make_run(dsn, run, steps, "ok")
        rounds = 1 if quick else 5
        with psycopg.connect(dsn, autocommit=True) as bare:
            times = in_turns(
                {
                    "open": lambda run=run: _open(dsn, run),  # type: ignore[misc]  # a default binds the loop's variable
                    "bare": lambda run=run: bare.execute(BARE, [run]).fetchall(),  # type: ignore[misc]  # a default binds the loop's variable
                },
                rounds,
            )
        shell = [_from_the_shell(dsn, run) for _ in range(rounds)]
        table.rows.append(
            [
                f"{steps:,}",
                ms(times["open"]),
                ms(times["bare"]),
                ratio(times["open"], times["bare"]),
                f"{median(taken for taken, _ in shell):.0f}",
                f"{median(memory for _, memory in shell):.0f}",
            ]
        )
    return table


def looking_on(dsn: str, *, quick: bool) -> Table:
    """(g) A run that is written at 500 steps a second while it is open."""
    rate, seconds = (50, 0.5) if quick else (500, 10)
    table = Table(
        f"A run written at {rate} steps/s, open meanwhile",
        ["", "debugger's share of a core", "bytes/s to the terminal", "paints/s"],
    )
    number = 0
    for steps in (10,) if quick else (100, 100_000):
        for keys, words in (("", "open"), ("F", "followed")):
            number += 1
            run = UUID(int=(0x0E00 + number) << 112 | 0x4000_8000_0000_0000_0001)
            make_run(dsn, run, steps, "running")
            share, written, paints = _beside_a_writer(dsn, run, keys, rate, seconds)
            table.rows.append(
                [f"{words}, {steps:,} steps before", f"{share:.1%}", f"{written:,.0f}", f"{paints:.1f}"]
            )
    return table


def make_run(dsn: str, run: UUID, steps: int, status: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, steps, finished) VALUES (%s, 'bench', %s, %s, %s)",
            [run, status, steps, steps],
        )
        connection.execute(MAKE_STEPS, {"run": run, "steps": steps})
        connection.execute("VACUUM ANALYZE agent_steps")


def _open(dsn: str, run: UUID) -> None:
    """All that is done until the first screen can be painted."""
    mover = Mover(resolve(dsn), run)
    opened = mover.open()
    timeline = build(opened.run, opened.steps)
    timeline.strip(80)
    assert timeline.current is not None
    mover.move(timeline.current.number, Moment.AFTER)
    mover.close()


@dataclass
class Screen:
    """The real command in a terminal of 80×24."""

    process: "subprocess.Popen[bytes]"
    end: int
    output: bytearray = field(default_factory=bytearray)

    def read(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Read for so long, or until something is true."""
        stop = time.monotonic() + seconds
        while not until() and (left := stop - time.monotonic()) > 0:
            if select.select([self.end], [], [], left)[0]:
                got = os.read(self.end, 65536)
                self.output += got
                if b"\x1b[?2026$p" in got:
                    os.write(self.end, b"\x1b[?2026;2$y")

    @property
    def processor(self) -> float:
        """Seconds of processor time that it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """What of it is in memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def screen(dsn: str, run: UUID) -> Iterator[Screen]:
    """The debugger, opened from the shell at the first step of a run."""
    main, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with TemporaryDirectory() as state:
        process = subprocess.Popen(
            [sys.executable, "-m", "stepwell", "--dsn", dsn, f"{run}:1"],
            stdin=child,
            stdout=child,
            stderr=child,
            env={**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": state},
            start_new_session=True,
        )
        os.close(child)
        try:
            yield Screen(process, main)
        finally:
            process.kill()
            process.wait()
            os.close(main)


def _from_the_shell(dsn: str, run: UUID) -> tuple[float, float]:
    """Milliseconds until the first world is painted, and the memory in use a moment later, in MB."""
    began = time.perf_counter()
    with screen(dsn, run) as shown:
        shown.read(60, lambda: OPENED in shown.output)
        taken = (time.perf_counter() - began) * 1000
        shown.read(QUIET)
        return taken, shown.memory


def _beside_a_writer(
    dsn: str, run: UUID, keys: str, rate: float, seconds: float
) -> tuple[float, float, float]:
    """Share of a core, bytes and paints a second of a debugger that looks on."""
    command = [sys.executable, "-c", WRITER, dsn, str(run), str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer, screen(dsn, run) as shown:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        shown.read(60, lambda: OPENED in shown.output)
        os.write(shown.end, keys.encode())
        shown.read(min(1, seconds))
        shown.output.clear()
        before, began = shown.processor, time.monotonic()
        shown.read(seconds)
        taken = time.monotonic() - began
        used, written = shown.processor - before, len(shown.output)
        paints = shown.output.count(b"\x1b[?2026h")
        writer.kill()
    return used / taken, written / taken, paints / taken
