"""What a key costs at the terminal, at 80×24: bytes, paints and milliseconds."""

import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from stepwell.app.app import StepwellApp
from stepwell.app.memory import Memory
from stepwell.app.screens.replaying import Start
from stepwell.core.address import parse_address
from stepwell.demo.record import record_demo
from stepwell.replay.runs import Runs
from stepwell.store.connect import resolve
from tests.app.paint import Cost, measure
from tests.benchmarks.harness import Table

DSN = "STEPWELL_BENCH_DSN"
STATE = "STEPWELL_BENCH_STATE"


def looping_run() -> StepwellApp:
    """The demo's run that fails, at its first step."""
    target = resolve(os.environ[DSN])
    runs = Runs(target)
    start = Start(runs.find("@failed"), parse_address("@failed:1"))
    runs.close()
    return StepwellApp(target, Memory(Path(os.environ[STATE])), start)


def paints(dsn: str, *, quick: bool) -> Table:
    """(d) Steps forward and back through the demo's looping run."""
    record_demo(resolve(dsn), progress=lambda _: None)
    steps = 2 if quick else 30
    keys = {"next step": "n" * steps, "previous step": "p" * steps}
    with TemporaryDirectory() as state:
        costs = measure(looping_run, "".join(keys.values()), environment={DSN: dsn, STATE: state})
    table = Table("A move at 80×24", ["", "bytes (median)", "bytes (most)", "paints (most)", "ms (median)"])
    for place, name in enumerate(keys):
        table.rows.append([name, *_figures(costs[place * steps : (place + 1) * steps])])
    return table


def _figures(costs: list[Cost]) -> list[str]:
    return [
        f"{median(cost.written for cost in costs):,.0f}",
        f"{max(cost.written for cost in costs):,}",
        str(max(cost.paints for cost in costs)),
        f"{median(cost.ms for cost in costs):.1f}",
    ]
