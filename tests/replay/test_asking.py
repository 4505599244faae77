"""SQL at a step: what a statement gives, and how it ends."""

import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stepwell.core.past import Certainty, Instant, Seen, Verdict
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError, NotFoundError, StatementError
from stepwell.replay import Replayer
from stepwell.store import asking
from stepwell.store.connect import resolve
from stepwell.store.watching import watch
from tests.conftest import Standby
from tests.pooler import pooler
from tests.replay.rows import RUN, add_step, bare_table
from tests.replay.shop import snapshot
from tests.store.conftest import wait_until

EXACT = Verdict(Certainty.EXACT)
SLEEPER = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"


def test_unqualified_names_of_watched_tables_mean_their_rows_of_then(replayer: Replayer) -> None:
    query = "SELECT note FROM orders WHERE id = 1"
    asked, after = (replayer.query(1, moment, query) for moment in (Moment.ASKED, Moment.AFTER))
    assert (asked.rows.rows, after.rows.rows) == ((("note 1",),), (("new",),))
    assert asked.seen == after.seen == (Seen("orders", "past", EXACT),)
    assert [(table.name, table.verdict) for table in asked.tables] == [("orders", EXACT), ("parts", EXACT)]
    assert asked.replay.isolation == "SERIALIZABLE READ ONLY DEFERRABLE"
    assert asked.replay.rolled_back
    assert asked.instant != after.instant


def test_a_step_without_an_outcome_is_shown_as_of_its_beginning(replayer: Replayer) -> None:
    answer = replayer.query(2, Moment.AFTER, "SELECT note FROM orders WHERE id = 1")
    assert isinstance(answer.instant, Instant)
    assert answer.instant == replayer.at(2).instant == replayer.query(1, Moment.ASKED, "SELECT").instant
    assert answer.rows.rows == (("note 1",),)


def test_values_are_texts_as_postgres_writes_them(replayer: Replayer) -> None:
    rows = replayer.query(
        1,
        Moment.AFTER,
        "SELECT 1 AS a, NULL AS b, '' AS c, 1.50::numeric(5, 2), ARRAY[true], '{\"a\": [1]}'::jsonb AS f",
    ).rows
    assert rows.columns == ("a", "b", "c", "numeric", "array", "f")
    assert rows.types == ("integer", "text", "text", "numeric(5,2)", "boolean[]", "jsonb")
    assert rows.rows == (("1", None, "", "1.50", "{t}", '{"a": [1]}'),)


@pytest.mark.parametrize(
    ("limit", "count", "more"), [(500, 500, True), (1200, 1200, False), (1, 1, True), (None, 1200, False)]
)
def test_no_more_rows_than_asked_for(replayer: Replayer, limit: int | None, count: int, more: bool) -> None:
    rows = replayer.query(1, Moment.AFTER, "SELECT id FROM orders ORDER BY id", limit=limit).rows
    assert [row[0] for row in rows.rows] == [str(n) for n in range(1, count + 1)]
    assert rows.more is more


@pytest.mark.parametrize(
    ("text", "rows"), [("EXPLAIN (COSTS off) SELECT 1", "Result"), ("SHOW in_hot_standby", "off")]
)
def test_plans_and_settings_are_rows_too(replayer: Replayer, text: str, rows: str) -> None:
    assert replayer.query(1, Moment.AFTER, text).rows.rows == ((rows,),)


def test_an_answer_that_is_too_long_is_cut_or_refused(
    replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_BYTES", 1_000_000)
    query = "SELECT repeat('x', 20000) FROM generate_series(1, 1000)"
    rows = replayer.query(1, Moment.AFTER, query).rows
    assert (len(rows.rows) < 500, rows.more) == (True, True)
    with pytest.raises(StatementError, match="takes more than 1 MB"):
        replayer.query(1, Moment.AFTER, query, limit=None)
    monkeypatch.setattr(asking, "MOST_SECONDS", 0)
    with pytest.raises(StatementError, match="reading took longer than 0 s"):
        replayer.query(1, Moment.AFTER, "TABLE orders")


def refused(replayer: Replayer, text: str) -> StatementError:
    with pytest.raises(StatementError) as raised:
        replayer.query(1, Moment.AFTER, text)
    return raised.value


def test_what_the_database_refuses_is_told_in_its_words_with_the_place(replayer: Replayer) -> None:
    problem = refused(replayer, "SELECT -- é\n  nota FROM orders")
    assert (
        str(problem)
        == 'column "nota" does not exist; Perhaps you meant to reference the column "orders.note"'
    )
    assert (problem.position, problem.sqlstate, problem.severity) == (15, "42703", "ERROR")
    assert (problem.hint, problem.detail) == (
        'Perhaps you meant to reference the column "orders.note".',
        None,
    )
    assert refused(replayer, "EXPLAIN (COSTS off) SELECT nota").position == 28
    assert refused(replayer, "SELECT 1/0").position is None
    assert refused(replayer, "COMMIT").position == 1


PARAMETERS = "a statement has no parameters here: write the value"
ONE = "one statement at a time"
READING = "only reading statements run here: the replay is read-only"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT 1; SELECT 2", ONE),
        ("SHOW work_mem; SHOW work_mem", ONE),
        ("WITH gone AS (DELETE FROM orders RETURNING id) SELECT FROM gone", READING),
        ("SELECT $1", PARAMETERS),
        ("EXPLAIN SELECT FROM orders WHERE id = $1", PARAMETERS),
        (
            "SELECT FROM orders FOR UPDATE",
            "cannot execute SELECT in a read-only transaction; leave out FOR UPDATE: the replay is read-only",
        ),
        (
            "SELECT FROM public.orders FOR SHARE",
            "cannot execute SELECT FOR SHARE in a read-only transaction; leave out FOR SHARE: the replay is read-only",
        ),
        ("SELECT locking()", "cannot execute SELECT FOR UPDATE in a read-only transaction"),
    ],
)
def test_what_is_due_to_how_a_statement_is_sent_is_told_plainly(
    shop: str, replayer: Replayer, text: str, said: str
) -> None:
    with psycopg.connect(shop, autocommit=True) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION locking() RETURNS int LANGUAGE plpgsql"
            " AS $$ BEGIN PERFORM FROM public.orders FOR UPDATE; RETURN 1; END $$"
        )
    assert str(refused(replayer, text)) == said


