"""Pairs of actions timed in turns, so that whatever else the machine does falls on both alike."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from stepwell.settings import paths
from stepwell.store import embedded
from stepwell.store.cluster import Cluster
from stepwell.store.keeper import stop
from stepwell.store.migrate import migrate

Action = Callable[[], object]


@dataclass
class Table:
    """One result, printed as Markdown."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def markdown(self) -> str:
        lines = [self.columns, ["---", *["---:"] * (len(self.columns) - 1)], *self.rows]
        return "\n".join([f"### {self.title}", "", *(f"| {' | '.join(line)} |" for line in lines), ""])


@contextmanager
def durable_server(folder: Path | None) -> Iterator[str]:
    """Conninfo of a temporary embedded Postgres with the settings of a real one: every commit reaches the disk."""
    with TemporaryDirectory(prefix="stepwell-bench-", dir=folder or "/tmp") as name:
        Path(name).chmod(0o711)
        home = Path(name, "home")
        options = {"fsync": "on", "synchronous_commit": "on", "max_connections": "200"}
        with embedded.start(paths({"STEPWELL_HOME": str(home)}), options=options) as held:
            migrate(held.conninfo)
            yield held.conninfo
        stop(str(Cluster.under(home).data))


def in_turns(actions: Mapping[str, Action], rounds: int) -> dict[str, float]:
    """Median milliseconds of each action; one round first that does not count."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds + 1):
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            times[name].append((time.perf_counter() - began) * 1000)
    return {name: median(taken[1:]) for name, taken in times.items()}


def ms(value: float) -> str:
    return f"{value:.2f}"


def ratio(value: float, base: float) -> str:
    return f"{value / base:.2f}×"
