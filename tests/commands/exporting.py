"""Recording a run to be exported."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import stepwell
from stepwell.core.recorded import RecordedRun
from stepwell.replay.recorded import load
from stepwell.store.connect import resolve


def record(
    dsn: str, agent: Callable[[stepwell.Run], Any], *, connection: object = None, **options: Any
) -> RecordedRun:
    """Run an agent for real and read its recording; `options` are the Recorder's."""
    with (
        closing(stepwell.Recorder(dsn, **options)) as recorder,
        recorder.run("refund", seed=4, tags={"a": 1}, connection=connection) as run,
    ):
        agent(run)
    return load(resolve(dsn), str(run.run_id))
