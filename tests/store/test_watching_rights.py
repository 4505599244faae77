"""Who may watch, and who may see the past: owners beside one another, and of the past no more than of the table."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.core.past import Certainty
from stepwell.errors import DatabaseError
from stepwell.store.watching import unwatch, watch
from tests.store.test_roles import grant_roles
from tests.store.watching import Connection, instant, past

REFUSED = psycopg.errors.InsufficientPrivilege
TABLE = "CREATE TABLE {} (id int PRIMARY KEY, name text, secret text); INSERT INTO {} VALUES (1, 'lamp', 'x')"
Login = Callable[[str], Connection]


@pytest.fixture
def admin(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def login(admin: Connection, dsn: str) -> Iterator[Login]:
    """Makes somebody who may log in, with a schema of their own, and connects as them."""
    made: list[sql.Identifier] = []
    with ExitStack() as stack:

        def connect(name: str) -> Connection:
            role = sql.Identifier(f"stepwell_rights_{name}")
            with suppress(psycopg.errors.UndefinedObject):
                admin.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(role))
            admin.execute(sql.SQL("CREATE ROLE {0} LOGIN PASSWORD 'it'").format(role))
            admin.execute(sql.SQL("CREATE SCHEMA {} AUTHORIZATION {}").format(sql.Identifier(name), role))
            made.append(role)
            conninfo = make_conninfo(dsn, user=f"stepwell_rights_{name}", password="it")
            connection = stack.enter_context(psycopg.connect(conninfo, autocommit=True))
            connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(name)))
            return connection

        yield connect
    for role in made:
        admin.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(role))


def may_not(connection: Connection, *statements: str) -> None:
    """Run any of these."""
    for statement in statements:
        with pytest.raises(REFUSED):
            connection.execute(statement)


def may_make(admin: Connection, role: str) -> bool:
    """Whether it may still make something among the logs, as while it was given its own."""
    may = admin.execute("SELECT has_schema_privilege(%s, 'stepwell_log', 'CREATE')", [role]).fetchone()
    return may == (True,)


def may_create(admin: Connection, role: str) -> None:
    database = sql.Identifier(admin.info.dbname)
    admin.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, sql.Identifier(role)))


def test_a_table_that_a_superuser_has_watched_is_its_owners_to_look_back_at(
    admin: Connection, login: Login
) -> None:
    alice = login("alice")
    alice.execute(TABLE.format("orders", "orders"))
    assert watch(admin, "alice.orders").notes == ()
    owners = admin.execute(
        "SELECT DISTINCT tableowner FROM pg_tables WHERE tablename ~ '^t[0-9]+$' AND schemaname = 'stepwell_log'"
        " UNION ALL SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE proname ~ '^t[0-9]+_' ORDER BY 1"
    ).fetchall()
    assert owners == [("stepwell_rights_alice",)] * 3
    assert not may_make(admin, "stepwell_rights_alice")
    then = instant(alice)
    alice.execute("DELETE FROM orders")
    assert past(alice, then, "orders", "name") == (Certainty.EXACT, "", [("lamp",)])
    alice.execute("TRUNCATE orders")
    assert past(alice, then, "orders", "name") == (Certainty.EXACT, "", [("lamp",)])
    with pytest.raises(DatabaseError, match="GRANT stepwell_watcher TO stepwell_rights_alice"):
        unwatch(alice, "orders")
    admin.execute("GRANT stepwell_watcher TO stepwell_rights_alice")
    assert watch(alice, "orders").again
    unwatch(alice, "orders")


def test_who_watches_beside_others_changes_nothing_that_runs_in_their_name(
    admin: Connection, login: Login, shop: str
) -> None:
    watch(admin, "orders")
    runs_as = "SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE proname = 't1_capture'"
    assert admin.execute(runs_as).fetchall() == [("stepwell_log_writer",)]
    assert not may_make(admin, "stepwell_log_writer")
    alice = login("alice")
    alice.execute(TABLE.format("goods", "goods"))
    admin.execute("GRANT stepwell_watcher TO stepwell_rights_alice")
    may_not(
        alice,
        "CREATE OR REPLACE FUNCTION stepwell_log.shape(watched oid) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL'",
        "CREATE OR REPLACE FUNCTION stepwell_log.lose(watched oid, reason text) RETURNS void LANGUAGE sql AS ''",
        "DROP FUNCTION stepwell_log.shape(oid)",
        "DROP FUNCTION stepwell_log.t1_truncate() CASCADE",
        "CREATE OR REPLACE FUNCTION stepwell_log.t1_capture() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "ALTER FUNCTION stepwell_log.t1_capture() SECURITY INVOKER",
        "SET ROLE stepwell_log_writer",
        f"DROP TABLE {shop}",
        f"SELECT * FROM {shop}",
        "DROP SCHEMA stepwell_log CASCADE",
        "ALTER TABLE stepwell_log.tables DISABLE TRIGGER ALL",
        # It would log in the name of another table.
        "CREATE TRIGGER t AFTER INSERT ON goods FOR EACH ROW EXECUTE FUNCTION stepwell_log.t1_capture()",
        "CREATE TRIGGER t BEFORE TRUNCATE ON goods EXECUTE FUNCTION stepwell_log.t1_truncate()",
    )
    for other in ("smallint", "integer", "bigint", "regclass"):
        alice.execute(
            f"CREATE FUNCTION stepwell_log.shape({other}) RETURNS jsonb LANGUAGE plpgsql AS 'BEGIN RAISE ''mine''; END'"
        )
    watch(admin, "orders")
    assert past(admin, instant(admin), "orders", "name") == (Certainty.EXACT, "", [("lamp",)])


def test_an_owner_who_may_make_schemas_needs_nobody(admin: Connection, login: Login) -> None:
    alice = login("alice")
    may_create(admin, "stepwell_rights_alice")
    alice.execute(TABLE.format("orders", "orders"))
    watch(alice, "orders")
    then = instant(alice)
    alice.execute("DELETE FROM orders")
    assert past(alice, then, "orders", "name") == (Certainty.EXACT, "", [("lamp",)])
    watch(alice, "orders")
    unwatch(alice, "orders")
    assert admin.execute("SELECT count(*) FROM pg_namespace WHERE nspname ~ '^stepwell'").fetchone() == (0,)


def test_an_owner_who_may_not_is_told_in_one_line_what_helps(admin: Connection, login: Login) -> None:
    bob = login("bob")
    bob.execute(TABLE.format("orders", "orders"))
    with pytest.raises(
        DatabaseError, match=r"^stepwell_rights_bob may not .* run sql/roles.sql, and then GRANT"
    ):
        watch(bob, "orders")
    assert admin.execute("SELECT to_regnamespace('stepwell_log')").fetchone() == (None,)


def test_only_the_owner_of_a_table_may_have_it_watched(admin: Connection, login: Login) -> None:
    login("alice").execute(TABLE.format("orders", "orders"))
    bob = login("bob")
    admin.execute(
        "GRANT USAGE ON SCHEMA alice TO stepwell_rights_bob; GRANT ALL ON alice.orders TO stepwell_rights_bob"
    )
    with pytest.raises(DatabaseError, match=r"only its owner may .* run this as stepwell_rights_alice"):
        watch(bob, "alice.orders")
    watch(admin, "alice.orders")
    admin.execute("REVOKE USAGE ON SCHEMA alice FROM stepwell_rights_bob")
    for work in (watch, unwatch):
        with pytest.raises(
            DatabaseError, match=r"alice\.orders cannot be looked up: permission denied for schema"
        ):
            work(bob, "alice.orders")


def test_a_new_owner_gets_what_a_superuser_has_watched_again_and_the_former_ones_nothing(
    admin: Connection, login: Login
) -> None:
    alice, bob = login("alice"), login("bob")
    alice.execute(TABLE.format("orders", "orders"))
    watch(admin, "alice.orders")
    admin.execute("ALTER TABLE alice.orders OWNER TO stepwell_rights_bob")
    admin.execute(
        "GRANT USAGE ON SCHEMA alice TO stepwell_rights_bob; GRANT stepwell_watcher TO stepwell_rights_bob"
    )
    for work in (watch, unwatch):
        with pytest.raises(DatabaseError, match=r"^stepwell_rights_bob may not .* have a superuser do it$"):
            work(bob, "alice.orders")
    assert watch(admin, "alice.orders").again
    assert watch(bob, "alice.orders").again
    admin.execute("ALTER TABLE alice.orders OWNER TO CURRENT_USER")
    watch(admin, "alice.orders")
    for reader in (alice, bob):
        may_not(reader, "SELECT * FROM stepwell_log.t1", "DROP VIEW stepwell_asof_t1.orders")


def test_owners_have_their_tables_watched_beside_one_another(
    admin: Connection, login: Login, dsn: str
) -> None:
    alice, bob = login("alice"), login("bob")
    may_create(admin, "stepwell_rights_alice")
    alice.execute(TABLE.format("orders", "orders"))
    bob.execute(TABLE.format("goods", "goods"))
    watch(alice, "orders")
    with pytest.raises(DatabaseError, match="GRANT stepwell_watcher TO stepwell_rights_bob"):
        watch(bob, "goods")
    with psycopg.connect(dsn) as schema:
        schema.execute("CREATE TABLE agent_steps (id bigint); CREATE TABLE agent_runs (keep text)")
        schema.execute("CREATE TABLE stepwell_migrations (); CREATE VIEW agent_steps_full AS SELECT 1 AS a")
    grant_roles(dsn)
    admin.execute("GRANT stepwell_watcher TO stepwell_rights_bob")
    watch(bob, "goods")
    watch(alice, "orders")
    then = instant(alice)
    for owner, name in ((alice, "orders"), (bob, "goods")):
        owner.execute(f"DELETE FROM {name}")
        assert past(owner, then, name, "name") == (Certainty.EXACT, "", [("lamp",)])
    may_not(bob, "SELECT * FROM stepwell_log.t1")
    unwatch(bob, "goods")
    unwatch(alice, "orders")
    assert admin.execute("SELECT to_regnamespace('stepwell_log')").fetchone() == (None,)


@pytest.fixture
def shop(admin: Connection) -> str:
    """A watched table whose one row is gone; the name of its log."""
    admin.execute(TABLE.format("orders", "orders"))
    return "stepwell_log.t1"


def test_who_may_read_the_table_may_read_its_past_and_nobody_else(
    admin: Connection, login: Login, shop: str
) -> None:
    reader, other = login("reader"), login("other")
    admin.execute("GRANT SELECT ON orders TO stepwell_rights_reader")
    watch(admin, "orders")
    then = instant(admin)
    admin.execute("DELETE FROM orders; INSERT INTO orders VALUES (2, 'desk', 'y')")
    assert past(reader, then, "orders", "name") == (Certainty.EXACT, "", [("lamp",)])
    may_not(
        other,
        f"SELECT * FROM {shop}",
        "SELECT * FROM orders",
        "SELECT * FROM stepwell_asof_t1.orders",
    )
    may_not(
        reader,
        f"DELETE FROM {shop}",
        "DELETE FROM stepwell_log.tables",
        "SELECT stepwell_log.lose(1, '')",
    )


def test_who_may_read_some_columns_sees_no_other_of_the_past(
    admin: Connection, login: Login, shop: str
) -> None:
    reader = login("reader")
    admin.execute("GRANT SELECT (id, name) ON orders TO stepwell_rights_reader")
    watch(admin, "orders")
    admin.execute("DELETE FROM orders")
    may_not(
        reader,
        f"SELECT a3 FROM {shop}",
        f"SELECT image FROM {shop}",
        "SELECT secret FROM stepwell_asof_t1.orders",
        "SELECT secret FROM stepwell_asof_t1.orders()",
    )


def test_a_right_that_was_given_or_taken_later_is_followed_when_it_is_watched_again(
    admin: Connection, login: Login, shop: str
) -> None:
    first, second = login("first"), login("second")
    admin.execute("GRANT SELECT ON orders TO stepwell_rights_first")
    watch(admin, "orders")
    then = instant(admin)
    admin.execute("DELETE FROM orders; INSERT INTO orders VALUES (2, 'desk', 'y')")
    admin.execute(
        "REVOKE SELECT ON orders FROM stepwell_rights_first; GRANT SELECT ON orders TO stepwell_rights_second"
    )
    certainty, why, rows = past(second, then, "orders", "name")
    assert (certainty, rows) == (Certainty.UNKNOWN, [("desk",)])
    assert "may not read its log" in why
    watch(admin, "orders")
    assert past(second, then, "orders", "name") == (Certainty.EXACT, "", [("lamp",)])
    may_not(first, f"SELECT * FROM {shop}")
