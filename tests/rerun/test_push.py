"""Agents that are fed with the recorded answers one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stepwell import Run, UsageError
from stepwell.core.divergence import Kind
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play
from tests.rerun.agents import ToolError, fail, model, search
from tests.rerun.project import made

Record = Callable[[Any], RecordedRun]


@dataclass
class Question:
    type: str
    name: str
    input: Any
    agent: str = "a"


class Fed:
    """Asks a model and a tool in turns, twice."""

    limit = 3
    tuples = True

    def __init__(self) -> None:
        self.messages = ["hello"]
        self.asked = 0
        self.result: str | None = None

    def step(self) -> Any:
        self.asked += 1
        if self.asked in (1, 4):
            return self.question("llm_call", "model", {"messages": list(self.messages)})
        if self.asked in (2, 5):
            return self.question("tool_call", "search", {"query": self.messages[-1], "limit": self.limit})
        if self.asked == 3:
            return self.question("state_update", None, {"messages": list(self.messages)})
        if self.asked == 6:
            return self.question("tool_call", "fail", {"code": 7})
        self.result = self.messages[-1]
        return None

    def question(self, kind: str, name: str | None, given: Any) -> Any:
        return (kind, name, given)

    def llm_response(self, reply: Any) -> None:
        self.messages.append(reply["text"])

    def tool_result(self, result: Any) -> None:
        self.messages += result

    def error(self, error: Exception) -> None:
        assert isinstance(error, ToolError)
        self.messages.append(error.detail)


class OfObjects(Fed):
    def question(self, kind: str, name: str | None, given: Any) -> Any:
        return Question(kind, name or "", given)


class Asynchronous(Fed):
    async def step(self) -> Any:
        return super().step()

    async def llm_response(self, reply: Any) -> None:  # type: ignore[override]  # either may be
        super().llm_response(reply)


def live(run: Run, agent: Fed | None = None) -> str | None:
    """What drives such an agent for real."""
    agent = agent or Fed()
    calls: dict[str, Any] = {"model": model, "search": search, "fail": fail}
    while (asked := agent.step()) is not None:
        kind, name, given = asked
        if kind == "state_update":
            run.state(given)
        elif kind == "llm_call":
            agent.llm_response(run.llm(calls[name], **given))
        else:
            try:
                agent.tool_result(run.tool(calls[name], **given))
            except ToolError as error:
                agent.error(error)
    return run.result(agent.result)


def make(run: Run) -> Fed:
    assert run.run_id
    return Fed()


@pytest.mark.parametrize(
    "agent",
    [Fed, Fed(), make, lambda: Fed(), Asynchronous],
    ids=["class", "object", "function", "lambda", "asynchronous"],
)
def test_an_object_that_is_fed_is_replayed_like_any_agent(agent: Any, record: Record) -> None:
    recorded = record(live)
    report = play(recorded, agent)
    assert (report.divergence, report.stopped, report.served) == (None, None, 6)
    assert report.result == "as always"


def test_questions_may_be_objects_that_name_their_agent(record: Record) -> None:
    def of_agents(run: Run) -> None:
        run.agent("a").tool(search, "x", limit=1)

    class One(OfObjects):
        def step(self) -> Any:
            self.asked += 1
            return (
                self.question("tool_call", "search", {"query": "x", "limit": 1}) if self.asked == 1 else None
            )

    assert play(record(of_agents), One).divergence is None


def test_what_it_asks_otherwise_is_found_where_it_is(record: Record) -> None:
    recorded = record(live)

    class Changed(Fed):
        limit = 4

    found = play(recorded, Changed).divergence
    assert found is not None
    assert (found.kind, found.step, found.path, found.actual) == (Kind.INPUT, 2, "$.limit", 4)


def test_ending_early_and_another_result_are_found(record: Record) -> None:
    recorded = record(live)

    class Ends(Fed):
        def step(self) -> Any:
            return None if self.asked == 2 else super().step()

    class Other(Fed):
        def step(self) -> Any:
            asked = super().step()
            self.result = "other" if asked is None else None
            return asked

    early, other = play(recorded, Ends).divergence, play(recorded, Other).divergence
    assert early is not None
    assert other is not None
    assert (early.kind, early.step, other.kind) == (Kind.NEVER_ASKED, 3, Kind.RESULT)


def test_an_error_ends_an_agent_that_takes_none(record: Record) -> None:
    class Takes(Fed):
        error = None  # type: ignore[assignment]  # it has no such method

    def drive(run: Run) -> None:
        agent = Takes()
        while (asked := agent.step()) is not None:
            kind, name, given = asked
            if kind == "state_update":
                run.state(given)
            elif kind == "llm_call":
                agent.llm_response(run.llm(model, **given))
            else:
                tool: Any = search if name == "search" else fail
                agent.tool_result(run.tool(tool, **given))

    def recording(run: Run) -> None:
        with pytest.raises(ToolError):
            drive(run)
        run.finish(ToolError(7, "as always"))

    assert play(record(recording), Takes).divergence is None


def test_it_stops_at_the_step_that_is_wanted(record: Record) -> None:
    report = play(record(live), Fed, 4)
    assert (report.last, report.stopped) == (4, "step 4")


def test_inputs_that_are_no_arguments_are_asked_for_as_blocks_are(record: Record) -> None:
    def blocks(run: Run) -> str:
        with run.step("tool_call", "look", "here") as step:
            step.output = "found"
        return run.result("found")

    class Looks(Fed):
        def step(self) -> Any:
            self.asked += 1
            return ("tool_call", "look", "here") if self.asked == 1 else None

        def tool_result(self, result: Any) -> None:
            self.result = result

    assert play(record(blocks), Looks).divergence is None


@pytest.mark.parametrize(
    "said",
    ["search", ("tool_call", "search"), (1, "search", {}), object()],
    ids=["text", "short", "number", "object"],
)
def test_what_is_no_question_is_said_to_be_none(said: Any, record: Record) -> None:
    class Mumbles(Fed):
        def step(self) -> Any:
            return said

    raised: list[BaseException] = []

    def catching(run: Run) -> Any:
        from stepwell.rerun.push import begin

        try:
            begin(Mumbles, run)
        except UsageError as error:
            raised.append(error)

    play(record(live), catching)
    assert "(type, name, input)" in str(raised[0])


FED = """
class Agent:
    def __init__(self):
        self.texts, self.asked, self.result = [], 0, None

    def step(self):
        self.asked += 1
        if self.asked > 6:
            self.result = self.texts[-1]
            return None
        if self.asked % 2:
            return "llm_call", "model", {"messages": list(self.texts)}
        return "tool_call", "search", {"query": self.texts[-1]}

    def llm_response(self, reply):
        self.texts.append(reply["text"])

    def tool_result(self, result):
        print("found", len(result))
"""


def test_a_class_of_agents_that_are_fed_is_named_as_any_agent_and_so_is_one_of_them(
    tmp_path: Path, schema_dsn: str
) -> None:
    (tmp_path / "fed.py").write_text(f"{FED}\nagent = Agent()\n")
    with made(tmp_path, schema_dsn) as project:
        with project.process("fed:Agent") as process:
            for to, served in [(None, 6), (3, 3), (None, 6)]:
                report = process.replay(to)
                assert (report.divergence, report.refused, report.served) == (None, None, served)
                assert report.output == "found 3\n" * (served // 2)
        with project.process("fed:agent") as process:
            assert [process.replay().same for _ in range(2)] == [True, True]
