"""Tables are watched where their past can be told exactly, refused with the reason where not, and left as they were."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from stepwell.core.past import Certainty
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.store.scripts import Draft
from stepwell.store.watching import draft, unwatch, watch
from tests.store.watching import Connection, instant, past

EXACT = Certainty.EXACT


@pytest.fixture
def owner(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True, application_name="owner") as connection:
        yield connection


def catalogs(connection: Connection) -> list[tuple[object, ...]]:
    """All that is in the database beside Postgres's own, with its rights."""
    return connection.execute(
        "SELECT 'class', n.nspname || '.' || c.relname, c.relacl::text, c.relhastriggers::text FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = relnamespace WHERE n.nspname !~ '^(pg_|information_schema)'"
        " UNION ALL SELECT 'schema', nspname, nspacl::text, '' FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'"
        " UNION ALL SELECT 'function', oid::regprocedure::text, proacl::text, '' FROM pg_proc"
        " WHERE pronamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')"
        " UNION ALL SELECT 'trigger', tgname, tgrelid::regclass::text, '' FROM pg_trigger"
        " UNION ALL SELECT 'type', t.oid::regtype::text, '', '' FROM pg_type t"
        " WHERE typnamespace::regnamespace::text !~ '^(pg_|information_schema)'"
        " UNION ALL SELECT 'depends', count(*)::text, '', '' FROM pg_depend"
        " UNION ALL SELECT 'shared', count(*)::text, '', '' FROM pg_shdepend WHERE dbid = ("
        "SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1, 2"
    ).fetchall()


