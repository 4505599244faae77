"""Nothing gets out of a statement at a step: whatever it is, and whoever asks, the database is as it was before."""

import re
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.core.past import Answer
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError, StatementError
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from stepwell.store.queries import sql_folder
from tests import vacuum
from tests.conftest import create_database, drop_database
from tests.replay.escapes import CAUGHT_BY_SERVER, LEFT_TO_ROLE, REFUSED, SCHEMA, lines
from tests.replay.rows import RUN, add_step
from tests.store.conftest import wait_until

READER, OWNER = "stepwell_test_looker", "stepwell_test_shopkeeper"
DIGEST = """
SELECT 'rows' AS what, md5(string_agg(o::text || xmin, ',' ORDER BY id)) AS found FROM shop.orders AS o
UNION ALL SELECT 'steps', md5(string_agg(s::text || xmin, ',' ORDER BY id)) FROM agent_steps AS s
UNION ALL SELECT 'sequences', string_agg(concat(schemaname, sequencename, last_value), ',') FROM pg_sequences
UNION ALL SELECT 'next xid', pg_snapshot_xmax(pg_current_snapshot())::text
UNION ALL SELECT 'relations', md5(string_agg(concat(oid, relname, relfilenode, relnatts, relacl), ',' ORDER BY oid))
    FROM pg_class
UNION ALL SELECT 'functions', count(*)::text FROM pg_proc
UNION ALL SELECT 'roles', md5(string_agg(r::text, ',' ORDER BY oid)) FROM pg_authid AS r
UNION ALL SELECT 'role settings', count(*)::text FROM pg_db_role_setting
UNION ALL SELECT 'file settings', count(*)::text FROM pg_file_settings
UNION ALL SELECT 'advisory locks', count(*)::text FROM pg_locks WHERE locktype = 'advisory'
UNION ALL SELECT 'strong locks', count(*)::text FROM pg_locks
    WHERE relation = 'shop.orders'::regclass AND mode NOT IN ('AccessShareLock')
UNION ALL SELECT 'slots', count(*)::text FROM pg_replication_slots
UNION ALL SELECT 'origins', count(*)::text FROM pg_replication_origin
UNION ALL SELECT 'prepared', count(*)::text FROM pg_prepared_xacts
UNION ALL SELECT 'large objects', count(*)::text FROM pg_largeobject_metadata
UNION ALL SELECT 'wal file', pg_walfile_name(pg_current_wal_lsn() + 1)
UNION ALL SELECT 'loaded', pg_conf_load_time()::text
UNION ALL SELECT 'resets', stats_reset::text FROM pg_stat_database WHERE datname = current_database()
UNION ALL SELECT 'ours', count(*)::text FROM pg_stat_activity
    WHERE application_name = 'stepwell' AND datname = current_database()
"""


