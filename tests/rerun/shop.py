"""A small agent that is copied into projects of tests: it notes its real calls in a file."""

from __future__ import annotations

import os
import random
from typing import Any
from uuid import UUID

from stepwell import Run

RUN = UUID(int=7)


def called(name: str) -> None:
    """A call is made for real."""
    if path := os.environ.get("SHOP_CALLS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{name}\n")


def complete(model: str, messages: list[dict[str, str]]) -> dict[str, Any]:
    called(model)
    return {"role": "assistant", "content": f"answer {random.random()} to {len(messages)}"}


def search_orders(query: str, limit: int) -> list[dict[str, object]]:
    called("search_orders")
    return [{"id": 8841, "item": query, "chance": random.random()}][:limit]


def triage(run: Run) -> str:
    messages = [{"role": "system", "content": "You refund.\nNever twice."}]
    reply = run.llm(complete, model="gpt-5-mini", messages=messages)
    found = run.tool(search_orders, "broken lamp", limit=5)
    if not found:
        raise LookupError("no such order")
    messages += [reply, {"role": "user", "content": str(found)}]
    reply = run.llm(complete, model="gpt-5-mini", messages=messages)
    run.state({"said": reply["content"], "dice": random.random()})
    return run.result(str(reply["content"]))
