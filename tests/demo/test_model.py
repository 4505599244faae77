"""The scripted model answers from its prompt, so that an edited prompt gets another answer."""

import json
from typing import Any

from stepwell.demo import model, shop
from stepwell.demo.agent import shown
from stepwell.demo.model import Call, Say, decide

TICKET = "My lamp from order 8841 arrived broken. (customer 42)"


def prompt(*calls: tuple[str, dict[str, Any], str]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": ""}, {"role": "user", "content": TICKET}]
    for name, arguments, result in calls:
        function = {"name": name, "arguments": json.dumps(arguments)}
        messages.append({"role": "assistant", "tool_calls": [{"id": "c", "function": function}]})
        messages.append({"role": "tool", "tool_call_id": "c", "content": result})
    return messages


CUSTOMER = ("get_customer", {"customer": 42}, json.dumps(shop.CUSTOMERS[42]))
SEARCH: dict[str, Any] = {"query": "broken lamp order 8841", "limit": 50}


def test_it_asks_again_for_an_order_that_was_cut_off() -> None:
    found = shown(shop.find_orders(**SEARCH))
    assert decide(prompt(CUSTOMER, ("search_orders", SEARCH, found))) == Call("search_orders", SEARCH)


def test_it_refunds_an_order_that_it_is_shown() -> None:
    found = json.dumps(shop.find_orders(**SEARCH))
    answer = decide(prompt(CUSTOMER, ("search_orders", SEARCH, found)))
    assert answer == Call("refund_order", {"order": 8841, "amount": 69.5})


def test_it_ends_when_the_customer_is_told() -> None:
    found = json.dumps(shop.find_orders(**SEARCH))
    done = ("refund_order", {"order": 8841, "amount": 69.5}, "{}")
    told = ("send_email", {"to": "ada@example.org"}, "{}")
    answer = decide(prompt(CUSTOMER, ("search_orders", SEARCH, found), done, told))
    assert answer == Say("Refunded 69.50 for order 8841 and told the customer.")


def test_its_reply_has_the_shape_of_a_chat_completion() -> None:
    reply = model.complete(model="m", messages=prompt(), seed=7)
    assert reply["object"] == "chat.completion"
    assert reply["choices"][0]["finish_reason"] == "tool_calls"
    assert reply["usage"]["total_tokens"] == sum(
        reply["usage"][name] for name in ("prompt_tokens", "completion_tokens")
    )
    assert reply == model.complete(model="m", messages=prompt(), seed=7)
