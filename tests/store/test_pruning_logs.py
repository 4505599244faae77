"""From the logs of watched tables goes what no recorded step asks for, and who looks back meanwhile sees the same."""

import itertools
import threading
from collections.abc import Iterator

import psycopg
import pytest

from stepwell.core.past import Certainty, Instant
from stepwell.errors import DatabaseError
from stepwell.store import pruning_logs
from stepwell.store.connect import connect, resolve
from stepwell.store.pruning_logs import PrunedLog, not_allowed, prunable_logs, prune_logs
from stepwell.store.watching import watch
from tests.asof.siege import besiege
from tests.store.rows import add_run, run_id
from tests.store.test_roles import grant_roles, login
from tests.store.watching import Connection, instant, past


@pytest.fixture
def shop(schema_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """The owner of a watched table of a few rows; a batch deletes no more than three entries."""
    monkeypatch.setattr(pruning_logs, "MOST_ENTRIES", 3)
    monkeypatch.setattr(pruning_logs, "PAUSE", 0)
    grant_roles(schema_dsn)
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE stock (id int PRIMARY KEY, n int)")
        watch(connection, "stock")
        yield connection


def history(shop: Connection, days: int) -> list[tuple[Instant, list[tuple[object, ...]]]]:
    """Some days of work, and what the table was after each."""
    seen = []
    for day in range(days):
        shop.execute("INSERT INTO stock SELECT coalesce(max(id), 0) + 1, 0 FROM stock")
        shop.execute("UPDATE stock SET n = n + 1 WHERE id %% 2 = %s", (day % 2,))
        if day % 3 == 2:
            shop.execute("UPDATE stock SET id = -id WHERE id = (SELECT max(id) FROM stock)")
            shop.execute("DELETE FROM stock WHERE id = (SELECT min(id) FROM stock)")
        seen.append((instant(shop), shop.execute("SELECT * FROM stock ORDER BY 1").fetchall()))
    return seen


def run_from(dsn: str, number: int, at: Instant | None) -> None:
    """A run that began then."""
    add_run(dsn, run_id(number), status="ok", snapshot=at and at.snapshot)


def entries(shop: Connection) -> int:
    row = shop.execute("SELECT count(*) FROM stepwell_log.t1").fetchone()
    assert row is not None
    return int(str(row[0]))


def compare(
    shop: Connection, seen: list[tuple[Instant, list[tuple[object, ...]]]], kept: int, *, pruned: bool
) -> None:
    for day, (at, rows) in enumerate(seen):
        certainty, why, found = past(shop, at, "stock")
        if day >= kept or not pruned:
            assert (certainty, found) == (Certainty.EXACT, rows)
        else:
            assert (certainty, "pruned" in why) == (Certainty.UNKNOWN, True)


def test_what_is_asked_for_stays_exact_before_while_and_after(shop: Connection, schema_dsn: str) -> None:
    seen = history(shop, 12)
    run_from(schema_dsn, 1, seen[5][0])
    run_from(schema_dsn, 2, seen[9][0])
    run_from(schema_dsn, 3, None)
    add_run(
        schema_dsn, run_id(4), status="ok", snapshot=seen[0][0].snapshot, system_identifier=1
    )  # another server's
    compare(shop, seen, 5, pruned=False)
    with connect(resolve(schema_dsn)) as connection:
        expected = sum(log.entries for log in prunable_logs(connection))
        before = entries(shop)
        done = 0
        for log in prune_logs(connection):
            compare(shop, seen, 5, pruned=True)
            assert (log.schema, log.name) == ("public", "stock")
            done += log.entries
        assert (done, entries(shop)) == (expected, before - expected)
        assert done > 3
        compare(shop, seen, 5, pruned=True)
        assert list(prune_logs(connection)) == prunable_logs(connection) == []


def test_what_a_transaction_wrote_that_is_under_way_stays(shop: Connection, schema_dsn: str) -> None:
    history(shop, 3)
    with psycopg.connect(schema_dsn) as writer:
        writer.execute("UPDATE stock SET n = 9")
        shop.execute("INSERT INTO stock VALUES (100, 1)")  # begun later, and over before
        at = instant(shop)
        rows = shop.execute("SELECT * FROM stock ORDER BY 1").fetchall()
        with connect(resolve(schema_dsn)) as connection:
            list(prune_logs(connection))
        assert past(shop, at, "stock") == (Certainty.EXACT, "", rows)
        writer.commit()
        with connect(resolve(schema_dsn)) as connection:
            assert list(prune_logs(connection))  # nobody asks for it by now
        assert past(shop, at, "stock")[0] is Certainty.UNKNOWN


def test_two_at_once_delete_each_entry_once(shop: Connection, schema_dsn: str) -> None:
    seen = history(shop, 12)
    run_from(schema_dsn, 1, seen[8][0])
    with connect(resolve(schema_dsn)) as one, connect(resolve(schema_dsn)) as two:
        expected = prunable_logs(one)[0].entries
        turns = itertools.zip_longest(prune_logs(one), prune_logs(two))
        done = sum(log.entries for pair in turns for log in pair if log)
    assert done == expected
    compare(shop, seen, 8, pruned=True)


def test_an_interruption_leaves_what_is_told_exact_and_the_rest_for_the_next_time(
    shop: Connection, schema_dsn: str
) -> None:
    seen = history(shop, 12)
    run_from(schema_dsn, 1, seen[8][0])
    with connect(resolve(schema_dsn)) as connection:
        expected = prunable_logs(connection)[0].entries
        first = next(prune_logs(connection)).entries
        compare(shop, seen, 8, pruned=True)
        assert first + sum(log.entries for log in prune_logs(connection)) == expected
    compare(shop, seen, 8, pruned=True)


def test_old_shapes_and_losses_go_but_those_that_tell_since_when_and_what_was(
    shop: Connection, schema_dsn: str
) -> None:
    first = instant(shop)
    shop.execute("SELECT stepwell_log.lose('stock'::regclass, 'a loss')")
    for _ in range(4):
        shop.execute("TRUNCATE stock")
    at = instant(shop)
    shop.execute("INSERT INTO stock VALUES (1, 1)")
    run_from(schema_dsn, 1, at)
    with connect(resolve(schema_dsn)) as connection:
        list(prune_logs(connection))
    assert shop.execute("SELECT why FROM stepwell_log.shapes ORDER BY id").fetchall() == [
        ("watched",),
        ("after truncate",),
    ]
    assert shop.execute("SELECT count(*) FROM stepwell_log.losses").fetchone() == (0,)
    assert past(shop, at, "stock") == (Certainty.EXACT, "", [])
    certainty, why, _ = past(shop, first, "stock")
    assert (certainty, "pruned" in why) == (Certainty.UNKNOWN, True)


def test_a_pruner_may_do_it_and_see_nothing(shop: Connection, schema_dsn: str, server: str) -> None:
    seen = history(shop, 6)
    run_from(schema_dsn, 1, seen[4][0])
    with login(server, schema_dsn, "stepwell_pruner") as conninfo, connect(resolve(conninfo)) as connection:
        assert not_allowed(connection) == []
        assert prunable_logs(connection)[0].entries == sum(log.entries for log in prune_logs(connection))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT a2 FROM stepwell_log.t1")
    compare(shop, seen, 4, pruned=True)


def test_who_may_not_prune_leaves_the_log_alone(shop: Connection, schema_dsn: str, server: str) -> None:
    history(shop, 3)
    with login(server, schema_dsn, "stepwell_debugger") as conninfo, connect(resolve(conninfo)) as connection:
        assert not_allowed(connection) == [("public", "stock")]
        assert list(prune_logs(connection)) == []


def test_the_roles_are_granted_what_there_is_although_a_log_is_gone(
    shop: Connection, schema_dsn: str
) -> None:
    shop.execute("DROP TABLE stepwell_log.t1; CREATE TABLE goods (id int PRIMARY KEY)")
    watch(shop, "goods")
    shop.execute("REVOKE DELETE ON stepwell_log.t2 FROM stepwell_pruner")
    grant_roles(schema_dsn)
    may = shop.execute("SELECT has_table_privilege('stepwell_pruner', 'stepwell_log.t2', 'DELETE')")
    assert may.fetchone() == (True,)


def test_runs_of_another_schema_are_asked_too(shop: Connection, schema_dsn: str, server: str) -> None:
    seen = history(shop, 9)
    run_from(schema_dsn, 1, seen[7][0])
    shop.execute("CREATE SCHEMA other; CREATE TABLE other.agent_runs (LIKE public.agent_runs)")
    shop.execute("INSERT INTO other.agent_runs SELECT * FROM agent_runs")
    shop.execute("UPDATE other.agent_runs SET snapshot = %s", (seen[2][0].snapshot,))
    with connect(resolve(schema_dsn)) as connection:
        list(prune_logs(connection))
    compare(shop, seen, 2, pruned=True)
    with (
        login(server, schema_dsn, "stepwell_pruner") as conninfo,
        connect(resolve(conninfo)) as connection,
        pytest.raises(DatabaseError, match=r"may not read other\.agent_runs.*the logs stay"),
    ):
        list(prune_logs(connection))


def test_where_no_table_is_watched_no_run_is_asked(schema_dsn: str, server: str) -> None:
    grant_roles(schema_dsn)
    with psycopg.connect(schema_dsn) as owner:
        owner.execute("CREATE SCHEMA other; CREATE TABLE other.agent_runs (LIKE public.agent_runs)")
    with login(server, schema_dsn, "stepwell_pruner") as conninfo, connect(resolve(conninfo)) as connection:
        assert prunable_logs(connection) == list(prune_logs(connection)) == []


def test_what_would_go_is_what_goes_once_the_runs_are_deleted(shop: Connection, schema_dsn: str) -> None:
    seen = history(shop, 9)
    for number, day in ((1, 2), (2, 5)):
        run_from(schema_dsn, number, seen[day][0])
    with connect(resolve(schema_dsn)) as connection:
        early = prunable_logs(connection)[0].entries
        (would,) = prunable_logs(connection, [run_id(1)])
        assert would.entries > early
        shop.execute("CREATE SCHEMA other; CREATE TABLE other.agent_runs (LIKE public.agent_runs)")
        shop.execute("INSERT INTO other.agent_runs SELECT * FROM agent_runs")
        assert prunable_logs(connection, [run_id(1)])[0].entries == early
        shop.execute("DROP TABLE other.agent_runs")
        shop.execute("DELETE FROM agent_runs WHERE run_id = %s", [run_id(1)])
        assert sum(log.entries for log in prune_logs(connection)) == would.entries


def test_where_no_runs_tell_of_snapshots_all_stays(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE stock (id int PRIMARY KEY, n int)")
        watch(connection, "stock")
        history(connection, 3)
        assert list(prune_logs(connection)) == []


@pytest.mark.long
def test_nothing_wrong_is_called_exact_where_logs_are_pruned_while_hostile_writers_go_on(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning_logs, "MOST_ENTRIES", 40)
    stop = threading.Event()
    gone: list[PrunedLog] = []

    def prune() -> None:
        """Runs begin and are deleted: ever younger ones are the oldest that are left."""
        with connect(resolve(dsn)) as connection:
            connection.execute("CREATE TABLE agent_runs (snapshot pg_snapshot, system_identifier bigint)")
            for _ in range(16):
                connection.execute("INSERT INTO agent_runs VALUES (pg_current_snapshot())")
                connection.execute(
                    "DELETE FROM agent_runs WHERE ctid NOT IN (SELECT max(ctid) FROM agent_runs) AND random() < 0.5"
                )
                gone.extend(prune_logs(connection))
                if stop.wait(0.5):
                    return

    pruner = threading.Thread(target=prune)
    pruner.start()
    try:
        outcome = besiege(dsn, seed=11, snapshots=150)
    finally:
        stop.set()
        pruner.join()
    assert not outcome.tally.faults, outcome.tally.faults[:5]
    assert not outcome.unfolded
    assert sum(log.entries for log in gone) > 0
    assert sum(outcome.tally.compared.values()) > sum(outcome.tally.inexact.values()) > 0
