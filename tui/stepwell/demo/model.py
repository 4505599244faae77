"""A model with a script: it answers from what its prompt really holds, in the shape of a chat completion.

It knows an order only if the order's row stands in the prompt, whole. What is cut off it never saw, and so
it asks again, as real models do.
"""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]

NAME = "gpt-5-mini"
POLICY_ABOVE = 100.0
"""Refunds of more than this in all are looked up in the handbook first."""


@dataclass(frozen=True)
class Say:
    """The model's last word."""

    text: str


@dataclass(frozen=True)
class Call:
    """The model wants a tool called."""

    tool: str
    arguments: dict[str, Any]


def complete(*, model: str, messages: list[Message], seed: int) -> dict[str, Any]:
    """One chat completion. `seed` makes the reply's id; the same prompt always gets the same reply."""
    time.sleep(0.012 + len(messages) % 4 * 0.003)
    return completion(decide(messages), model=model, messages=messages, seed=seed)


def completion(answer: Say | Call, *, model: str, messages: list[Message], seed: int) -> dict[str, Any]:
    """An answer in the shape of the API's reply."""
    turn = sum(message["role"] == "assistant" for message in messages) + 1
    return {
        "id": f"chatcmpl-{seed}-{turn}",
        "object": "chat.completion",
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": _message(answer, turn),
                "finish_reason": "stop" if isinstance(answer, Say) else "tool_calls",
            }
        ],
        "usage": _usage(messages, answer),
    }


def decide(messages: list[Message]) -> Say | Call:
    """What these messages make the model do."""
    ticket = messages[1]["content"]
    customer = int(re.findall(r"customer (\d+)", ticket)[0])
    orders = [int(number) for number in re.findall(r"order (\d{4})", ticket)]
    asked = list(_asked(messages))
    rows = {number: _row(messages, number) for number in orders}

    def done(tool: str) -> list[Call]:
        return [call for call in asked if call.tool == tool]

    if not done("get_customer"):
        return Call("get_customer", {"customer": customer})
    for number, row in rows.items():
        if row is None:
            return Call("search_orders", {"query": f"broken lamp order {number}", "limit": 50})
    total = sum(row["total"] for row in rows.values() if row)
    if total > POLICY_ABOVE and not done("fetch_policy"):
        return Call("fetch_policy", {"kind": "refund"})
    refunded = {call.arguments["order"] for call in done("refund_order")}
    for number, row in rows.items():
        if row and number not in refunded:
            return Call("refund_order", {"order": number, "amount": row["total"]})
    if not done("send_email"):
        address = re.findall(r'"email": "([^"]+)"', _results(messages))[0]
        body = f"We have paid back {total:.2f} for {_orders(orders)}."
        return Call("send_email", {"to": address, "subject": "Your refund", "body": body})
    return Say(f"Refunded {total:.2f} for {_orders(orders)} and told the customer.")


def _orders(numbers: list[int]) -> str:
    return " and ".join(f"order {number}" for number in numbers)


def _asked(messages: list[Message]) -> Iterator[Call]:
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield Call(call["function"]["name"], json.loads(call["function"]["arguments"]))


def _results(messages: list[Message]) -> str:
    return "\n".join(message["content"] for message in messages if message["role"] == "tool")


def _row(messages: list[Message], number: int) -> dict[str, Any] | None:
    """The order as the prompt shows it, or None where its row is not there or cut short."""
    found = re.search(rf'\{{"id": {number}, [^}}]*\}}', _results(messages))
    return json.loads(found[0]) if found else None


def _message(answer: Say | Call, turn: int) -> Message:
    if isinstance(answer, Say):
        return {"role": "assistant", "content": answer.text}
    function = {"name": answer.tool, "arguments": json.dumps(answer.arguments)}
    call = {"id": f"call_{turn}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _usage(messages: list[Message], answer: Say | Call) -> dict[str, int]:
    """Tokens at four characters each."""
    prompt, completion = len(json.dumps(messages)) // 4, len(str(answer)) // 4
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
