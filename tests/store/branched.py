"""A run to branch off."""

from typing import Any, NamedTuple
from uuid import UUID

import pytest

from stepwell import Run
from stepwell.core.branching import tail_of
from stepwell.core.whatif import what_if
from stepwell.replay.recorded import load
from stepwell.replay.whatif import save
from stepwell.store.connect import Target
from tests.core.prompt_sequences import PAD


def search(query: str) -> list[dict[str, object]]:
    return [{"id": 8841, "item": f"{query} for the living room"}, {"id": 8842, "item": "a desk of oak wood"}]


def complete(model: str, messages: list[Any]) -> dict[str, Any]:  # noqa: ARG001 as a model takes it
    return {"role": "assistant", "content": f"there were {len(messages)} messages to answer in this prompt"}


def agent(run: Run) -> None:
    """Long prompts, which are stored as differences; a state each turn; a step inside of another one; an error."""
    messages: list[Any] = [{"role": "system", "content": PAD}]
    for turn in range(3):
        reply = run.llm(complete, "m", list(messages))
        messages.append(reply)
        rows = run.tool(search, f"lamp number {turn}")
        messages.append({"role": "user", "content": str(rows)})
        run.state({"turn": turn, "seen": [row["id"] for row in rows], "same": PAD[:50]})
    with run.step("tool_call", "outer", {"of": "all"}) as outer:
        run.tool(search, "inside of the other one")
        outer.output = "the outer one has come to its end"
    with pytest.raises(ZeroDivisionError):
        run.tool(lambda: 1 // 0)
    run.state({"turn": "over"})
    run.result({"said": messages[-1]})


class Stored(NamedTuple):
    target: Target
    run_id: UUID

    def edit(self, number: int, value: object, run_id: UUID | None = None, name: str | None = None) -> UUID:
        """A branch of the run, or of another one, in which a step gave `value`."""
        run = load(self.target, str(run_id or self.run_id))
        return save(self.target, run.head.run_id, tail_of(what_if(run, number, value)), name)
