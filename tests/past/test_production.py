"""A debugger that steps and asks without pause does no harm to a production whose tables are watched."""

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell.core.world import Moment
from stepwell.errors import DatabaseError
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.asof.looking import look_back
from tests.past.asking import SLEEPING, WAITING, asking
from tests.past.production import FOUND, Day, Found, Watcher, debugging, set_up, work_day
from tests.past.recorded import Connection, Recorded
from tests.pooler import pooler
from tests.replay.test_harmless import is_refused, serializable
from tests.store.conftest import wait_until


def live(dsn: str, folder: Path, seconds: int) -> tuple[Found, Day, Watcher]:
    """What a session is like that nobody else has had, and what came of a day."""
    run = set_up(dsn)
    with psycopg.connect(dsn) as fresh:
        (untouched,) = fresh.execute(FOUND).fetchall()
    with pooler(dsn, folder, size=6) as pooled, debugging(dsn, pooled, run) as seen:
        return untouched, work_day(dsn, pooled, seconds), seen


def assert_harmless(untouched: Found, day: Day, seen: Watcher) -> None:
    assert day.faults == []
    assert day.failed == 0
    assert day.found == {untouched}
    assert seen.other == []
    assert all("is locked by shop" in why for why in seen.refused)
    assert min(work.done for work in day.work.values()) > 0
    assert min(seen.moves, seen.answers) > 0


def test_nobody_fails_or_finds_a_trace_beside_a_debugger_in_the_same_pool(
    schema_dsn: str, short_folder: Path
) -> None:
    assert_harmless(*live(schema_dsn, short_folder, 1))


@pytest.mark.long
def test_nobody_fails_in_a_longer_time(schema_dsn: str, short_folder: Path) -> None:
    assert_harmless(*live(schema_dsn, short_folder, 30))


def carelessly(dsn: str, recorded: Recorded, _: Replayer) -> None:
    """As a debugger would do harm: serializable, and not deferrable."""
    with psycopg.connect(dsn) as connection:
        connection.isolation_level, connection.read_only = psycopg.IsolationLevel.SERIALIZABLE, True
        look_back(connection, recorded.instants[1], None)
        connection.execute("SELECT * FROM items, orders").fetchall()


def by_query(_: str, __: Recorded, replayer: Replayer) -> None:
    answer = replayer.query(1, Moment.AFTER, "SELECT * FROM items, orders")
    assert answer.replay.notes[0].startswith("no safe snapshot in 1000 ms")


def by_changes(_: str, __: Recorded, replayer: Replayer) -> None:
    assert replayer.changes(1).replay.notes[0].startswith("no safe snapshot in 1000 ms")


@pytest.mark.parametrize(
    ("look", "fails"),
    [(carelessly, True), (by_query, False), pytest.param(by_changes, False, marks=pytest.mark.long)],
)
def test_a_reader_of_the_past_between_two_writers_makes_none_of_them_fail(
    schema_dsn: str,
    recorded: Recorded,
    replayer: Replayer,
    look: Callable[[str, Recorded, Replayer], None],
    fails: bool,
) -> None:
    """The anomaly that only a reader completes: without one both writers commit, whatever the order."""
    with serializable(schema_dsn) as first, serializable(schema_dsn) as second:
        first.execute("SELECT * FROM items").fetchall()
        second.execute("UPDATE items SET name = 'light' WHERE number = 1")
        second.commit()
        look(schema_dsn, recorded, replayer)
        assert is_refused(first, "UPDATE orders SET qty = 1 WHERE id = 1") is fails


def test_who_waits_behind_a_statement_at_a_step_waits_as_long_as_that_may_run(
    schema_dsn: str, recorded: Recorded, owner: Connection
) -> None:
    """An ALTER TABLE waits for it, and who writes for that; the server ends it, after 30 s or the role's own limit."""
    limited = make_conninfo(schema_dsn, options="-c statement_timeout=1500")
    altered = threading.Thread(target=lambda: owner.execute("ALTER TABLE orders ADD COLUMN later int"))
    with (
        closing(Replayer(resolve(limited), recorded.run)) as replayer,
        psycopg.connect(schema_dsn, autocommit=True) as other,
        asking(replayer, "SELECT count(*) FROM orders, pg_sleep(60)") as found,
    ):
        wait_until(lambda: other.execute(SLEEPING).fetchone() == (1,))
        altered.start()
        wait_until(lambda: other.execute(WAITING).fetchone() == (1,))
        assert other.execute("UPDATE orders SET qty = 1 WHERE id = 1").rowcount == 1
    altered.join()
    (refused,) = found
    assert isinstance(refused, DatabaseError)
    assert "timeout" in str(refused)
