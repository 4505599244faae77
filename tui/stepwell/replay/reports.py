"""How something was read, as people are told it."""

from stepwell.core.world import Replay
from stepwell.store.transaction import Report


def replay_of(report: Report, seconds: float) -> Replay:
    """Of a reading that folds no steps."""
    return Replay(
        isolation=report.isolation,
        milliseconds=seconds * 1000,
        steps=0,
        state_steps=0,
        ordered_by="number",
        retries=report.retries,
        notes=tuple(report.notes),
    )
