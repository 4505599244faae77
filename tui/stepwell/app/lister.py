"""The jobs of the list's worker: read a page of runs, count them, look for new and changed ones."""

from time import perf_counter

from stepwell.app.listing import Query
from stepwell.app.messages import Counted, Listed
from stepwell.app.mover import POLL_SECONDS
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
        self._took = 0.0
        self._newest: list[RunHead] = []
        self._first = True

    def page(self, query: Query, after: RunHead | None = None) -> Listed:
        """The runs that follow `after`, or the newest ones."""
        return self._read(query, after, asked=True)

    def count(self) -> Counted:
        counted = self._runs.count()
        number, exact = counted if counted is not None else (None, True)
        return Counted(number, exact, self._runs.where(), self._runs.caution)

    def poll(self) -> Listed:
        """What has become of the newest runs or, every other time, of those in view."""
        self._quiet += 1
        self._first = not self._first or self._before is None
        return self._read(self._query, None if self._first else self._before, asked=False)

    def interval(self) -> float | None:
        """Seconds until the next look; None while nobody looks at the list."""
        if self._paused:
            return None
        return max(POLL_SECONDS[min(self._quiet, len(POLL_SECONDS) - 1)], REST * self._took)

    def watch(self, query: Query, before: RunHead | None) -> None:
        """Look at the runs of this query from now on, and at those that follow `before`."""
        if query != self._query:
            self._quiet = 0
        self._query, self._before = query, before

    def pause(self, paused: bool) -> None:
        """Stop looking for new runs, or go on."""
        self._paused = paused
        self._quiet = 0

    def cancel(self) -> None:
        self._runs.cancel()

    def close(self) -> None:
        self._runs.close()

    def _read(self, query: Query, after: RunHead | None, *, asked: bool) -> Listed:
        text, failed = query
        began = perf_counter()
        runs = self._runs.page(PAGE, after=after, text=text, failed=failed)
        self._took = perf_counter() - began
        if after is None:
            if runs != self._newest:
                self._quiet = 0
            self._newest = runs
        return Listed(
            runs,
            after=after,
            more=len(runs) == PAGE,
            query=query,
            milliseconds=self._took * 1000,
            asked=asked,
        )
