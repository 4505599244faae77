"""The jobs of the browser's worker: the watched tables as of a step, their rows, and the story of one."""

from uuid import UUID

from stepwell.app.messages import Paged, TablesListed, Told
from stepwell.core.pages import Start
from stepwell.core.past import Table
from stepwell.core.world import Moment
from stepwell.replay.tables import Tables
from stepwell.store.connect import Target

CHUNK = 200
"""Rows that are read at a time."""


class Browser:
    """Looks at one step and moment. Used by one worker thread only, except `cancel`."""

    def __init__(self, target: Target, run_id: UUID, number: int, moment: Moment) -> None:
        self.number = number
        self.moment = moment
        self._tables = Tables(target, run_id, number, moment)

    def listing(self) -> TablesListed:
        return TablesListed(self._tables.listing())

    def page(self, subject: object, table: Table, start: Start) -> Paged:
        """For `subject`, which the answer names again."""
        return Paged(subject, start, self._tables.page(table, start, CHUNK))

    def story(self, subject: object, table: Table, key: tuple[str | None, ...]) -> Told:
        return Told(subject, self._tables.story(table, key))

    def cancel(self) -> None:
        self._tables.cancel()

    def close(self) -> None:
        self._tables.close()
