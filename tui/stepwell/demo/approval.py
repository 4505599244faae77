"""An agent that works on the shop's tables: it reads an order, asks a person, and then pays back.

Between its reading and its paying a person thinks, and that is when other programs write. Its fault is of a kind that
is easily made: what it read it takes to be so still.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from psycopg import Connection

from stepwell.demo.model import Call, Message, Say, completion
from stepwell.demo.warehouse import ORDER

NAME = "refund-approval"
TICKET = f"My lamp, order {ORDER}, arrived broken. I would like my money back."
SYSTEM = (
    "You are the refund desk of a lamp shop. Read the order; if it is paid, ask a person to approve the refund, "
    "then refund it."
)
APPROVER = "Mika"


class RefundError(RuntimeError):
    """An order that cannot be paid back."""


def complete(*, model: str, messages: list[Message], seed: int) -> dict[str, Any]:
    """One chat completion; like the other scripted model, it answers from what its prompt holds."""
    time.sleep(0.015)
    return completion(decide(messages), model=model, messages=messages, seed=seed)


def decide(messages: list[Message]) -> Say | Call:
    """What these messages make the model do."""
    results = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
    if not results:
        return Call("read_order", {"order": ORDER})
    order = results[0]
    if order["status"] != "paid":
        return Say(f"Order {order['id']} is {order['status']}, so there is nothing to pay back.")
    if len(results) == 1:
        return Call("ask_approval", {"order": order["id"], "amount": order["total"]})
    if len(results) == 2:
        return Call("refund_order", {"order": order["id"], "amount": order["total"]})
    return Say(f"Refunded {order['total']:.2f} for order {order['id']}.")


class Desk:
    """The tools, over the agent's own connection. `thinking` is what goes by while a person makes up their mind."""

    def __init__(self, connection: Connection[Any], thinking: Callable[[], None]) -> None:
        self._connection = connection
        self._thinking = thinking

    @property
    def tools(self) -> Mapping[str, Callable[..., Any]]:
        return {tool.__name__: tool for tool in (self.read_order, self.ask_approval, self.refund_order)}

    def read_order(self, order: int) -> dict[str, Any]:
        """The order's row. Raises KeyError where there is none."""
        question = "SELECT id, item, status, total::float8 FROM stepwell_demo.orders WHERE id = %s"
        row = self._connection.execute(question, (order,)).fetchone()
        if row is None:
            raise KeyError(order)
        return dict(zip(("id", "item", "status", "total"), row, strict=True))

    def ask_approval(self, order: int, amount: float) -> dict[str, Any]:
        """Ask a person, wait for the answer, and note it."""
        self._thinking()
        self._connection.execute(
            "INSERT INTO stepwell_demo.refunds (order_id, amount, approved_by) VALUES (%s, %s, %s)",
            (order, amount, APPROVER),
        )
        return {"order": order, "approved": True, "by": APPROVER}

    def refund_order(self, order: int, amount: float) -> dict[str, Any]:
        """Pay `amount` back. Raises RefundError for an order that is not paid."""
        done = self._connection.execute(
            "UPDATE stepwell_demo.orders SET status = 'refunded' WHERE id = %s AND status = 'paid'", (order,)
        )
        if done.rowcount == 0:
            raise RefundError(f"order {order} is not paid")
        return {"order": order, "refunded": amount}