def test_the_next_statement_runs_whatever_became_of_the_one_before(replayer: Replayer) -> None:
    for text in (
        "SELECT 1/0",
        "SELECT nota",
        "SELECT '",
        "SELECT $1",
        "SELECT 1; SELECT 2",
        "SHOW nothing",
        "SELECT",
    ):
        if text != "SELECT":
            refused(replayer, text)
        assert replayer.query(1, Moment.AFTER, "SELECT 7").rows.rows == (("7",),)


def test_a_statement_that_asks_for_the_time_is_told_todays_and_that_is_said(replayer: Replayer) -> None:
    text = "SELECT count(*) FROM orders WHERE now() > now() - interval '1 day' AND current_date > '2001-1-1'"
    answer = replayer.query(1, Moment.AFTER, text)
    assert answer.caution.startswith("now, current_date: the time of today, not that of the step")


def test_there_is_no_such_step(replayer: Replayer) -> None:
    with pytest.raises(NotFoundError, match="has no step 9"):
        replayer.query(9, Moment.AFTER, "SELECT 1")


def test_each_statement_has_a_session_of_its_own_that_ends_with_it(shop: str, replayer: Replayer) -> None:
    pids = {replayer.query(1, Moment.AFTER, "SELECT pg_backend_pid()").rows.rows for _ in range(3)}
    assert len(pids) == 3
    ours = "SELECT FROM pg_stat_activity WHERE application_name = 'stepwell' AND datname = current_database()"
    with psycopg.connect(shop, autocommit=True) as other:
        wait_until(lambda: other.execute(ours).fetchall() == [])


def test_the_session_itself_refuses_writes_unless_a_pooler_lends_it(
    shop: str, replayer: Replayer, short_folder: Path
) -> None:
    shown = "SHOW default_transaction_read_only"
    assert replayer.query(1, Moment.AFTER, shown).rows.rows == (("on",),)
    with pooler(shop, short_folder) as pooled, closing(Replayer(resolve(pooled), RUN)) as other:
        assert other.query(1, Moment.AFTER, shown).rows.rows == (("off",),)


def test_a_string_ends_where_stepwell_reads_its_end_whatever_the_role_has_set(shop: str) -> None:
    """Or what is taken for a part of the string would be run."""
    lax = make_conninfo(shop, options="-c standard_conforming_strings=off -c quote_all_identifiers=on")
    with closing(Replayer(resolve(lax), RUN)) as replayer:
        rows = replayer.query(1, Moment.AFTER, r"SELECT '\', lower('A'), ', pg_advisory_lock(7) --'").rows
    assert rows.rows == (("\\", "a", ", pg_advisory_lock(7) --"),)
    japanese = make_conninfo(shop, client_encoding="SJIS")  # where a yen sign is sent as a backslash
    with closing(Replayer(resolve(japanese), RUN)) as replayer:
        rows = replayer.query(1, Moment.AFTER, r"VALUES (E'¥\', 2), (pg_advisory_lock(7), 2) --', 1)").rows
    assert rows.rows == (("¥', 2), (pg_advisory_lock(7), 2) --", "1"),)


def test_what_runs_can_be_cancelled(shop: str, replayer: Replayer) -> None:
    caught: list[str] = []

    def ask() -> None:
        with pytest.raises(DatabaseError) as raised:
            replayer.query(1, Moment.AFTER, "SELECT pg_sleep(60)")
        caught.append(str(raised.value))

    thread = threading.Thread(target=ask)
    thread.start()
    with psycopg.connect(shop, autocommit=True) as other:
        wait_until(lambda: bool(other.execute(f"SELECT {SLEEPER}").fetchall()))
    replayer.cancel()
    thread.join()
    assert caught == ["cancelled"]
    assert replayer.query(1, Moment.AFTER, "SELECT 7").rows.rows == (("7",),)


