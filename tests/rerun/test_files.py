"""Agents of every kind, recorded into a file without a database and replayed from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stepwell
from stepwell.core.recorded import RecordedRun
from stepwell.core.rerun import Report
from stepwell.errors import UsageError
from stepwell.replay.cassettes import load
from stepwell.rerun.files import ANEW
from tests.rerun.agents import AGENTS, fail, plain, search

Record = Callable[[Any], RecordedRun]
ERROR = "tests.rerun.agents.ToolError"


@pytest.fixture
def anew() -> Iterator[list[str]]:
    """Recordings are made anew, as under the flag; what is said of them."""
    told: list[str] = []
    token = ANEW.set(told)
    yield told
    ANEW.reset(token)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "refund.stepwell.json"


def replayed(path: Path, agent: Any) -> Report:
    """What comes of a replay without the flag."""
    token = ANEW.set(None)
    try:
        return stepwell.replay_file(path, agent)
    finally:
        ANEW.reset(token)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_recorded_where_there_is_no_file_and_replays_from_it(
    name: str, anew: list[str], path: Path
) -> None:
    stepwell.replay_file(path, AGENTS[name])
    assert anew[0].startswith(f"{path}: ")
    made = load(path)
    assert (made.head.name, made.head.status) == ("refund", "ok")
    for _ in range(5):
        report = replayed(path, AGENTS[name])
        assert report.same
        assert report.notes == ()
        assert report.served == len(made.steps) - (name == "nested")  # of which one is inside of another


def test_what_a_database_has_of_a_run_is_what_a_file_has(anew: list[str], path: Path, record: Record) -> None:
    stepwell.replay_file(path, plain)
    one, other = load(path), record(plain)
    assert len(anew) == 1
    for mine, its in zip(one.steps, other.steps, strict=True):
        for field in ("number", "type", "name", "agent", "parent", "lane", "form"):
            assert getattr(mine, field) == getattr(its, field), field
        for field in ("finished_order", "finished_before", "started_before", "in_doubt"):
            assert getattr(mine, field) == getattr(its, field), field
        assert (mine.random_after is None, len(mine.drawn)) == (its.random_after is None, len(its.drawn))
    assert (one.random is None, one.result is None) == (other.random is None, other.result is None)


def test_a_failure_is_recorded_in_place_of_one_of_its_type_alone(anew: list[str], path: Path) -> None:
    def agent(run: stepwell.Run) -> None:
        run.tool(search, "lamp")
        if fails:
            run.tool(fail, code)

    fails, code = True, 7
    with pytest.raises(Exception, match="7: as always") as caught:
        stepwell.replay_file(path, agent)
    assert "refund.stepwell.json stays as it is" in caught.value.__notes__[0]
    assert (path.exists(), anew) == (False, [])
    fails = False
    stepwell.replay_file(path, agent)
    path.write_text(
        path.read_text().replace('"status": "ok"', f'"status": "failed", "error": "{ERROR}: 7: as always"')
    )
    fails, code = True, 8
    stepwell.replay_file(path, agent)
    assert anew[1].endswith(f"ended with {ERROR}: 8: as always")
    assert replayed(path, agent).same


def test_an_agent_that_is_fed_cannot_be_recorded(anew: list[str], path: Path) -> None:
    class Fed:
        def llm_response(self, reply: object) -> None: ...
        def tool_result(self, result: object) -> None: ...
        def step(self) -> None: ...

    for agent in (Fed, Fed()):
        with pytest.raises(UsageError, match="makes no calls by itself"):
            stepwell.replay_file(path, agent)
    assert (path.exists(), anew) == (False, [])
