"""Decorated tools, agents, and the loops that tool calls make."""

import asyncio
from typing import Any

import pytest

import stepwell
from stepwell import Recorder


def search(query: str, limit: int = 3, **filters: object) -> list[str]:
    return [query] * (limit if filters is not None else 0)


def test_a_decorated_tool_records_where_a_run_is_current_and_is_called_plainly_elsewhere(
    recorder: Recorder, steps: Any
) -> None:
    @stepwell.tool
    def double(n: int) -> int:
        return 2 * n

    @stepwell.tool(name="named")
    async def later(n: int) -> int:
        return n

    class Shop:
        @stepwell.tool
        def order(self, item: str) -> str:
            return item

    assert double(2) == 4
    assert asyncio.run(later(3)) == 3
    with recorder.run() as run:
        assert stepwell.current_run() is run
        assert double(2) == 4
        assert asyncio.run(later(3)) == 3
        assert Shop().order("hat") == "hat"
        run.tool(double, 4)  # recorded once
        run.tool(Shop().order, "cap")
        with run.step("tool_call", "block"):
            double(1)
    assert stepwell.current_run() is None
    assert [(r["name"], r["given"], r["parent_step"]) for r in steps(run.run_id)] == [
        ("double", {"n": 2}, None),
        ("named", {"n": 3}, None),
        ("order", {"item": "hat"}, None),
        ("double", {"n": 4}, None),
        ("order", {"item": "cap"}, None),
        ("block", None, None),
        ("double", {"n": 1}, 6),
    ]


def test_a_view_of_an_agent_is_current_inside_its_calls(recorder: Recorder, steps: Any) -> None:
    @stepwell.tool
    def double(n: int) -> int:
        return 2 * n

    with recorder.run() as run:
        run.named("outer", agent="b").tool(lambda: double(1))
    assert [(r["name"], r["agent"]) for r in steps(run.run_id)] == [("outer", "b"), ("double", "b")]


def test_the_same_call_with_the_same_result_has_the_same_hash_and_a_loop_is_flagged(
    recorder: Recorder, steps: Any, run_row: Any
) -> None:
    with recorder.run() as run:
        for _ in range(4):
            run.tool(search, "hat", limit=1)
            with pytest.raises(ZeroDivisionError):
                run.tool(divmod, 1, 0)
        run.tool(search, "cap", limit=1)
        run.state(1)
    hashes = [row["call_hash"] for row in steps(run.run_id)]
    assert hashes == hashes[:2] * 4 + hashes[8:]
    assert len(set(hashes)) == 4
    assert hashes[9] is None
    assert run_row(run.run_id)["loop"] == {
        "name": "search, divmod",
        "first": 1,
        "last": 8,
        "period": 2,
        "laps": 4,
    }


def test_a_poll_that_progresses_is_no_loop(recorder: Recorder, run_row: Any) -> None:
    with recorder.run() as run:
        numbers = iter(range(9))
        for _ in range(9):
            run.tool(lambda: next(numbers))
    assert run_row(run.run_id)["loop"] is None
