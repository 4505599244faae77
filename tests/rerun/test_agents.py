"""Every kind of agent, replayed: it does what it did, as often as one likes."""

from collections.abc import Callable
from typing import Any

import pytest

from stepwell.core.recorded import RecordedRun
from stepwell.rerun.replaying import play
from tests.rerun.agents import AGENTS


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_does_the_same_a_hundred_times(name: str, record: Callable[[Any], RecordedRun]) -> None:
    recorded = record(AGENTS[name])
    for _ in range(100):
        report = play(recorded, AGENTS[name])
        assert report.divergence is None, report.divergence
        assert report.stopped is None
        assert report.notes == ()
        assert report.served == len(recorded.steps) - (name == "nested")  # of which one is inside of another
