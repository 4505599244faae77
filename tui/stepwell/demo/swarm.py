"""A swarm of three: triage hands two orders over, and agents a and b work on them at the same time."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import stepwell
from stepwell.demo import model, shop
from stepwell.demo.agent import shown
from stepwell.demo.model import Call, Message, Say

TICKET = "order 8102 and order 8177 arrived broken, please pay them back. (customer 57)"
ORDERS = {"a": 8102, "b": 8177}
ANSWER_SECONDS = 0.02


async def work(run: stepwell.Run) -> str:
    """Work on the ticket; triage's last word."""
    first_done = asyncio.Event()
    triage = run.agent("triage")
    messages = _prompt("You split tickets by order and hand them over.", TICKET)

    async def delegate(agent: str, order: int) -> str:
        return await _refund(run.agent(agent), order, first_done, waits=agent == "a")

    async def ask(*, model: str, messages: list[Message], seed: int) -> dict[str, Any]:
        return await _answer(_triage_script(messages), model, messages, seed)

    reply = await triage.llm(ask, model=model.NAME, messages=messages, seed=1)
    await triage.tool(get_customer, **_arguments(reply))
    await triage.astate({"customer": 57, "open": list(ORDERS.values())})
    handed = [triage.tool(delegate, agent=agent, order=order) for agent, order in ORDERS.items()]
    messages += [{"role": "user", "content": text} for text in await asyncio.gather(*handed)]
    await triage.astate({"customer": 57, "open": []})
    reply = await triage.llm(ask, model=model.NAME, messages=messages, seed=1)
    return str(reply["choices"][0]["message"]["content"])


async def _refund(run: stepwell.Run, order: int, first_done: asyncio.Event, *, waits: bool) -> str:
    """One agent's part. The model of the one that `waits` thinks until the other is done."""
    total = next(row["total"] for row in shop.ORDERS if row["id"] == order)
    script: Sequence[Call | Say] = (
        Call("search_orders", {"query": str(order), "limit": 5}),
        Call("refund_order", {"order": order, "amount": total}),
        Say(f"Refunded order {order}."),
    )
    messages = _prompt("You refund one order.", f"Refund order {order}.")

    async def ask(*, model: str, messages: list[Message], seed: int) -> dict[str, Any]:
        turn = sum(message["role"] == "assistant" for message in messages)
        if waits and turn == 0:
            await first_done.wait()
        return await _answer(script[turn], model, messages, seed)

    while True:
        reply = await run.llm(ask, model=model.NAME, messages=messages, seed=order)
        message = reply["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            break
        call = message["tool_calls"][0]
        result = await run.tool(TOOLS[call["function"]["name"]], **_arguments(reply))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": shown(result)})
    await run.astate({"refunded": [order], "total": total})
    first_done.set()
    return str(message["content"])


def _triage_script(messages: list[Message]) -> Call | Say:
    if len(messages) == 2:
        return Call("get_customer", {"customer": 57})
    return Say("Both orders are refunded.")


async def _answer(answer: Call | Say, name: str, messages: list[Message], seed: int) -> dict[str, Any]:
    await asyncio.sleep(ANSWER_SECONDS)
    return model.completion(answer, model=name, messages=messages, seed=seed)


def _prompt(system: str, user: str) -> list[Message]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _arguments(reply: dict[str, Any]) -> dict[str, Any]:
    function = reply["choices"][0]["message"]["tool_calls"][0]["function"]
    arguments: dict[str, Any] = json.loads(function["arguments"])
    return arguments


async def get_customer(customer: int) -> dict[str, Any]:
    """Who a customer is."""
    await asyncio.sleep(0.004)
    return shop.CUSTOMERS[customer]


async def search_orders(query: str, limit: int) -> list[shop.Order]:
    """Orders that hold a word of `query`."""
    await asyncio.sleep(0.006)
    return shop.find_orders(query, limit)


async def refund_order(order: int, amount: float) -> dict[str, Any]:
    """Pay `amount` back."""
    await asyncio.sleep(0.005)
    return {"order": order, "refunded": amount, "reference": f"R-{order}"}


TOOLS: Mapping[str, Callable[..., Awaitable[Any]]] = {
    tool.__name__: tool for tool in (search_orders, refund_order)
}
