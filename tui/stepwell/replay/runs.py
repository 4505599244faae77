"""The list of runs, page by page, over one connection."""

from collections.abc import Iterable
from uuid import UUID

from stepwell.core.steps import RunHead
from stepwell.store import reading
from stepwell.store.connect import Target
from stepwell.store.pulses import Pulse, read_pulses
from stepwell.store.reader import Reader


class Runs:
    """Reads runs, each call in a snapshot of its own. Not for several threads at once."""

    def __init__(self, target: Target) -> None:
        self._reader = Reader(target)

    def page(
        self, limit: int, *, after: RunHead | None = None, text: str = "", failed: bool = False
    ) -> list[RunHead]:
        """At most `limit` runs, newest first, those after `after`; `text` is in the name or begins the id."""
        return self._reader.read(
            lambda c: reading.list_runs(c, limit=limit, after=after, text=text, failed=failed)
        )[0]

    def count(self) -> tuple[int, bool] | None:
        """How many runs there are, and whether that is exact; None where only steps exist."""
        return self._reader.read(reading.count_runs)[0]

    def find(self, prefix: str) -> RunHead:
        """The run whose id begins so, `@failed` or `@last`. Raises NotFoundError, UsageError."""
        return self._reader.read(lambda c: reading.find_run(c, prefix))[0]

    def pulses(self, run_ids: Iterable[UUID]) -> dict[UUID, Pulse]:
        """What has become of some runs, at a glance; those that are gone are left out."""
        wanted = list(run_ids)
        return self._reader.glance(lambda c: read_pulses(c, wanted))

    def where(self) -> str:
        """Role and database, for people: `agents@db1`."""
        return self._reader.read(reading.where)[0]

    @property
    def caution(self) -> str:
        """A line about a role that may do more than look, once something has been read; else empty."""
        return self._reader.caution

    def cancel(self) -> None:
        self._reader.cancel()

    def close(self) -> None:
        self._reader.close()
