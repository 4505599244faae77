"""The agent under test: a support desk's refund triage, recorded step by step.

Three calls make it a recorded agent: `run.llm`, `run.tool` and `run.state`. It has one fault, of a kind that
is easily written: tool results are cut to a budget before the model sees them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import stepwell
from stepwell.demo import model, shop

MAX_TURNS = 25
TOOL_BUDGET = 512
"""Tokens of a tool's result that the model is shown."""
CHARACTERS_PER_TOKEN = 4
SYSTEM = (
    "You are the refund desk of a lamp shop. Look the customer up, find every order named in the ticket, "
    "refund what arrived broken, then tell the customer by e-mail."
)


LOOPING_TICKET = "My lamp from order 8841 arrived broken. Please refund it. (customer 42)"


class MaxTurnsError(RuntimeError):
    """The agent asked its model more often than it may."""


class Turns:
    """A model that answers so many times and no more: the usual guard against an agent that never ends."""

    def __init__(self, complete: Callable[..., dict[str, Any]], limit: int = MAX_TURNS) -> None:
        self._complete = complete
        self._limit = limit
        self._taken = 0

    def __call__(self, *, model: str, messages: list[model.Message], seed: int) -> dict[str, Any]:
        if self._taken == self._limit:
            raise MaxTurnsError(f"{self._limit} turns")
        self._taken += 1
        return self._complete(model=model, messages=messages, seed=seed)


def triage(
    run: stepwell.Run,
    ticket: str,
    tools: Mapping[str, Callable[..., Any]] = shop.TOOLS,
    *,
    system: str = SYSTEM,
    complete: Callable[..., dict[str, Any]] = model.complete,
) -> str:
    """Work on one ticket until the model has nothing left to do; its last word.

    Raises MaxTurnsError when that takes more than MAX_TURNS turns, and what a tool raises.
    """
    ask = Turns(complete)
    messages: list[model.Message] = [
        {"role": "system", "content": system},
        {"role": "user", "content": ticket},
    ]
    memory: dict[str, Any] = {}
    while True:
        reply = run.llm(ask, model=model.NAME, messages=messages, seed=7)
        message = reply["choices"][0]["message"]
        messages.append(message)
        for call in message.get("tool_calls", ()):
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            result = run.tool(tools[name], **arguments)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": shown(result)})
            if remember(memory, name, arguments):
                run.state(memory)
        if not message.get("tool_calls"):
            run.state({**memory, "plan": []})
            return str(message["content"])


def looping(run: stepwell.Run) -> str:
    """Work on the ticket of which the agent makes a loop."""
    return triage(run, LOOPING_TICKET)


def shown(result: object) -> str:
    """A tool's result as the model gets to see it: cut to the budget, without a word about it."""
    text = result if isinstance(result, str) else json.dumps(result)
    return text[: TOOL_BUDGET * CHARACTERS_PER_TOKEN]


def remember(memory: dict[str, Any], tool: str, arguments: Mapping[str, Any]) -> bool:
    """Keep the memory up to date after a call; whether anything changed."""
    match tool:
        case "get_customer":
            memory.update(customer=arguments["customer"], plan=["find order", "refund"], tries=3)
        case "read_order":
            memory.update(order=arguments["order"], plan=["ask approval", "refund"])
        case "ask_approval":
            memory["plan"] = ["refund"]
        case "refund_order":
            memory["plan"] = ["tell customer"]
            memory["refunded"] = [*memory.get("refunded", ()), arguments["order"]]
        case _:
            return False
    return True
