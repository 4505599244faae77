"""What a key costs at the terminal, at 80×24: bytes, paints, and milliseconds beside those of the replay alone."""

import os
import time
from collections.abc import Iterator
from statistics import median
from tempfile import TemporaryDirectory

from stepwell.app.start import run_app
from stepwell.demo.record import record_demo
from stepwell.replay import Replayer
from stepwell.replay.runs import Runs
from stepwell.store.connect import resolve
from tests.app.paint import Cost, measure
from tests.benchmarks.harness import Table

DSN = "STEPWELL_BENCH_DSN"
COLUMNS = [
    "",
    "bytes (median)",
    "bytes (most)",
    "paints (most)",
    "key to last byte, ms",
    "its replay alone, ms",
    "above the replay, ms",
]


class LoopingRun:
    """The debugger as the command starts it, at the first step of the demo's run that fails."""

    def run(self) -> None:
        run_app(resolve(os.environ[DSN]), "@failed:1")


def paints(dsn: str, *, quick: bool) -> Table:
    """(d) Steps forward and back through the demo's looping run."""
    record_demo(resolve(dsn), progress=lambda _: None)
    steps = 2 if quick else 30
    keys = {"next step": "n" * steps, "previous step": "p" * steps}
    with TemporaryDirectory() as home:
        pressed = measure(LoopingRun, "".join(keys.values()), environment={DSN: dsn, "XDG_STATE_HOME": home})
        costs = list(_beside_replays(dsn, pressed, [*range(2, steps + 2), *range(steps, 0, -1)]))
    table = Table("A move at 80×24", COLUMNS)
    for place, name in enumerate(keys):
        table.rows.append([name, *_figures(costs[place * steps : (place + 1) * steps])])
    return table


def _beside_replays(dsn: str, pressed: Iterator[Cost], numbers: list[int]) -> Iterator[tuple[Cost, float]]:
    """Each key, and right after it the milliseconds of replaying the step that it has led to."""
    target = resolve(dsn)
    runs = Runs(target)
    replayer = Replayer(target, runs.find("@failed").run_id)
    runs.close()
    replayer.at(numbers[0])  # connects
    for cost, number in zip(pressed, numbers, strict=True):
        began = time.perf_counter()
        replayer.at(number)
        yield cost, (time.perf_counter() - began) * 1000
    replayer.close()


def _figures(costs: list[tuple[Cost, float]]) -> list[str]:
    return [
        f"{median(cost.written for cost, _ in costs):,.0f}",
        f"{max(cost.written for cost, _ in costs):,}",
        str(max(cost.paints for cost, _ in costs)),
        f"{median(cost.ms for cost, _ in costs):.1f}",
        f"{median(alone for _, alone in costs):.1f}",
        f"{median(cost.ms - alone for cost, alone in costs):.1f}",
    ]
