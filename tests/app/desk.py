"""A small refund desk: the agent whose runs are replayed through its code. Its module is also written out changed."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.app.recorded import Script, asking, reply
from tests.store.rows import run_id

DESK = run_id(0xDE5C0000)
NAME = "desk:main"
LIMIT = 50
LAST = "Order 8177 is refunded."
ASKS: list[tuple[str, dict[str, Any]]] = [
    ("get_customer", {"customer": 42}),
    ("search_orders", {"query": "broken lamp", "limit": LIMIT}),
    ("refund_order", {"order": 8177}),
]
GAVE: dict[str, Any] = {
    "get_customer": {"name": "Ada", "customer": 42},
    "search_orders": [
        {"id": 8102, "item": "desk", "status": "ok"},
        {"id": 8177, "item": "lamp", "status": "broken"},
    ],
    "refund_order": {"refunded": 8177},
}
CODE = """
import json

SYSTEM = "You are the refund desk of a lamp shop."


def model(*, model, messages, seed):
    raise AssertionError("a replay calls no model")


def get_customer(customer):
    raise AssertionError("a replay calls no tool")


def search_orders(query, limit):
    raise AssertionError("a replay calls no tool")


def refund_order(order):
    raise AssertionError("a replay calls no tool")


TOOLS = {tool.__name__: tool for tool in (get_customer, search_orders, refund_order)}


def main(run):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "My lamp came broken."}]
    memory = {}
    while True:
        message = run.llm(model, model="gpt-5-mini", messages=messages, seed=7)["choices"][0]["message"]
        messages.append(message)
        print(f"{len(messages)} messages")
        for call in message.get("tool_calls") or ():
            name, given = call["function"]["name"], json.loads(call["function"]["arguments"])
            result = run.tool(TOOLS[name], **given)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
            if name == "get_customer":
                memory["customer"] = result["name"]
                run.state(memory)
        if not message.get("tool_calls"):
            return message["content"]
"""


def write(folder: Path, *changes: tuple[str, str]) -> None:
    """The module `desk` in a folder, with parts of its code replaced."""
    code = CODE
    for old, new in changes:
        assert code.count(old) == 1, old
        code = code.replace(old, new)
    (folder / "desk.py").write_text(code)


def record(dsn: str) -> UUID:
    """A run of it by its fixed id, at fixed times: steps 1 L, 2 T, 3 S, 4 L, 5 T, 6 L, 7 T, 8 L."""
    script = Script(DESK)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are the refund desk of a lamp shop."},
        {"role": "user", "content": "My lamp came broken."},
    ]

    def ask(message: dict[str, Any]) -> None:
        given = {"model": "gpt-5-mini", "messages": list(messages), "seed": 7}
        script.step("llm_call", "gpt-5-mini", given, reply(message), took=1.6)
        messages.append(message)

    for number, (tool, given) in enumerate(ASKS):
        ask(asking(tool, number, **given))
        script.step("tool_call", tool, given, GAVE[tool])
        content = json.dumps(GAVE[tool])
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": content})
        if tool == "get_customer":
            script.step("state_update", None, None, {"customer": "Ada"}, took=0.001)
    ask({"role": "assistant", "content": LAST})
    script.write(dsn, name="refund-desk")
    return DESK