FOREIGN = "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w"
REFUSED = {
    "no primary key": ("CREATE TABLE t (id int)", "no primary key to tell its rows by; add one"),
    "a deferrable key": (
        "CREATE TABLE t (id int PRIMARY KEY DEFERRABLE)",
        "deferrable.* make it NOT DEFERRABLE",
    ),
    "a parent": (
        "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE c () INHERITS (t)",
        "inheritance.* use partitions",
    ),
    "a child": ("CREATE TABLE p (a int); CREATE TABLE t (id int PRIMARY KEY) INHERITS (p)", "inheritance"),
    "unlogged": ("CREATE UNLOGGED TABLE t (id int PRIMARY KEY)", "unlogged, and a crash"),
    "temporary": ("CREATE TEMP TABLE t (id int PRIMARY KEY)", "belongs to Postgres|temporary"),
    "row-level security": (
        "CREATE TABLE t (id int PRIMARY KEY); ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "row-level security",
    ),
    "a partition": (
        "CREATE TABLE whole (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t PARTITION OF whole DEFAULT",
        "it is a partition; watch the whole: whole",
    ),
    "a view": ("CREATE VIEW t AS SELECT 1 AS id", "a view; watch the tables that it reads"),
    "a sequence": ("CREATE SEQUENCE t", "it is a sequence$"),
    "a foreign table": (
        f"{FOREIGN}; CREATE FOREIGN TABLE t (id int) SERVER s",
        "a foreign table",
    ),
    "named as ours": (
        'CREATE TABLE t (id int PRIMARY KEY, "!own" int)',
        "has a name that the view of its past needs",
    ),
    "too wide": (
        f"CREATE TABLE t (id int PRIMARY KEY, {', '.join(f'c{n} text' for n in range(500))})",
        "more than 7900 bytes in a row",
    ),
    "a collation of its own": (
        "CREATE COLLATION own (locale = 'C'); CREATE TABLE t (id text COLLATE own PRIMARY KEY)",
        "the key id has a collation of its own",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_told_exactly_is_refused_with_the_reason(owner: Connection, kind: str) -> None:
    create, reason = REFUSED[kind]
    owner.execute(create)
    with pytest.raises(DatabaseError, match=f"t cannot be watched: .*({reason})"):
        watch(owner, "t")
    assert owner.execute("SELECT to_regnamespace('stepwell_log')").fetchone() == (None,)


@pytest.mark.parametrize("name", ["pg_catalog.pg_class", "information_schema.sql_features", "agent_steps"])
def test_what_is_not_the_users_is_refused(owner: Connection, name: str) -> None:
    owner.execute("CREATE TABLE agent_steps (id int PRIMARY KEY)")
    with pytest.raises(DatabaseError, match="it belongs to Postgres or to Stepwell itself"):
        watch(owner, name)


@pytest.mark.parametrize("name", ["nowhere", "no.where", "", "a.b.c.d", '"', "t; DROP TABLE t"])
def test_a_name_of_nothing_is_not_found(owner: Connection, name: str) -> None:
    owner.execute("CREATE TABLE other (id int PRIMARY KEY)")
    watch(owner, "other")
    for work in (watch, unwatch):
        with pytest.raises(NotFoundError):
            work(owner, name)


NAMES = ['"Odd ""Name"""', '"with.dot"', '"per%cent"', '"{brace}"', '"' + "é" * 31 + 'x"', '"select"']


def test_names_of_every_kind_are_watched_and_told_apart(owner: Connection) -> None:
    owner.execute('CREATE SCHEMA "Odd.Shop"; SET search_path = "Odd.Shop", public')
    for name in NAMES:
        owner.execute(f'CREATE TABLE {name} (id int PRIMARY KEY, "a ""b"" %s {{c}}" text)')
        owner.execute(f'CREATE TABLE public.{name} (id int PRIMARY KEY, "a ""b"" %s {{c}}" text)')
        watch(owner, f'"Odd.Shop".{name}')
        watch(owner, f"public.{name}")
        owner.execute(f"INSERT INTO {name} VALUES (1, 'here')")
        owner.execute(f"INSERT INTO public.{name} VALUES (1, 'there')")
    then = instant(owner)
    for name in NAMES:
        owner.execute(f"DELETE FROM {name}; DELETE FROM public.{name}")
    for name in NAMES:
        assert past(owner, then, name) == (EXACT, "", [(1, "here")])
    for name in NAMES:
        assert unwatch(owner, name)[0] == "Odd.Shop"
        assert unwatch(owner, f"public.{name}")[0] == "public"
    assert owner.execute("SELECT to_regnamespace('stepwell_log')").fetchone() == (None,)


KEYS = {
    "composite": "a int, b text, v text, PRIMARY KEY (b, a)",
    "text": "a text PRIMARY KEY, b text, v text",
    "identity and generated": "a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b text, v text,"
    " twice text GENERATED ALWAYS AS (v || v) STORED",
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_and_columns_of_every_kind_are_followed(owner: Connection, kind: str) -> None:
    owner.execute(f"CREATE TABLE t ({KEYS[kind]})")
    watch(owner, "t")
    override = "OVERRIDING SYSTEM VALUE" if "IDENTITY" in KEYS[kind] else ""
    owner.execute(f"INSERT INTO t (a, b, v) {override} VALUES (1, 'x', 'one'), (2, 'y', 'two')")
    then = instant(owner)
    before = owner.execute("SELECT * FROM t ORDER BY 1").fetchall()
    owner.execute("UPDATE t SET b = b || 'z', v = 'new' WHERE b = 'x'")
    owner.execute("DELETE FROM t WHERE b = 'y'")
    assert past(owner, then, "t") == (EXACT, "", before)


def test_a_table_is_watched_again_as_it_is_now(owner: Connection) -> None:
    owner.execute("CREATE TABLE t (id int PRIMARY KEY, old text, gone int)")
    assert watch(owner, "t").again is False
    owner.execute("INSERT INTO t VALUES (1, 'one', 7)")
    first = instant(owner)
    owner.execute("ALTER TABLE t ADD COLUMN more int; ALTER TABLE t RENAME COLUMN old TO new")
    owner.execute("UPDATE t SET new = 'uno', more = 5")  # logged as texts: the trigger knows other columns
    second = instant(owner)
    owner.execute("DELETE FROM t")
    assert past(owner, first, "t", "id")[0] is Certainty.UNKNOWN
    assert watch(owner, "t").again is True
    without = "without the later column more"  # which has come to be known only now
    assert past(owner, first, "t", "id", "new") == (EXACT, without, [(1, "one")])
    assert past(owner, second, "t", "id", "new", "more") == (EXACT, without, [(1, "uno", None)])
    owner.execute("ALTER TABLE t DROP COLUMN gone")
    watch(owner, "t")
    without += " and column gone, which was dropped"
    assert past(owner, second, "t") == (EXACT, without, [(1, "uno", None)])


def test_what_a_session_truncates_that_runs_no_triggers_is_told_all_the_same(owner: Connection) -> None:
    """As one that applies what another server has logged."""
    owner.execute('CREATE TABLE t (id int PRIMARY KEY, "per%cent" text)')
    watch(owner, "t")
    owner.execute("INSERT INTO t VALUES (1, 'one')")
    then = instant(owner)
    owner.execute("SET session_replication_role = replica; TRUNCATE t")
    assert past(owner, then, "t") == (EXACT, "", [(1, "one")])


def test_nothing_is_left_of_a_table_that_is_not_watched_any_more(owner: Connection) -> None:
    owner.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE u (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE u1 PARTITION OF u DEFAULT"
    )
    watch(owner, "t")  # makes the roles, which all databases of the server share
    unwatch(owner, "t")
    before = catalogs(owner)
    for name in ("t", "u"):
        watch(owner, name)
    owner.execute("INSERT INTO t VALUES (1, 'a'); INSERT INTO u VALUES (1); TRUNCATE t, u")
    assert unwatch(owner, "public.t") == ("public", "t", 2, True)
    assert owner.execute("SELECT count(*) FROM stepwell_log.tables").fetchone() == (1,)
    unwatch(owner, "u")
    # That a table once had triggers is noted until its next VACUUM.
    assert [row[:3] for row in catalogs(owner)] == [row[:3] for row in before]


def test_a_table_that_was_dropped_goes_by_its_name(owner: Connection) -> None:
    owner.execute('CREATE TABLE "Gone" (id int PRIMARY KEY)')
    before = catalogs(owner)
    watch(owner, '"Gone"')
    owner.execute('DROP TABLE "Gone"')
    owner.execute('CREATE TABLE "Gone" (id int PRIMARY KEY)')
    assert watch(owner, '"Gone"').again is False  # another one, which leaves nothing of the first
    owner.execute('DROP TABLE "Gone"')
    assert unwatch(owner, '"Gone"') == ("public", "Gone", 0, True)
    assert owner.execute("SELECT nspname FROM pg_namespace WHERE nspname ~ '^stepwell'").fetchall() == []
    assert len(catalogs(owner)) < len(before)
    with pytest.raises(NotFoundError, match="is not watched: no table is"):
        unwatch(owner, '"Gone"')


def test_who_writes_the_table_is_named_and_nothing_was_changed(owner: Connection, dsn: str) -> None:
    owner.execute('CREATE TABLE "Shop" (id int PRIMARY KEY)')
    with psycopg.connect(dsn, application_name="till") as writer:
        writer.execute('INSERT INTO "Shop" VALUES (1)')
        pid = writer.info.backend_pid
        with pytest.raises(
            DatabaseError, match=rf"Shop is in use \(till \(pid {pid}\) writes it: waited 1 s\)"
        ):
            watch(owner, '"Shop"')
    assert owner.execute("SELECT to_regnamespace('stepwell_log')").fetchone() == (None,)


def test_where_nothing_can_be_written_that_is_said(owner: Connection) -> None:
    owner.execute("CREATE TABLE t (id int PRIMARY KEY)")
    watch(owner, "t")
    owner.execute("SET default_transaction_read_only = on")
    for work in (watch, unwatch):
        with pytest.raises(DatabaseError, match=r"^this server takes no writes .*; public\.t is as it was$"):
            work(owner, "t")


def test_who_has_a_partition_locked_is_waited_for_no_longer_either(owner: Connection, dsn: str) -> None:
    owner.execute(
        "CREATE TABLE t (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t1 PARTITION OF t DEFAULT"
    )
    with psycopg.connect(dsn, application_name="migration") as other:
        other.execute("LOCK TABLE t1 IN ACCESS EXCLUSIVE MODE")
        owner.execute("SET statement_timeout = '10s'")  # not for ever, if it did wait
        assert draft(Draft(owner), "t").again is False
        with pytest.raises(
            DatabaseError, match=r"t is in use \(migration \(pid \d+\) writes it: waited 1 s\)"
        ):
            watch(owner, "t")


def test_a_table_that_is_altered_while_it_is_waited_for_is_watched_as_it_is_then(
    owner: Connection, dsn: str
) -> None:
    owner.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    isolated = psycopg.connect(dsn, autocommit=True, options="-c default_transaction_isolation=serializable")
    with psycopg.connect(dsn) as other, isolated, ThreadPoolExecutor(1) as pool:
        other.execute("ALTER TABLE t ADD COLUMN more int, ALTER v TYPE text")
        done = pool.submit(watch, isolated, "t")
        waits = "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted"
        while not done.done() and owner.execute(waits, [isolated.info.backend_pid]).fetchone() == (0,):
            time.sleep(0.01)
        other.commit()
        assert done.result().again is False
    owner.execute("INSERT INTO t VALUES (1, 'one', 5)")
    then = instant(owner)
    owner.execute("DELETE FROM t")
    assert past(owner, then, "t") == (EXACT, "", [(1, "one", 5)])


def test_the_draft_is_all_that_it_takes_and_does_nothing(owner: Connection) -> None:
    owner.execute(
        'CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE "O\'dd 100%" (id int PRIMARY KEY)'
    )
    before = catalogs(owner)
    script = Draft(owner)
    for name in ("t", '"O\'dd 100%"'):
        assert draft(script, name).again is False
    assert catalogs(owner) == before
    owner.execute("\n".join(script.texts))
    owner.execute("INSERT INTO t VALUES (1, 'a')")
    then = instant(owner)
    owner.execute("UPDATE t SET v = 'b'")
    assert past(owner, then, "t") == (EXACT, "", [(1, "a")])
    again = Draft(owner)
    assert draft(again, "t").again is True
    assert watch(owner, "t").again is True


def test_a_name_takes_out_no_table_of_another_schema_that_has_it_too(owner: Connection) -> None:
    owner.execute("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (id int PRIMARY KEY)")
    owner.execute("CREATE TABLE b.t (id int PRIMARY KEY); CREATE TABLE t (id int PRIMARY KEY)")
    watch(owner, "a.t")
    with pytest.raises(NotFoundError, match="t is not watched"):
        unwatch(owner, "t")
    watch(owner, "b.t")
    owner.execute("DROP TABLE t, b.t; DROP TABLE a.t")
    with pytest.raises(DatabaseError, match="several tables were watched as t: name it with its schema"):
        unwatch(owner, "t")
    assert unwatch(owner, "b.t")[:2] == ("b", "t")
    assert unwatch(owner, "t")[:2] == ("a", "t")
