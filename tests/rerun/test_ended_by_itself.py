"""An agent that says itself how its run ended."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.divergence import Kind
from stepwell.core.recorded import RecordedRun
from stepwell.errors import RecordingError
from stepwell.replay.recorded import load
from stepwell.rerun.playing import play
from stepwell.store.connect import resolve
from tests.rerun.agents import search

Record = Callable[[Any], RecordedRun]


def gives_up(run: Run) -> None:
    run.tool(search, "first")
    run.finish(LookupError("nothing found"))


def fails_later(run: Run) -> None:
    run.tool(search, "first")
    run.finish()
    raise ValueError("of what comes afterwards")


def exits(run: Run) -> None:
    run.tool(search, "first")
    sys.exit(0)


def is_refused(run: Run) -> None:
    run.tool(search, "first")
    run.finish()
    with pytest.raises(RecordingError, match="has ended, so tool_call search was neither made nor recorded"):
        run.tool(search, "second")


@pytest.mark.parametrize("agent", [gives_up, fails_later, exits, is_refused])
def test_what_it_says_then_and_now_is_compared(
    record: Record, runs_dsn: str, agent: Callable[[Run], None]
) -> None:
    with suppress(ValueError, SystemExit):
        record(agent)
    recorded = load(resolve(runs_dsn), "@last")
    report = play(recorded, agent)
    assert (report.divergence, report.refused, report.served) == (None, None, 1)
    found = play(recorded, exits if agent is gives_up else gives_up).divergence
    assert found is not None
    assert found.kind is Kind.RESULT


def test_who_ends_the_run_too_early_gets_no_further_answers(record: Record) -> None:
    def agent(run: Run) -> None:
        if is_early:
            run.finish()
        run.tool(search, "first")

    is_early = False
    recorded = record(agent)
    is_early = True
    found = play(recorded, agent).divergence
    assert found is not None
    assert (found.kind, found.step) == (Kind.RAISED, 1)
    assert "has ended, so tool_call search was neither made nor recorded" in str(found.actual)


def test_an_error_without_words_of_its_own_is_told_all_the_same(record: Record) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def agent(run: Run) -> None:
        if is_odd:
            raise OddError
        run.tool(search, "first")

    is_odd = False
    recorded = record(agent)
    is_odd = True
    found = play(recorded, agent).divergence
    assert found is not None
    assert found.kind is Kind.RAISED
    assert str(found.actual).endswith("OddError: <str raised RuntimeError>")
