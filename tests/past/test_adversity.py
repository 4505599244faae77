"""Whatever becomes of a watched table while somebody reads its past: it is refused, or told with the right verdict."""

from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stepwell.core.past import Answer, Certainty, Verdict
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError, StatementError
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from stepwell.store.migrate import migrate
from stepwell.store.pruning_logs import prune_logs
from stepwell.store.watching import unwatch, watch
from tests.asof.looking import look_back
from tests.conftest import Standby, create_database, drop_database
from tests.past.asking import ALL, FIRST, SLEEPING, WAITING, ask, asking, is_right, verdict
from tests.past.recorded import Connection, Recorded, record
from tests.store.conftest import wait_until
from tests.store.test_roles import grant_roles, login


def test_a_table_that_is_dropped_between_two_moves(replayer: Replayer, owner: Connection) -> None:
    assert is_right(ask(replayer))
    owner.execute("DROP TABLE orders")
    with pytest.raises(StatementError, match="orders"):
        ask(replayer)
    assert verdict(ask(replayer, "SELECT * FROM items"), "orders") == Verdict(
        Certainty.UNKNOWN, "the table was dropped"
    )
    assert ask(replayer, "SELECT count(*) FROM items").rows.rows == (("3",),)
    replayer.at(2)
    (orders,) = [table for table in replayer.changes(2).tables if table.table.name == "orders"]
    assert orders.changes == ()


def test_unwatching_waits_for_who_reads_and_gives_up(replayer: Replayer, owner: Connection) -> None:
    with asking(replayer, "SELECT id, status, qty FROM orders, pg_sleep(1.5) ORDER BY id") as found:
        wait_until(lambda: owner.execute(SLEEPING).fetchone() == (1,))
        with pytest.raises(DatabaseError, match=r"orders is in use .* nothing was changed"):
            unwatch(owner, "orders")
    (answer,) = found
    assert isinstance(answer, Answer)
    assert list(answer.rows.rows) == FIRST
    assert verdict(answer) == Verdict(Certainty.EXACT)
    unwatch(owner, "orders")
    assert [table.name for table in ask(replayer).tables] == ["items"]
    watch(owner, "orders")
    assert verdict(ask(replayer)).certainty is Certainty.UNKNOWN


def test_reading_while_it_is_unwatched(replayer: Replayer, owner: Connection) -> None:
    """Its view goes while somebody has it in hand: refused, or today's rows, which nobody calls the past."""
    owner.execute("BEGIN")
    unwatch(owner, "orders")
    with asking(replayer) as found:
        wait_until(lambda: owner.execute(WAITING).fetchone() == (1,))
        owner.execute("COMMIT")
    (answer,) = found
    if isinstance(answer, Answer):
        worth = [table.verdict.certainty for table in answer.tables if table.name == "orders"]
        assert list(answer.rows.rows) == FIRST or worth in ([], [Certainty.UNKNOWN])


def test_a_role_that_loses_its_rights_in_mid_session(
    server: str, schema_dsn: str, recorded: Recorded, owner: Connection
) -> None:
    grant_roles(schema_dsn)
    with login(server, schema_dsn, "stepwell_debugger") as conninfo:
        owner.execute("GRANT SELECT ON orders, items TO stepwell_debugger")
        for table in ("orders", "items"):
            watch(owner, table)
        with closing(Replayer(resolve(conninfo), recorded.run)) as replayer:
            assert verdict(ask(replayer)) == Verdict(Certainty.EXACT)
            owner.execute("REVOKE ALL ON ALL TABLES IN SCHEMA stepwell_log FROM stepwell_debugger")
            answer = ask(replayer)
            assert verdict(answer) == Verdict(Certainty.UNKNOWN, "this role may not read its log")
            assert list(answer.rows.rows) != FIRST
            owner.execute("REVOKE ALL ON orders FROM stepwell_debugger")
            with pytest.raises(StatementError, match="permission denied for table orders"):
                ask(replayer)
            assert verdict(ask(replayer, "SELECT 1")) == Verdict(
                Certainty.UNKNOWN, "this role may not read the table"
            )
            assert replayer.changes(2).tables[1].changes == ()
            replayer.at(2)
            owner.execute("REVOKE ALL ON agent_steps FROM stepwell_debugger")
            with pytest.raises(DatabaseError, match="permission denied"):
                replayer.at(1)
            owner.execute("DROP OWNED BY stepwell_debugger")


def test_a_run_that_does_not_say_which_server_it_is_of(replayer: Replayer, owner: Connection) -> None:
    owner.execute("UPDATE agent_runs SET system_identifier = NULL, timeline = NULL")
    answer = ask(replayer)
    assert list(answer.rows.rows) == FIRST
    assert verdict(answer).certainty is Certainty.UNCERTAIN


def test_on_a_standby_the_past_is_what_it_is_on_the_primary(standby: Standby) -> None:
    """And its level is told: there is no other there."""
    primary = standby.primary.conninfo("postgres")
    dsn = create_database(primary)
    try:
        migrate(dsn)
        recorded = record(dsn)
        with psycopg.connect(dsn, autocommit=True) as owner:
            owner.execute("DELETE FROM orders WHERE id > 10; UPDATE orders SET qty = 7, id = id + 100")
        standby.catch_up()
        there = make_conninfo(
            standby.replica.conninfo("postgres"), dbname=str(conninfo_to_dict(dsn)["dbname"])
        )
        with (
            closing(Replayer(resolve(dsn), recorded.run)) as one,
            closing(Replayer(resolve(there), recorded.run)) as two,
        ):
            for number in (1, 2, 3):
                here, beyond = (each.query(number, Moment.AFTER, ALL) for each in (one, two))
                assert here.rows == beyond.rows
                assert (here.tables, verdict(here)) == (beyond.tables, Verdict(Certainty.EXACT))
                assert one.changes(number).tables == two.changes(number).tables
            assert list(ask(two).rows.rows) == FIRST
            with psycopg.connect(dsn) as owner:  # as if they were from before a fail-over
                owner.execute("UPDATE agent_runs SET timeline = timeline - 1")
            standby.catch_up()
            assert {verdict(ask(each)).certainty for each in (one, two)} == {Certainty.UNCERTAIN}
            assert (ask(two).replay.isolation, ask(two).replay.notes) == (
                "REPEATABLE READ READ ONLY",
                ("standby",),
            )
    finally:
        drop_database(primary, dsn)


def test_what_is_pruned_meanwhile_is_still_there_for_who_is_reading(
    schema_dsn: str, recorded: Recorded, owner: Connection
) -> None:
    with psycopg.connect(schema_dsn, prepare_threshold=None) as reader:
        reader.isolation_level, reader.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        look_back(reader, recorded.instants[1], None)
        owner.execute("DELETE FROM agent_steps; DELETE FROM agent_runs")
        assert sum(log.entries for log in prune_logs(owner)) > 0
        rows = reader.execute("SELECT id::text, status, qty::text FROM orders ORDER BY orders.id").fetchall()
        assert rows == FIRST
        reader.rollback()
        tables = look_back(reader, recorded.instants[1], None)
        assert {table.verdict for table in tables} == {
            Verdict(Certainty.UNKNOWN, "its log of then was pruned")
        }
