"""`Recorder(keep=…)`: which runs are worth keeping. Decided when a run ends; `stepwell prune` deletes the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from stepwell.core.codec import digest
from stepwell.core.recording import storable
from stepwell.core.steps import Loop
from stepwell.errors import UsageError
from stepwell.recorder.functions import takes
from stepwell.store.keeping import Facts
from stepwell.store.rows import Ended

log = logging.getLogger("stepwell")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Summary:
    """A run that ends, in a few facts, of all processes that recorded into it."""

    run_id: UUID
    name: str | None
    tags: Mapping[str, Any]
    status: str
    """`ok` or `failed`."""
    steps: int
    raised: int
    """Steps that raised, also where the agent went on."""
    in_doubt: int
    """Steps that never finished."""
    loop: Loop | None
    """The longest loop of tool calls that was seen."""
    agents: tuple[str, ...]
    took: timedelta


Keep = Callable[[Summary], "str | bool | None"]
"""Why a run is worth keeping, or True; empty or False if it is not; None to leave that open, and it is kept."""


def keep(*, errors: bool = True, loops: bool = True, rate: float = 0.0) -> Keep:
    """For `Recorder(keep=…)`: keep runs that failed, raised or left a step in doubt, those that looped, and a share.

    `rate` is the share of all other runs that is kept, from 0 to 1: chosen by the run's id, so that it comes to the
    same for the same run. Raises UsageError.
    """
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise UsageError(f"rate is a share from 0 to 1, not {rate!r}")

    def decide(run: Summary) -> str:
        if errors and (run.status == "failed" or run.raised or run.in_doubt):
            return _trouble(run)
        if loops and run.loop is not None:
            return f"loop: {run.loop.name}, {run.loop.laps} laps"
        if digest(run.run_id.hex) % 1_000_000 < rate * 1_000_000:
            return f"one of {rate * 100:g} %"
        return ""

    return decide


def _trouble(run: Summary) -> str:
    if run.status == "failed":
        return "failed"
    if run.raised:
        return f"{run.raised} step{'s' if run.raised > 1 else ''} raised"
    return f"{run.in_doubt} in doubt"


def checked(given: Keep | None) -> Keep | None:
    """Raises UsageError for what is no function of one argument."""
    if given is not None and not takes(given, 1):
        raise UsageError(f"keep is a function of a summary, or stepwell.keep(errors=True), not {given!r}")
    return given


def judge(decide: Keep, ending: Ended, facts: Facts) -> str | None:
    """What `agent_runs.keep` gets at the end of a run. What the function raises is logged, and the run kept."""
    took = timedelta(microseconds=ending.finished_at) - (facts.started - _EPOCH)
    summary = Summary(
        ending.run_id,
        facts.name,
        facts.tags,
        ending.status,
        facts.steps,
        facts.raised,
        facts.in_doubt,
        facts.loop,
        facts.agents,
        took,
    )
    try:
        said = decide(summary)
    except Exception:  # the user's own code; a run that ended well must not fail for it
        log.exception("run %s is kept: keep raised", ending.run_id)
        return None
    if said is None or isinstance(said, str):
        return said and storable(said)
    return "kept" if said else ""
