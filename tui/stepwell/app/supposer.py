"""The jobs of the debugger's worker that have to do with what-ifs: read the whole run, derive, save."""

from uuid import UUID

from stepwell.app.messages import Editable, Saved, Supposed
from stepwell.core.branching import tail_of
from stepwell.core.edits import written
from stepwell.core.recorded import RecordedRun
from stepwell.core.whatif import WhatIf, editable, what_if
from stepwell.core.world import MISSING
from stepwell.replay.whatif import save
from stepwell.store.connect import Target
from stepwell.store.reader import Reader
from stepwell.store.reading import find_run
from stepwell.store.recorded import read_recorded


class Supposer:
    """Used by one worker thread only, except `cancel` and `forget`. The run is read when it is first needed."""

    def __init__(self, target: Target, run_id: UUID) -> None:
        self._target = target
        self._run_id = run_id
        self._reader = Reader(target)
        self._run: RecordedRun | None = None

    def editable(self, number: int, now: WhatIf | None, outside: bool) -> Editable:
        """What step `number` gave, or gives in a what-if of it, as JSON to be edited; empty for nothing."""
        value = now.new if now is not None and now.number == number else editable(self._recorded(), number)
        return Editable(number, "" if value is MISSING else written(value) + "\n", outside)

    def suppose(self, number: int, value: object) -> Supposed:
        """The run with another output. Raises EncodingError for what cannot be kept."""
        found = what_if(self._recorded(), number, value)
        return Supposed(None if found.unchanged else found)

    def save(self, found: WhatIf) -> Saved:
        """Store it as a branch. Raises DatabaseError, one line with the remedy, where that cannot be."""
        return Saved(save(self._target, self._run_id, tail_of(found)), found.number)

    def forget(self) -> None:
        """The run has become another."""
        self._run = None

    def cancel(self) -> None:
        self._reader.cancel()

    def close(self) -> None:
        self._reader.close()

    def _recorded(self) -> RecordedRun:
        run = self._run
        if run is None:
            run = self._run = self._reader.read(lambda c: read_recorded(c, find_run(c, str(self._run_id))))[0]
        return run
