"""The jobs of the list's worker: read a page of runs, count them, look for new and changed ones."""

from collections.abc import Sequence
from time import monotonic, perf_counter

from stepwell.app.listing import Query
from stepwell.app.messages import Counted, Listed
from stepwell.app.mover import POLL_SECONDS
from stepwell.core.liveness import GLANCE_SECONDS
from stepwell.core.steps import RunHead
from stepwell.replay.runs import Runs
from stepwell.store.connect import Target

PAGE = 100
REST = 20
"""A look that took long is followed by a pause so many times as long."""


class Lister:
    """Used by one worker thread only, except `cancel`, `interval`, `watch` and `pause`."""

    def __init__(self, target: Target) -> None:
        self._runs = Runs(target)
        self._query: Query = ("", False)
        self._before: RunHead | None = None
        self._paused = False
        self._quiet = 0
        self._running: Sequence[RunHead] = ()
        """Those in view that were running when they were read."""
        self._took = self._glanced = 0.0
        """Seconds, of the last page and of the last glance."""
        self._due = 0.0
        """When to read a page again, also where everything seems to be as it was."""
        self._newest: list[RunHead] = []
        self._first = True

    def page(self, query: Query, after: RunHead | None = None) -> Listed:
        """The runs that follow `after`, or the newest ones."""
        return self._read(query, after, asked=True)

    def count(self) -> Counted:
        counted = self._runs.count()
        number, exact = counted if counted is not None else (None, True)
        return Counted(number, exact, self._runs.where(), self._runs.caution)

    def poll(self) -> Listed | None:
        """What has become of the newest runs or, every other time, of those in view; None for nothing at a glance."""
        stopped = self._has_one_stopped()
        if not stopped and monotonic() < self._due:
            return None
        self._quiet += 1
        self._first = self._before is None or not (self._first or stopped)
        return self._read(self._query, None if self._first else self._before, asked=False)

    def interval(self) -> float | None:
        """Seconds until the next look; None while nobody looks at the list."""
        if self._paused:
            return None
        glance = max(GLANCE_SECONDS, REST * self._glanced)
        return min(self._pause(), glance) if self._running else self._pause()

    def watch(self, query: Query, before: RunHead | None, running: Sequence[RunHead] = ()) -> None:
        """Look at the runs of this query from now on, at those that follow `before`, and most often at `running`."""
        if query != self._query:
            self._quiet = 0
        self._query, self._before, self._running = query, before, running

    def pause(self, paused: bool) -> None:
        """Stop looking for new runs, or go on."""
        self._paused = paused
        self._quiet = 0

    def cancel(self) -> None:
        self._runs.cancel()

    def close(self) -> None:
        self._runs.close()

    def _pause(self) -> float:
        return max(POLL_SECONDS[min(self._quiet, len(POLL_SECONDS) - 1)], REST * self._took)

    def _has_one_stopped(self) -> bool:
        """Whether a run that is shown as running no longer is."""
        if not (running := self._running):
            return False
        began = perf_counter()
        pulses = self._runs.pulses(run.run_id for run in running)
        self._glanced = perf_counter() - began
        return any(run.run_id not in pulses or pulses[run.run_id].status != "running" for run in running)

    def _read(self, query: Query, after: RunHead | None, *, asked: bool) -> Listed:
        text, failed = query
        began = perf_counter()
        runs = self._runs.page(PAGE, after=after, text=text, failed=failed)
        self._took = perf_counter() - began
        if after is None:
            if runs != self._newest:
                self._quiet = 0
            self._newest = runs
        self._due = monotonic() + self._pause()
        return Listed(
            runs,
            after=after,
            more=len(runs) == PAGE,
            query=query,
            milliseconds=self._took * 1000,
            asked=asked,
        )
