"""What changes a table between the snapshot of who reads its past and the read itself is never taken for the past."""

import threading

import pytest

from stepwell.core.past import Answer, Certainty, Verdict
from stepwell.errors import DatabaseError
from stepwell.replay import Replayer
from tests.past.asking import WAITING, ask, asking, is_right, verdict
from tests.past.recorded import Connection
from tests.store.conftest import wait_until


@pytest.mark.parametrize(
    "act",
    [
        "TRUNCATE orders",
        "ALTER TABLE orders ALTER qty TYPE bigint",
        pytest.param(
            "ALTER TABLE orders ADD COLUMN added int DEFAULT random() * 100", marks=pytest.mark.long
        ),
        pytest.param(
            "DROP TABLE orders; CREATE TABLE orders (id int PRIMARY KEY, status text, qty int)",
            marks=pytest.mark.long,
        ),
        "ALTER TABLE orders RENAME TO old_orders; CREATE TABLE orders (id int PRIMARY KEY, status text, qty int)",
    ],
)
def test_what_is_done_after_the_snapshot_and_before_the_read_is_told(
    replayer: Replayer, owner: Connection, act: str
) -> None:
    """The snapshot is older than the act, which a snapshot does not protect from."""
    assert verdict(ask(replayer)) == Verdict(Certainty.EXACT)
    owner.execute("BEGIN")
    owner.execute(act.encode())
    with asking(replayer) as found:
        wait_until(lambda: owner.execute(WAITING).fetchone() == (1,))
        owner.execute("COMMIT")
    (answer,) = found
    assert not isinstance(answer, Answer) or is_right(answer)


def test_changes_say_so_too(replayer: Replayer, owner: Connection) -> None:
    owner.execute("BEGIN; TRUNCATE orders")
    found = []
    thread = threading.Thread(target=lambda: found.append(replayer.changes(1)))
    thread.start()
    wait_until(lambda: owner.execute(WAITING).fetchone() == (1,))
    owner.execute("COMMIT")
    thread.join()
    (orders,) = [table for table in found[0].tables if table.table.name == "orders"]
    assert orders.table.verdict.certainty is not Certainty.EXACT


def test_who_keeps_the_table_locked_is_named_after_a_second(replayer: Replayer, owner: Connection) -> None:
    owner.execute("SET application_name = 'shop'; BEGIN; ALTER TABLE orders ADD COLUMN later int")
    with pytest.raises(DatabaseError, match=r"orders is locked by shop \(pid \d+\): waited 1 s"):
        ask(replayer)
    owner.execute("ROLLBACK")
    assert is_right(ask(replayer))
