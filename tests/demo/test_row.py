"""The demo's second story: a run that failed over a row which another process changed meanwhile, and changed back."""

import psycopg
import pytest

from stepwell.core.past import Answer, Certainty
from stepwell.core.steps import RunHead
from stepwell.core.world import Moment
from stepwell.demo import approval
from stepwell.demo.model import Call, Say
from stepwell.replay import Replayer
from tests.demo.stories import letters, story

STATUS = "SELECT status FROM orders WHERE id = 8244"


@pytest.fixture
def head(demo_dsn: str) -> RunHead:
    return story(demo_dsn, "approval")


def rows(answer: Answer) -> list[tuple[str | None, ...]]:
    """Of what was read, which all has to be of then, exactly."""
    assert [(seen.how, seen.verdict and seen.verdict.certainty) for seen in answer.seen] == [
        ("past", Certainty.EXACT)
    ]
    return list(answer.rows.rows)


def test_the_refund_is_refused_for_a_reason_that_neither_the_run_nor_the_table_shows(
    demo_dsn: str, head: RunHead, replayer: Replayer
) -> None:
    assert (head.name, head.status, head.steps) == ("refund-approval", "failed", 8)
    assert head.error is not None
    assert head.error.endswith("RefundError: order 8244 is not paid")
    assert letters(replayer) == "ltsltslt"
    read, refund = replayer.payload(2), replayer.payload(8)
    assert '"status": "paid"' in (read.output or "")
    assert refund.output is None
    with psycopg.connect(demo_dsn) as connection:
        today = connection.execute("SELECT status FROM stepwell_demo.orders WHERE id = 8244").fetchone()
    assert today == ("paid",)


def test_the_row_is_as_it_was_at_each_step(replayer: Replayer) -> None:
    assert [
        (number, moment.value, rows(replayer.query(number, moment, STATUS, limit=2)))
        for number, moment in (
            (2, Moment.AFTER),
            (5, Moment.ASKED),
            (5, Moment.AFTER),
            (8, Moment.ASKED),
            (8, Moment.AFTER),
        )
    ] == [
        (2, "after", [("paid",)]),
        (5, "asked", [("paid",)]),
        (5, "after", [("on hold",)]),
        (8, "asked", [("on hold",)]),
        (8, "after", [("on hold",)]),
    ]


def test_the_step_in_which_it_changed_says_who_changed_it(replayer: Replayer) -> None:
    changed = {
        number: [
            (
                table.table.name,
                change.old and change.old[2],
                change.new and change.new[2],
                change.who,
                change.mine,
            )
            for table in replayer.changes(number).tables
            for change in table.changes
        ]
        for number in range(1, 9)
    }
    assert changed.pop(5) == [
        ("orders", "paid", "on hold", "warehouse-sync", False),
        ("refunds", None, "89.50", "refund-approval", True),
    ]
    assert set(map(len, changed.values())) == {0}


def test_the_model_asks_a_person_only_for_an_order_that_it_has_read_as_paid() -> None:
    def prompt(*results: str) -> list[dict[str, str]]:
        return [{"role": "tool", "content": result} for result in results]

    order = '{"id": 8244, "status": "%s", "total": 89.5}'
    assert approval.decide(prompt()) == Call("read_order", {"order": 8244})
    asked = approval.decide(prompt(order % "paid"))
    assert asked == Call("ask_approval", {"order": 8244, "amount": 89.5})
    assert isinstance(approval.decide(prompt(order % "on hold")), Say)
    assert approval.decide(prompt(order % "paid", "{}", "{}")) == Say("Refunded 89.50 for order 8244.")
