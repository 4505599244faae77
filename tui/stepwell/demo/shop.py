"""The lamp shop: its customers, its orders, and the tools through which the agent reaches them."""

import time
from collections.abc import Callable, Mapping
from typing import Any

Order = dict[str, Any]

CUSTOMERS: Mapping[int, dict[str, Any]] = {
    42: {"customer": 42, "name": "Ada Lindqvist", "email": "ada@example.org", "since": 2019},
    57: {"customer": 57, "name": "Noor Haddad", "email": "noor@example.org", "since": 2023},
}

_FIRST_IDS = (8102, 8177, 8203, 8210, 8230, 8244, 8259, 8270)
_ITEMS = ("lamp", "lamp", "desk", "lamp", "chair", "lamp", "shelf")
_NOTES = (
    "Customer writes that the shade arrived broken; photo of the carton asked for.",
    "Lamp left with a neighbour in order not to leave it in the rain, signed for.",
    "Packed with lamp 2 of 3; the carton was opened and closed again at customs.",
)


def _orders() -> list[Order]:
    """Fifty orders, oldest first; 8841, the broken lamp of the ticket, is the thirty-first."""
    ids = [*_FIRST_IDS, *range(8290, 8290 + 22 * 24, 24), 8841, *range(8850, 8850 + 19 * 9, 9)]
    return [
        {
            "id": number,
            "item": "lamp" if number == 8841 else _ITEMS[index % len(_ITEMS)],
            "status": "no" if index % 7 == 3 else "ok",
            "placed": f"2025-{1 + index // 5:02}-{1 + index * 11 % 28:02}T09:{index:02}:00Z",
            "total": 39.5 + index % 9 * 10,
            "carrier": ("parcelway", "northpost")[index % 2],
            "ship_to": f"{index + 10} Harbour Street, Kalmar",
            "note": _NOTES[index % len(_NOTES)],
        }
        for index, number in enumerate(ids)
    ]


ORDERS = _orders()


def get_customer(customer: int) -> dict[str, Any]:
    """Who a customer is. Raises KeyError for one that the shop does not know."""
    time.sleep(0.004)
    return CUSTOMERS[customer]


def search_orders(query: str, limit: int) -> list[Order]:
    """The oldest `limit` orders that hold any word of `query`."""
    time.sleep(0.006)
    return find_orders(query, limit)


def find_orders(query: str, limit: int) -> list[Order]:
    words = query.lower().split()
    return [order for order in ORDERS if any(word in str(order).lower() for word in words)][:limit]


def fetch_policy(kind: str) -> str:
    """What the shop's handbook says."""
    time.sleep(0.004)
    return {
        "refund": "Broken on arrival: refund in full. Above 100.00 in all, tell the customer by e-mail.",
    }[kind]


def refund_order(order: int, amount: float) -> dict[str, Any]:
    """Pay `amount` back."""
    time.sleep(0.005)
    return {"order": order, "refunded": amount, "reference": f"R-{order}"}


def send_email(to: str, subject: str, body: str) -> dict[str, Any]:  # noqa: ARG001 - nothing is really sent
    """Tell the customer."""
    time.sleep(0.005)
    return {"queued": True, "to": to, "subject": subject}


TOOLS: Mapping[str, Callable[..., Any]] = {
    tool.__name__: tool for tool in (get_customer, search_orders, fetch_policy, refund_order, send_email)
}
