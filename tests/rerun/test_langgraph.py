"""An agent on LangGraph, whose model and tools are called through `run`: recorded and replayed without either."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from stepwell import Run
from stepwell.core.divergence import Kind
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play

Record = Callable[[Any], RecordedRun]
calls: list[str] = []


def think(messages: list[AnyMessage]) -> AIMessage:
    """Looks two orders up at once, twice, and is done."""
    calls.append("think")
    if len(messages) > 6:
        return AIMessage(f"done {uuid.uuid4()}")
    asked = [
        {"name": "look_up", "args": {"order": len(messages) + n}, "id": str(uuid.uuid4())} for n in range(2)
    ]
    return AIMessage("", tool_calls=asked)


def find_order(order: int) -> str:
    calls.append("find_order")
    return f"order {order}: {uuid.uuid4()}"


async def find_order_async(order: int) -> str:
    return find_order(order)


class Graph:
    """The agent, sync or async; what is `changed` is done otherwise."""

    def __init__(self, is_async: bool = False, changed: str = "") -> None:
        self.is_async, self.changed = is_async, changed

    def __call__(self, run: Run) -> Any:
        @tool
        def look_up(order: int) -> str:
            """Find an order."""
            order += 100 if self.changed == "tool input" and order == 5 else 0
            return run.tool(find_order, order)

        @tool("look_up")
        async def look_up_async(order: int) -> str:
            """Find an order."""
            return await run.tool(find_order_async, order)

        def agent(state: MessagesState) -> Any:
            return {"messages": [run.llm(think, state["messages"])]}

        def is_done(state: MessagesState) -> str:
            made = state["messages"][-1]
            wants = isinstance(made, AIMessage) and made.tool_calls
            return "tools" if wants and not (self.changed == "early" and len(state["messages"]) > 4) else END

        made: Any = StateGraph(MessagesState)
        made.add_node("agent", agent)
        made.add_node("tools", ToolNode([look_up_async if self.is_async else look_up]))
        made.add_edge(START, "agent")
        made.add_conditional_edges("agent", is_done, ["tools", END])
        made.add_edge("tools", "agent")
        graph = made.compile()
        prompt = "hello" if self.changed != "prompt" else "hallo"
        given = {"messages": [HumanMessage(prompt)]}
        return self.finish(run, graph, given) if self.is_async else self.end(run, graph.invoke(given))

    async def finish(self, run: Run, graph: Any, given: Any) -> Any:
        return self.end(run, await graph.ainvoke(given))

    def end(self, run: Run, state: Any) -> Any:
        return run.result([message.content for message in state["messages"]])


@pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])
def test_a_graph_does_what_it_did_and_calls_neither_model_nor_tools(is_async: bool, record: Record) -> None:
    recorded = record(Graph(is_async))
    assert [step.type for step in recorded.steps].count("tool_call") == 4
    calls.clear()
    for _ in range(10):
        report = play(recorded, Graph(is_async))
        assert (report.divergence, report.refused, report.stopped, report.notes) == (None, None, None, ())
    assert calls == []
    assert isinstance(report.result, list)
    assert report.result[-1].startswith("done ")


@pytest.mark.parametrize(
    ("changed", "kind", "type_", "place", "path"),
    [
        ("prompt", Kind.INPUT, "llm_call", 0, "$.messages[0].content"),
        ("tool input", Kind.INPUT, "tool_call", 2, "$.order"),
        ("early", Kind.NEVER_ASKED, "tool_call", 2, "$"),
    ],
)
def test_what_a_graph_does_otherwise_is_found(
    changed: str, kind: Kind, type_: str, place: int, path: str, record: Record
) -> None:
    recorded = record(Graph())
    found = play(recorded, Graph(changed=changed)).divergence
    assert found is not None
    meant = [step.number for step in recorded.steps if step.type == type_][place:]
    assert (found.kind, found.path) == (kind, path)
    assert found.step in meant[:2]
