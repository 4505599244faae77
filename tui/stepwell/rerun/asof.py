"""As of which instant re-executed code sees the database, by where in the recording it is.

Between two steps that is as its own connection saw it just before the next one, where that is recorded and the
connection had written nothing since the last; else as it was after the step that was answered last, or when the run
began. Within a step whose body is executed it is as it was when that began.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from psycopg import Connection

from stepwell.core.omitted import Stand
from stepwell.core.past import Instant, Origin
from stepwell.core.world import Moment
from stepwell.store.held import Held
from stepwell.store.instants import Instants, read_all_instants, read_begin


class Pasts:
    """The instants of one recorded run."""

    def __init__(self, connection: Connection[Any], run_id: UUID) -> None:
        """Read them. Raises what psycopg raises."""
        self.steps: dict[int, Instants] = read_all_instants(connection, run_id)
        self.begin: Instant | None = read_begin(connection, run_id)
        """When the run began."""
        backends = {each.backend for each in self.instants} - {None}
        self._backend = backends.pop() if len(backends) == 1 else None
        """Of the agent's connection, which could not be asked at each instant."""

    @property
    def instants(self) -> list[Instant]:
        """All that were recorded."""
        sides = [side for each in self.steps.values() for side in (each.before, each.after)]
        return [each for each in (self.begin, *sides) if each is not None]

    def of(self, held: Held, stand: Stand) -> tuple[Instant | None, Origin | None]:
        """That of a stand, and the server that it is of. Raises what psycopg raises."""
        instant, origin = self._of(held, stand)
        if instant is not None and instant.backend is None:
            instant = replace(instant, backend=self._backend)
        return instant, origin

    def leaves_open(self, number: int) -> tuple[bool, bool]:
        """Whether a step has ended the transaction that it began in, and whether it has left one open.

        As far as something had been written there.
        """
        at = self.steps.get(number)
        if at is None or at.before is None or at.after is None or at.before.backend != at.after.backend:
            return False, False
        return at.before.own is not None and at.after.own != at.before.own, at.after.own is not None

    def _of(self, held: Held, stand: Stand) -> tuple[Instant | None, Origin | None]:
        following = self.steps.get(stand.following or -1)
        coming = None if following is None else following.before
        if stand.step is None:
            origin = None if following is None else following.origin
            return None if coming is None else self._before_first(held, coming, origin), origin
        at = self.steps.get(stand.step)
        if at is None:
            return None, None
        if stand.begun:
            return at.before, at.origin
        after = at.at(Moment.AFTER)
        if after is None or coming is None:
            return after, at.origin
        own = {instant.backend for instant in (after, coming)} - {None}
        is_after = len(own) != 1 or held.wrote(after, replace(coming, backend=own.pop()), at.origin)
        return after if is_after else coming, at.origin

    def _before_first(self, held: Held, coming: Instant, origin: Origin | None) -> Instant:
        """As its connection saw it just before the first step, without what it had written by then: it is about to."""
        if coming.own is not None:
            coming = replace(coming, position=0)
        if self.begin is None:
            return coming
        if coming.backend is None:  # what was written meanwhile may be its own
            return self.begin if held.overlays else coming
        begin = replace(self.begin, backend=coming.backend)
        return begin if held.wrote(begin, coming, origin) else coming
