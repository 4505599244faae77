"""What came of a replay through the agent's own code."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.core.divergence import Divergence
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.dialogue import Place


@dataclass(frozen=True, slots=True)
class Report:
    """How far the agent got, and what it did otherwise.

    `served` steps were answered, the last of them step `last`, asked for at `place`. `stopped` says why it ended before
    the agent did, None where it did not; `result` is what the agent returned.
    """

    run: RecordedRun
    served: int
    last: int | None
    place: Place | None
    divergence: Divergence | None = None
    stopped: str | None = None
    result: object = None
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the agent did what was recorded, as far as it got."""
        return self.divergence is None