@pytest.fixture(scope="module")
def shop(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database of these tests' own."""
    dsn = create_database(server, schema_template)
    yield dsn
    drop_database(server, dsn)


@pytest.fixture(scope="module")
def admin(shop: str) -> Iterator[psycopg.Connection]:
    """A superuser beside, in a shop whose tables belong to OWNER, and which READER may look at."""
    with vacuum.held_off(shop), psycopg.connect(shop, autocommit=True) as connection:
        connection.execute((sql_folder() / "roles.sql").read_bytes())
        for role in (READER, OWNER):
            connection.execute(f"DROP ROLE IF EXISTS {role}")
            connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'it' IN ROLE stepwell_debugger")
        connection.execute(SCHEMA)
        connection.execute(f"GRANT USAGE ON SCHEMA shop TO {READER}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA shop TO {READER}")
        connection.execute(f"ALTER SCHEMA shop OWNER TO {OWNER}")
        give = sql.SQL("ALTER {} {} OWNER TO {}")
        for kind, name in (
            ("TABLE", "orders"),
            ("SEQUENCE", "numbers"),
            ("MATERIALIZED VIEW", "summary"),
            ("VIEW", "sly"),
        ):
            connection.execute(
                give.format(sql.SQL(kind), sql.Identifier("shop", name), sql.Identifier(OWNER))
            )
        add_step(shop, 1, "tool_call", output=1)
        connection.execute("SELECT pg_switch_wal()")  # so that the next file is not full soon
        connection.execute("VACUUM (ANALYZE)")
        yield connection
        for role in (READER, OWNER):
            connection.execute(f"DROP OWNED BY {role} CASCADE")
            connection.execute(f"DROP ROLE {role}")


def digest(admin: psycopg.Connection) -> dict[str, object]:
    """Whatever could have been changed."""
    return dict(admin.execute(DIGEST).fetchall())


def check(admin: psycopg.Connection, before: dict[str, object]) -> None:
    """All is as it was, once the session of the last statement has ended."""
    wait_until(lambda: digest(admin)["ours"] == before["ours"])
    assert digest(admin) == before


@pytest.fixture(params=["reader", "owner", "superuser"])
def replayer(request: pytest.FixtureRequest, shop: str, admin: psycopg.Connection) -> Iterator[Replayer]:
    """One that asks in the name of such a role."""
    assert admin
    user = {"reader": {"user": READER}, "owner": {"user": OWNER}}.get(request.param, {})
    password = {"password": "it"} if user else {}
    with closing(Replayer(resolve(make_conninfo(shop, **user, **password)), RUN)) as asking:
        yield asking


def ask(replayer: Replayer, statement: str) -> Answer:
    return replayer.query(1, Moment.AFTER, statement)


def test_every_escape_is_refused_and_has_changed_nothing(
    admin: psycopg.Connection, replayer: Replayer
) -> None:
    before = digest(admin)
    ran = [statement for statement in REFUSED if not is_refused(replayer, statement)]
    assert ran == []
    check(admin, before)


def is_refused(replayer: Replayer, statement: str, why: str = "") -> bool:
    try:
        ask(replayer, statement)
    except StatementError as problem:
        return re.search(why, str(problem)) is not None
    return False


def test_what_a_function_writes_is_refused_by_the_server(
    admin: psycopg.Connection, replayer: Replayer
) -> None:
    before = digest(admin)
    why = "read-only|invalid transaction termination|read-write mode|permission denied"
    assert [text for text in lines(CAUGHT_BY_SERVER) if not is_refused(replayer, text, why)] == []
    check(admin, before)


def test_what_a_function_does_to_the_session_is_gone_with_it_and_the_function_is_named(
    admin: psycopg.Connection, replayer: Replayer
) -> None:
    before = digest(admin)
    for statement in lines(LEFT_TO_ROLE):
        answer = ask(replayer, statement)
        name = statement.removeprefix("SELECT ")
        assert answer.caution.startswith(f"calls {name}, which may do what the role may")
        assert [(seen.name, seen.how) for seen in answer.seen] == [(name, "opaque")]
        assert ask(replayer, "SELECT name FROM pg_prepared_statements").rows.rows == ()
    check(admin, before)


CARELESS = (
    "COMMIT; UPDATE shop.orders SET note = 'gone'",
    "SELECT pg_advisory_lock(7)",
    "SELECT pg_current_xact_id()",
    "SELECT lo_create(7)",
    "SELECT nextval('shop.numbers')",
    "SELECT pg_switch_wal()",
    "SELECT pg_stat_reset()",
    "REINDEX TABLE shop.orders",
)


def test_elsewhere_they_do_change_something(admin: psycopg.Connection, shop: str) -> None:
    """Or the other tests here would hold whatever Stepwell does."""
    with psycopg.connect(shop, autocommit=True) as careless:
        for statement in CARELESS:
            before = digest(admin)
            careless.execute(statement)
            assert digest(admin) != before, statement


def test_what_a_function_does_to_others_is_not_kept_from_it_and_is_named(
    admin: psycopg.Connection, shop: str
) -> None:
    """Only the role can: this one may end the sessions of its own."""
    admin.execute(
        "CREATE FUNCTION shop.hang_up(pid int) RETURNS bool LANGUAGE plpgsql"
        " AS $$ BEGIN RETURN pg_terminate_backend(pid); END $$"
    )
    with closing(Replayer(resolve(shop), RUN)) as replayer, psycopg.connect(shop) as other:
        answer = ask(replayer, f"SELECT shop.hang_up({other.info.backend_pid})")
        assert answer.caution == (
            "calls shop.hang_up(), which may do what the role may, beyond the transaction too;"
            " superuser role; Stepwell only reads; safer: sql/roles.sql"
        )
        with pytest.raises(psycopg.OperationalError):
            other.execute("SELECT 1")


def test_a_statement_that_takes_too_long_or_waits_for_a_lock_is_ended(
    admin: psycopg.Connection, shop: str
) -> None:
    bounded = make_conninfo(shop, options="-c statement_timeout=200")
    with closing(Replayer(resolve(bounded), RUN)) as replayer:
        assert refusal(replayer, "SELECT pg_sleep(60)") == (
            "longer than 0.2 s: this role's statement_timeout; ask for less"
        )
    with closing(Replayer(resolve(shop), RUN)) as replayer, admin.transaction():
        admin.execute("LOCK TABLE shop.orders")
        assert "shop.orders is locked by " in refusal(replayer, "SELECT * FROM shop.orders")


def refusal(replayer: Replayer, statement: str) -> str:
    with pytest.raises(DatabaseError) as raised:
        ask(replayer, statement)
    return str(raised.value)