def test_a_statement_whose_session_is_ended_is_not_run_again(shop: str, replayer: Replayer) -> None:
    """It may have been what ended the server."""
    with psycopg.connect(shop, autocommit=True) as other:
        end = f"SELECT pg_terminate_backend(pid) {SLEEPER}"
        ended = threading.Thread(target=lambda: wait_until(lambda: bool(other.execute(end).fetchall())))
        ended.start()
        with pytest.raises(
            DatabaseError, match="connection lost: an administrator or a restart ended the session"
        ):
            replayer.query(1, Moment.AFTER, "SELECT pg_sleep(60)")
        ended.join()


def test_eight_columns_and_a_role_that_may_read_them_are_enough(dsn: str) -> None:
    role = bare_table(dsn)
    add_step(dsn, 1, "tool_call", output=1)
    with closing(Replayer(resolve(make_conninfo(dsn, user=role)), RUN)) as replayer:
        answer = replayer.query(1, Moment.AFTER, "SELECT count(*) FROM agent_steps")
        assert (answer.rows.rows, answer.instant, answer.tables, answer.caution) == ((("1",),), None, (), "")


def test_behind_a_pooler_the_next_client_finds_its_session_as_it_was(shop: str, short_folder: Path) -> None:
    everything = (
        "SELECT name, setting FROM pg_settings UNION ALL SELECT 'prepared', name FROM pg_prepared_statements"
        " UNION ALL SELECT 'cursor', name FROM pg_cursors UNION ALL SELECT 'pid', pg_backend_pid()::text"
    )
    with (
        pooler(shop, short_folder, size=1) as pooled,
        psycopg.connect(pooled, autocommit=True, application_name="shop") as client,
        closing(Replayer(resolve(pooled), RUN)) as replayer,
    ):
        client.prepare_threshold = None
        before = set(client.execute(everything).fetchall())
        assert replayer.query(1, Moment.ASKED, "SELECT note FROM orders WHERE id = 1").rows.rows == (
            ("note 1",),
        )
        refused(replayer, "SELECT nota")
        refused(replayer, "SELECT 1/0")
        assert set(client.execute(everything).fetchall()) == before


def test_on_a_standby_it_reads_too(standby: Standby, shop: str, server: str) -> None:
    if conninfo_to_dict(server)["host"] != conninfo_to_dict(standby.primary.conninfo("postgres"))["host"]:
        pytest.skip("the standby follows the temporary server only")
    with psycopg.connect(shop) as connection:
        connection.execute(
            "SELECT pg_current_xact_id()"
        )  # whose commit has the log sent, up to what readers wrote
    standby.catch_up()
    replica = make_conninfo(standby.replica.conninfo("postgres"), dbname=conninfo_to_dict(shop)["dbname"])
    with closing(Replayer(resolve(replica), RUN)) as replayer:
        answer = replayer.query(1, Moment.ASKED, "SELECT note FROM orders WHERE id = 1")
    assert answer.rows.rows == (("note 1",),)
    assert answer.replay.isolation == "REPEATABLE READ READ ONLY"
    assert answer.replay.notes == ("standby",)


def test_a_name_that_stands_for_no_table_here_is_told_of_the_watched_ones_elsewhere(schema_dsn: str) -> None:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        add_step(schema_dsn, 1, "tool_call", output=1, snapshot_after=snapshot(connection))
        for name in ("a.stock", 'a."Odd"', "a.orders", "b.orders"):
            connection.execute(
                f"CREATE SCHEMA IF NOT EXISTS {name[0]}; CREATE TABLE {name} (id int PRIMARY KEY)"
            )
            watch(connection, name)
        add_step(schema_dsn, 2, "tool_call", output=1, snapshot_after=snapshot(connection))
    with closing(Replayer(resolve(schema_dsn), RUN)) as replayer:
        problem = refused(replayer, "SELECT FROM stock")
        assert str(problem).startswith(
            'relation "stock" does not exist; a.stock is watched, and as of this step unknown: it is watched since '
        )
        assert str(problem).endswith("; a.stock, with its schema, reads today's rows")
        assert (problem.sqlstate, problem.position) == ("42P01", 13)
        assert '; a."Odd", with its schema, reads' in str(refused(replayer, 'EXPLAIN SELECT FROM "Odd"'))
        assert "watched" not in str(refused(replayer, "SELECT FROM odd"))
        assert "watched" not in str(refused(replayer, "SELECT FROM stocks"))
        assert "watched" not in str(refused(replayer, "SELECT FROM b.stock"))
        with pytest.raises(
            StatementError, match=r"a\.orders and b\.orders are watched, so a schema is needed"
        ):
            replayer.query(2, Moment.AFTER, "TABLE orders")
        assert replayer.query(2, Moment.AFTER, "TABLE stock").seen == (Seen("stock", "past", EXACT),)
