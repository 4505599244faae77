"""Questions at the first step of the run that is recorded, and what their answers are worth."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from stepwell.core.past import Answer, Certainty, Verdict
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError, StatementError
from stepwell.replay import Replayer

ALL = "SELECT * FROM orders ORDER BY id"
FIRST = [("1", "refunded", "0"), *((str(number), "open", "0") for number in range(2, 21))]
"""Orders as they were after the first step."""
WAITING = (
    "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database"
    " WHERE NOT granted AND datname = current_database()"
)
SLEEPING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
)


def ask(replayer: Replayer, text: str = ALL) -> Answer:
    """After the first step."""
    return replayer.query(1, Moment.AFTER, text)


def verdict(answer: Answer, table: str = "orders") -> Verdict:
    """What the statement says of the table that it read, and the list of tables says too."""
    (found,) = [one.verdict for one in answer.tables if one.name == table]
    told = [one.verdict for one in answer.seen if one.verdict is not None and one.name.endswith(table)]
    assert told in ([], [found])
    return found


def is_right(answer: Answer) -> bool:
    """As it was, and called so; or not called so."""
    return verdict(answer).certainty is not Certainty.EXACT or list(answer.rows.rows) == FIRST


@contextmanager
def asking(replayer: Replayer, text: str = ALL) -> Iterator[list[Answer | Exception]]:
    """While it is asked, in a thread; what came of it is there afterwards."""
    found: list[Answer | Exception] = []

    def work() -> None:
        try:
            found.append(ask(replayer, text))
        except (DatabaseError, StatementError) as problem:
            found.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    yield found
    thread.join()
