"""What a debugger that steps and asks costs a production whose tables are watched: who waits, and how long."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks.harness import Table, ratio
from tests.past.production import Day, Watcher, debugging, set_up, work_day
from tests.pooler import pooler


def production(dsn: str, *, quick: bool) -> Table:
    """(k) The same work with and without a debugger in the same pool, in turns."""
    seconds, rounds = (1, 1) if quick else (15, 4)
    run = set_up(dsn)
    alone: list[Day] = []
    beside: list[Day] = []
    seen: list[Watcher] = []
    with (
        TemporaryDirectory(prefix="stepwell-pool-", dir="/tmp") as name,
        pooler(dsn, _open(Path(name)), size=8) as pooled,
    ):
        for _ in range(rounds):
            alone.append(work_day(dsn, pooled, seconds))
            with debugging(dsn, pooled, run) as watcher:
                beside.append(work_day(dsn, pooled, seconds))
            seen.append(watcher)
    moves, answers = (sum(getattr(one, what) for one in seen) for what in ("moves", "answers"))
    table = Table(
        f"pgbench and an application on watched tables, and in their pool a debugger: {moves} moves, {answers} queries",
        ["", "alone", "beside it", "ratio"],
    )
    _add(table, "pgbench, tx/s", alone, beside, lambda day: day.rate, median)
    for who in alone[0].work:
        _add_work(table, who, alone, beside)
    _add(table, "failed", alone, beside, lambda day: len(day.faults) + day.failed, sum)
    _add(
        table,
        "states that a session of the pool was found in",
        alone,
        beside,
        lambda day: len(day.found),
        max,
    )
    for what, value in (
        ("longest that its transaction stood idle, ms", max(one.standing for one in seen)),
        ("longest that a lock of its was waited for, ms", max(one.kept for one in seen)),
        ("moves without a safe snapshot in time", sum(one.weaker for one in seen)),
        ("exact answers that differed", sum(len(one.other) for one in seen)),
    ):
        table.rows.append([what, "", f"{value:,.0f}", ""])
    table.rows.append(["reads that it gave up", "", str(sum(len(one.refused) for one in seen)), ""])
    return table


def _open(folder: Path) -> Path:
    folder.chmod(0o711)
    return folder


def _add_work(table: Table, who: str, alone: Sequence[Day], beside: Sequence[Day]) -> None:
    _add(table, f"{who}, times", alone, beside, lambda day: day.work[who].done, sum)
    _add(table, f"{who}, longest, ms", alone, beside, lambda day: day.work[who].longest, max)


def _add(
    table: Table,
    what: str,
    alone: Sequence[Day],
    beside: Sequence[Day],
    of: Callable[[Day], float],
    together: Callable[[list[float]], float],
) -> None:
    before, after = (together([of(day) for day in days]) for days in (alone, beside))
    table.rows.append([what, f"{before:,.0f}", f"{after:,.0f}", ratio(after, before) if before else ""])
