"""What is said of the past of a watched table after something has happened to it."""

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from psycopg import Connection

from stepwell.core.past import Certainty, Instant, Origin, Table, Verdict
from stepwell.store.watching import watch
from tests.asof.compare import read_origin
from tests.asof.looking import look_back
from tests.store.watching import instant

EXACT, UNCERTAIN, UNKNOWN = Certainty.EXACT, Certainty.UNCERTAIN, Certainty.UNKNOWN


@pytest.fixture
def owner(dsn: str) -> Iterator[Connection]:
    """Of a table `t` of ten rows, which is watched."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, qty int)")
        connection.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 10) AS i")
        watch(connection, "t")
        yield connection


def own_instant(connection: Connection) -> Instant:
    """Of the transaction that is under way, with what it has written."""
    row = connection.execute(
        "SELECT pg_current_snapshot()::text, pg_current_xact_id()::text::int8,"
        " current_setting('stepwell.written')::int8"
    ).fetchone()
    assert row is not None
    return Instant(*row)


def past(
    connection: Connection, then: Instant | None, whence: Origin | None = None
) -> tuple[Verdict, object]:
    """The verdict on `t`, and its rows as they are then shown."""
    with connection.transaction(force_rollback=True):
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        tables: tuple[Table, ...] = look_back(connection, then, whence)
        rows = connection.execute("SELECT id, qty FROM t ORDER BY id").fetchall()
    return next(table.verdict for table in tables if table.name == "t"), rows


TEN = [(number, number) for number in range(1, 11)]


@pytest.mark.parametrize(
    "statement",
    [
        "VACUUM FULL t",
        "CLUSTER t USING t_pkey",
        "TRUNCATE t",
        "ANALYZE t",
        "CREATE INDEX ON t (qty)",
        "ALTER TABLE t SET (fillfactor = 50)",
        "ALTER TABLE t ALTER qty SET DEFAULT 3",
        "ALTER TABLE t ALTER qty SET NOT NULL",
        "GRANT SELECT ON t TO PUBLIC",
        "DELETE FROM t",
    ],
)
def test_what_leaves_rows_as_they_are_or_is_logged_leaves_the_past_exact(
    owner: Connection, statement: str
) -> None:
    then = instant(owner)
    owner.execute(statement)
    owner.execute("INSERT INTO t VALUES (11, 11)")
    assert past(owner, then) == (Verdict(EXACT), TEN)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("ALTER TABLE t ALTER qty TYPE int USING qty * 2", "rewritten by ALTER TABLE"),
        ("ALTER TABLE t ADD z timestamptz DEFAULT clock_timestamp()", "rewritten by ALTER TABLE"),
        ("ALTER TABLE t SET UNLOGGED", "rewritten by ALTER TABLE"),
        ("ALTER TABLE t DISABLE TRIGGER ALL", "was disabled or dropped"),
        ("ALTER TABLE t DISABLE TRIGGER USER; ALTER TABLE t ENABLE TRIGGER USER", "was disabled or dropped"),
        ('DROP TRIGGER "!stepwell" ON t', "was disabled or dropped"),
        ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "row-level security"),
        ("ALTER TABLE t DROP CONSTRAINT t_pkey", "primary key was changed"),
        ("CREATE TABLE child () INHERITS (t)", "child inherits from it"),
    ],
)
def test_what_no_log_can_see_makes_the_past_uncertain(owner: Connection, statement: str, why: str) -> None:
    then = instant(owner)
    for part in statement.split(";"):
        owner.execute(part)
    found, _ = past(owner, then)
    assert found.certainty is UNCERTAIN
    assert why in found.why
    assert "some time after 20" in found.why


def test_rows_that_were_rewritten_since_are_shown_all_the_same(owner: Connection) -> None:
    """They seem to be younger than the instant."""
    then = instant(owner)
    owner.execute("ALTER TABLE t ADD z timestamptz DEFAULT clock_timestamp()")
    found, rows = past(owner, then)
    assert (found.certainty, rows) == (UNCERTAIN, TEN)


def test_a_column_that_came_later_is_named_and_the_rest_is_exact(owner: Connection) -> None:
    then = instant(owner)
    owner.execute("ALTER TABLE t ADD z int DEFAULT 5")
    assert past(owner, then) == (Verdict(EXACT, "without the later column z"), TEN)


def test_rows_written_after_a_column_was_added_are_logged_as_before(owner: Connection) -> None:
    then = instant(owner)
    owner.execute("ALTER TABLE t ADD z int DEFAULT 5")
    owner.execute("UPDATE t SET qty = 0, z = 7")
    later = instant(owner)
    owner.execute("DELETE FROM t")
    remark = Verdict(EXACT, "without the later column z")
    for _ in range(2):
        assert past(owner, then) == (remark, TEN)
        assert past(owner, later) == (remark, [(number, 0) for number in range(1, 11)])
        watch(owner, "t")
    after = instant(owner)
    owner.execute("INSERT INTO t VALUES (1, 1)")
    assert past(owner, after) == (Verdict(EXACT), [])


def test_a_column_that_came_later_has_no_values_in_the_past_whatever_its_default(owner: Connection) -> None:
    then = instant(owner)
    owner.execute("ALTER TABLE t ADD z int DEFAULT 5")
    owner.execute("UPDATE t SET z = 7 WHERE id = 1")
    watch(owner, "t")
    after = instant(owner)
    owner.execute("UPDATE t SET z = 8 WHERE id = 2")
    for moment, values in ((then, [(None,)]), (after, [(5,), (7,)])):
        with owner.transaction(force_rollback=True):
            look_back(owner, moment, None)
            assert owner.execute("SELECT DISTINCT z FROM t ORDER BY z").fetchall() == values


def test_a_transaction_of_the_agents_that_is_still_open_is_said_to_be(owner: Connection) -> None:
    with psycopg.connect(owner.info.dsn, autocommit=True) as reader, owner.transaction():
        owner.execute("UPDATE t SET qty = 0")
        found, _ = past(reader, own_instant(owner))
    assert found.certainty is UNCERTAIN
    assert found.why.startswith("the agent's transaction of then is still open")


def test_a_renamed_column_is_followed_once_the_table_is_watched_again(owner: Connection) -> None:
    then = instant(owner)
    owner.execute("ALTER TABLE t RENAME qty TO amount")
    owner.execute("UPDATE t SET amount = 0")
    owner.execute("ALTER TABLE t RENAME amount TO qty")
    owner.execute("UPDATE t SET qty = 1")
    watch(owner, "t")
    assert past(owner, then) == (Verdict(EXACT), TEN)


def test_a_name_that_stands_for_another_column_now_makes_the_past_uncertain(owner: Connection) -> None:
    owner.execute("ALTER TABLE t ADD other int")
    watch(owner, "t")
    then = instant(owner)
    for change in ("qty TO spare", "other TO qty", "spare TO other"):
        owner.execute(f"ALTER TABLE t RENAME {change}")
    found, _ = past(owner, then)
    assert found.certainty is UNCERTAIN
    assert "column other, qty was another one" in found.why


def test_a_truncate_of_more_than_is_copied_loses_the_past_before_it(
    owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepwell.store.capture.TRUNCATE_COPIES", 8192)
    watch(owner, "t")
    owner.execute("INSERT INTO t SELECT i, i FROM generate_series(100, 1000) AS i")
    then = instant(owner)
    owner.execute("TRUNCATE t")
    later = instant(owner)
    owner.execute("INSERT INTO t VALUES (1, 1)")
    found, rows = past(owner, then)
    assert found == Verdict(UNKNOWN, "history lost: TRUNCATE of 40 kB")
    assert rows == [(1, 1)], "today's, and said to be"
    assert past(owner, later) == (Verdict(EXACT), [])


def test_before_the_table_was_watched_today_s_rows_are_shown_and_said_to_be(owner: Connection) -> None:
    owner.execute("CREATE TABLE early (id int PRIMARY KEY)")
    then = instant(owner)
    watch(owner, "early")
    owner.execute("INSERT INTO early VALUES (1)")
    with owner.transaction(force_rollback=True):
        tables = look_back(owner, then, None)
        assert owner.execute("SELECT id FROM early").fetchall() == [(1,)]
    found = next(table.verdict for table in tables if table.name == "early")
    assert found.certainty is UNKNOWN
    assert found.why.startswith("it is watched since 20")


def test_another_server_and_another_timeline(owner: Connection) -> None:
    then = instant(owner)
    assert past(owner, then, read_origin(owner))[0] == Verdict(EXACT)
    assert past(owner, then, replace(read_origin(owner), system=1))[0] == Verdict(
        UNKNOWN, "this step was recorded on another server"
    )
    assert past(owner, then, replace(read_origin(owner), timeline=99))[0].certainty is UNCERTAIN
    assert past(owner, then, Origin(None, None))[0] == Verdict(
        UNCERTAIN,
        "its recorder might not ask which server that was; GRANT EXECUTE ON FUNCTION pg_control_system() to it",
    )


def test_a_transaction_of_another_server_that_this_one_has_not_got_to(owner: Connection) -> None:
    then = Instant(instant(owner).snapshot, own=10**12, position=7)
    assert past(owner, then, replace(read_origin(owner), system=1))[0] == Verdict(
        UNKNOWN, "this step was recorded on another server"
    )


def test_no_snapshot_and_one_of_long_ago(owner: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    assert past(owner, None)[0] == Verdict(UNKNOWN, "this step was recorded without a snapshot")
    then = instant(owner)
    owner.execute("DELETE FROM t")
    monkeypatch.setattr("stepwell.core.verdicts.AGE", 2)
    assert past(owner, then)[0] == Verdict(EXACT)
    owner.execute("INSERT INTO t VALUES (1, 1)")
    assert past(owner, then)[0] == Verdict(UNKNOWN, "this step is more than 2 billion transactions old")


def test_the_agents_own_transaction_that_was_rolled_back_leaves_a_doubt(owner: Connection) -> None:
    with owner.transaction(force_rollback=True):
        owner.execute("UPDATE t SET qty = 0")
        then = own_instant(owner)
    found, rows = past(owner, then)
    assert found == Verdict(
        UNCERTAIN, "the agent's transaction of then was rolled back, and what it had written with it"
    )
    assert rows == TEN


def test_the_agents_own_writes_are_inside_up_to_that_moment(owner: Connection) -> None:
    instants = []
    with owner.transaction():
        for qty in (20, 21, 22):
            owner.execute("UPDATE t SET qty = %s WHERE id = 1", (qty,))
            owner.execute("DELETE FROM t WHERE id = %s", (qty - 18,))
            owner.execute("INSERT INTO t VALUES (%s, 0)", (qty + 100,))
            rows = owner.execute("SELECT id, qty FROM t ORDER BY id").fetchall()
            instants.append((own_instant(owner), rows))
    owner.execute("UPDATE t SET qty = -1")
    for then, rows in instants:
        assert past(owner, then) == (Verdict(EXACT), rows)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("ALTER TABLE t ALTER qty TYPE bigint", "column qty has another type now"),
        ("ALTER TABLE t RENAME qty TO amount", "column qty is gone"),
        ("ALTER TABLE t DROP qty", "column qty is gone"),
        ("DROP TABLE stepwell_log.t1", "its log was dropped"),
        ("DROP VIEW stepwell_asof_t1.t", "its view was dropped"),
    ],
)
def test_where_the_view_would_fail_the_name_means_today_s_table(
    owner: Connection, statement: str, why: str
) -> None:
    then = instant(owner)
    owner.execute(statement)
    owner.execute("DELETE FROM t WHERE id > 1")
    with owner.transaction(force_rollback=True):
        (table,) = look_back(owner, then, None)
        assert owner.execute("SELECT id FROM t").fetchall() == [(1,)]
    assert table.verdict.certainty is UNKNOWN
    assert why in table.verdict.why


def test_a_log_that_may_not_be_written_to_leaves_a_doubt_and_the_owner_in_peace(owner: Connection) -> None:
    then = instant(owner)
    owner.execute("REVOKE ALL ON ALL TABLES IN SCHEMA stepwell_log FROM stepwell_log_writer")
    owner.execute("DELETE FROM t")
    found, _ = past(owner, then)
    assert found == Verdict(UNCERTAIN, "its trigger may not write its log")


def test_what_was_rolled_back_to_a_savepoint_before_that_moment_is_not_missed(owner: Connection) -> None:
    with owner.transaction():
        owner.execute("UPDATE t SET qty = 20 WHERE id = 1")
        with owner.transaction(force_rollback=True):
            owner.execute("DELETE FROM t")
        then = own_instant(owner)
    assert past(owner, then) == (Verdict(EXACT), [(1, 20), *TEN[1:]])


def test_what_was_rolled_back_to_a_savepoint_after_that_moment_leaves_a_doubt(owner: Connection) -> None:
    with owner.transaction():
        owner.execute("UPDATE t SET qty = 20 WHERE id = 1")
        with owner.transaction(force_rollback=True):
            owner.execute("UPDATE t SET qty = 21 WHERE id = 1")
            then = own_instant(owner)
    assert past(owner, then)[0] == Verdict(
        UNCERTAIN,
        "what the agent had last written by then is in no log here: rolled back to a savepoint, it seems",
    )


def test_a_table_that_is_gone_or_called_otherwise_is_unknown(owner: Connection) -> None:
    then = instant(owner)
    owner.execute("ALTER TABLE t RENAME TO u")
    with owner.transaction(force_rollback=True):
        (table,) = look_back(owner, then, None)
    assert table.verdict == Verdict(UNKNOWN, "it is called public.u now; stepwell watch public.u")
    owner.execute("DROP TABLE u")
    with owner.transaction(force_rollback=True):
        (table,) = look_back(owner, then, None)
    assert table.verdict == Verdict(UNKNOWN, "the table was dropped")


def test_a_role_that_may_not_ask_which_server_this_is_reads_the_past_with_a_doubt(owner: Connection) -> None:
    then = instant(owner)
    owner.execute("DELETE FROM t WHERE id > 1")
    owner.execute("CREATE ROLE reader; GRANT SELECT ON t TO reader")
    watch(owner, "t")
    owner.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    try:
        owner.execute("SET ROLE reader")
        found, rows = past(owner, then)
    finally:
        owner.execute("RESET ROLE; DROP OWNED BY reader; DROP ROLE reader")
    assert found.certainty is UNCERTAIN
    assert "may not ask which server this is" in found.why
    assert rows == TEN
