"""Runs that are told step by step."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from stepwell.core.codec import encode
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL, Payload, RunHead
from stepwell.core.whatif import WhatIf, what_if

ROWS = [
    {"id": 8841, "item": "a lamp for the desk", "status": "paid"},
    {"id": 8842, "item": "a chair of oak wood", "status": "open"},
]


@dataclass
class Story:
    """A run that is told step by step."""

    steps: list[RecordedStep] = field(default_factory=list)
    finished: int = 0

    def add(
        self,
        type_: str,
        asked: object,
        gave: object,
        name: str | None = None,
        *,
        agent: str | None = None,
        parent: int | None = None,
    ) -> int:
        number = len(self.steps) + 1
        given, made = encode(asked), encode(gave)
        payload = Payload(number, given.plain, made.plain, given.exact, made.exact)
        before, self.finished = self.finished, self.finished + 1
        self.steps.append(
            RecordedStep(
                number, type_, name, agent, parent, payload, finished_order=before + 1, finished_before=before
            )
        )
        return number

    def model(self, messages: Sequence[object], said: object, agent: str | None = None, **more: Any) -> int:
        return self.add(LLM_CALL, {"model": "m", "messages": [*messages]}, said, "m", agent=agent, **more)

    def tool(self, name: str, asked: object, gave: object, **more: Any) -> int:
        return self.add(TOOL_CALL, asked, gave, name, **more)

    def state(self, *ops: object, **more: Any) -> int:
        return self.add(STATE_UPDATE, {"$patch": list(ops)}, [], **more)

    def what_if(self, number: int, value: object) -> WhatIf:
        return what_if(self.run, number, value)

    @property
    def run(self) -> RecordedRun:
        head = RunHead(UUID(int=7), "ok", steps=len(self.steps))
        return RecordedRun(head, tuple(self.steps))


def asks(name: str, call_id: str = "c1", **arguments: object) -> dict[str, object]:
    """A reply that asks for a tool call."""
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(content: str, call_id: str = "c1") -> dict[str, object]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def stale(made: WhatIf) -> list[int]:
    return [each.number for each in made.stale]


def changed(value: Any, *path: str | int, to: object) -> Any:
    made = copy.deepcopy(value)
    inner = made
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return made


def talk(content: str, after: str = "ok") -> Story:
    """A model asks for rows, sees `content` of them, asks for a refund, and sees that it is done."""
    story = Story()
    messages: list[object] = [user("refund the lamp")]
    story.model(messages, {"choices": [{"message": asks("search", q="lamp")}]})
    messages.append(asks("search", q="lamp"))
    story.tool("search", {"q": "lamp", "limit": 5}, ROWS)
    messages.append(result(content))
    story.model(messages, {"choices": [{"message": asks("refund", "c2", order=8841)}]})
    messages.append(asks("refund", "c2", order=8841))
    story.tool("refund", {"order": 8841}, after)
    messages.append(result(after, "c2"))
    story.model(messages, {"choices": [{"message": {"role": "assistant", "content": "it is done"}}]})
    return story


WRITINGS = (
    json.dumps(ROWS),
    json.dumps(ROWS, indent=2),
    json.dumps(ROWS, separators=(",", ":"), sort_keys=True),
    str(ROWS),
    f"The tool gave: {json.dumps(json.dumps(ROWS))}",
)
