"""Watching never breaks the owner: whatever is done to a table, it is written as its unwatched twin is.

And what is said of the past afterwards is never called exact and wrong.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count

import psycopg
import pytest

from stepwell.core.past import Certainty, Instant, Table
from stepwell.errors import StepwellError
from stepwell.store.watching import unwatch, watch
from tests.asof.compare import read_origin
from tests.asof.kinds import Connection
from tests.asof.looking import look_back
from tests.asof.owners import ACTS, SETUP, WATCHED, WRITES, Act

SCHEMAS = ("watched", "twin")
OPTIONS = "-c search_path={0},elsewhere_{0} -c plan_cache_mode=force_generic_plan"


@dataclass(frozen=True)
class Sight:
    """What the watched tables were at an instant: per table the places of its columns, and the rows by these places."""

    instant: Instant
    tables: dict[object, tuple[dict[object, str], list[dict[object, object]]]]


@pytest.fixture(params=[pytest.param(act, id=act.name, marks=act.marks) for act in ACTS])
def act(request: pytest.FixtureRequest) -> Act:
    found: Act = request.param
    return found


def test_what_an_owner_does_to_a_watched_table(dsn: str, act: Act) -> None:
    _go_through(dsn, act, again=False)


@pytest.mark.long
def test_what_an_owner_does_to_a_table_that_is_watched_again_after_it(dsn: str, act: Act) -> None:
    _go_through(dsn, act, again=True)


def _go_through(dsn: str, act: Act, *, again: bool) -> None:
    numbers = count(300, 10)
    with psycopg.connect(dsn, autocommit=True) as owner, _sessions(dsn) as old:
        _prepare(owner)
        _write(old, WRITES, numbers, times=2)
        sights = [_see(owner)]
        for schema in SCHEMAS[: 1 if act.watched_only else 2]:
            _do(owner, schema, act.ddl)
        owner.execute("SET search_path = watched")
        _write(old, act.writes + WRITES, numbers)
        sights.append(_see(owner))
        if again:
            _watch_again(owner)
            sights.append(_see(owner))
        with _sessions(dsn) as new:
            _write(new, WRITES + act.writes, numbers)
        sights.append(_see(owner))
        _write(old, WRITES, numbers)
        for sight in sights:
            _assert_never_wrong(owner, sight)
        _leave(owner)
        _write(old, WRITES, numbers)


def _prepare(owner: Connection) -> None:
    """Two schemas with the same tables, those of the one watched."""
    for schema in SCHEMAS:
        owner.execute(f"CREATE SCHEMA {schema}; CREATE SCHEMA elsewhere_{schema}".encode())
        owner.execute(f"SET search_path = {schema}; {SETUP}".encode())
    owner.execute("SET search_path = watched; CREATE TEMPORARY TABLE oids (oid oid)")
    for table in WATCHED:
        watch(owner, f"watched.{table}")
        owner.execute("INSERT INTO oids VALUES (%s::regclass)", (table,))


def _watch_again(owner: Connection) -> None:
    """What is there by now of the tables, as the message of a verdict proposes it; begin anew where that is refused."""
    for (name,) in owner.execute(
        "SELECT c.oid::regclass::text FROM pg_class c JOIN oids USING (oid) ORDER BY 1"
    ).fetchall():
        try:
            watch(owner, f"{name}" if "." in f"{name}" else f"watched.{name}")
        except StepwellError:
            assert owner.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


Sessions = dict[str, Connection]
"""One on the watched tables and one on their twins."""


@contextmanager
def _sessions(dsn: str) -> Iterator[Sessions]:
    with ExitStack() as stack:
        yield {
            schema: stack.enter_context(psycopg.connect(dsn, autocommit=True, options=OPTIONS.format(schema)))
            for schema in SCHEMAS
        }


def _write(sessions: Sessions, statements: Iterable[str], numbers: Iterator[int], *, times: int = 1) -> None:
    """Write to both in turn, by prepared statements: what works for the one must work for the other."""
    for statement in statements:
        for _ in range(times):
            number = next(numbers)
            outcomes = {schema: _outcome(session, statement, number) for schema, session in sessions.items()}
            assert outcomes["watched"] == outcomes["twin"], statement
    contents = {schema: _contents(session, schema) for schema, session in sessions.items()}
    assert contents["watched"] == contents["twin"]


def _do(owner: Connection, schema: str, ddl: str) -> None:
    """Each statement in a transaction of its own, but for a block of code."""
    owner.execute(f"SET search_path = {schema}".encode())
    for statement in [ddl] if ddl.startswith("DO") else ddl.split("; "):
        owner.execute(statement.replace("elsewhere", f"elsewhere_{schema}").encode())


def _outcome(session: Connection, statement: str, number: int) -> str:
    try:
        done = session.execute(statement.replace("{n}", "%(n)s::int").encode(), {"n": number}, prepare=True)
    except psycopg.Error as error:
        return f"{error.sqlstate} {error.diag.message_primary}"
    return done.statusmessage or ""


def _contents(session: Connection, schema: str) -> dict[str, list[str]]:
    """The rows of all tables of one of the two."""
    found = session.execute(
        "SELECT replace(oid::regclass::text, %s, ''), oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p')"
        " AND relnamespace IN (to_regnamespace(%s), to_regnamespace(%s))",
        (schema, schema, f"elsewhere_{schema}"),
    ).fetchall()
    return {
        str(name): sorted(str(row[0]) for row in session.execute(f"SELECT x::text FROM {table} x".encode()))
        for name, table in found
    }


def _see(owner: Connection) -> Sight:
    """All of the watched tables that are still there, in one snapshot."""
    owner.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    snapshot = owner.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert snapshot is not None
    seen = {}
    for oid, table in owner.execute(
        "SELECT c.oid, c.oid::regclass::text FROM pg_class c JOIN oids USING (oid)"
    ).fetchall():
        columns = _columns(owner, oid)
        texts = ", ".join(f"{name}::text" for name in columns.values())
        rows = owner.execute(f"SELECT {texts} FROM {table}".encode()).fetchall()
        seen[oid] = (columns, [dict(zip(columns, row, strict=True)) for row in rows])
    owner.execute("COMMIT")
    return Sight(Instant(str(snapshot[0])), seen)


def _columns(owner: Connection, oid: object) -> dict[object, str]:
    """The names of a table's columns by their places."""
    found = owner.execute(
        "SELECT attnum, quote_ident(attname) FROM pg_attribute"
        " WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (oid,),
    )
    return {number: str(name) for number, name in found}


def _assert_never_wrong(owner: Connection, sight: Sight) -> None:
    """Rows that are called exact are those that were seen; others can at least be read."""
    for fast in (True, False):
        with owner.transaction():
            owner.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            owner.execute("SET LOCAL search_path = watched, elsewhere_watched")
            for table in look_back(owner, sight.instant, read_origin(owner), fast=fast):
                _assert_table(owner, table, sight)


def _assert_table(owner: Connection, table: Table, sight: Sight) -> None:
    found = owner.execute(
        "SELECT relation::oid FROM stepwell_log.tables WHERE schema_name = %s AND table_name = %s",
        (table.schema, table.name),
    ).fetchone()
    assert found is not None
    if table.verdict.certainty is not Certainty.EXACT:
        _assert_readable(owner, table)
        return
    columns, rows = sight.tables[found[0]]
    numbers = {name: number for number, name in columns.items()}
    if not set(table.key) <= set(numbers):  # it was watched again after a column got another name
        numbers = {name: number for number, name in _columns(owner, found[0]).items()}
    later = table.verdict.why.partition("without the later column ")[2].split(", ")
    told = [name for name in table.columns if name in numbers and name not in later]
    assert set(table.key) <= set(told)
    texts = ", ".join(f"{name}::text" for name in told)
    shown = owner.execute(f"SELECT {texts} FROM {table.name}".encode()).fetchall()
    expected = [tuple(row[numbers[name]] for name in told) for row in rows]
    assert Counter(shown) == Counter(expected), (table.verdict, table.name)


def _assert_readable(owner: Connection, table: Table) -> None:
    """What is not known is shown as it is today."""
    if owner.execute("SELECT to_regclass(%s)", (table.name,)).fetchone() == (None,):
        return  # it is gone
    rows = owner.execute(f"SELECT x::text FROM {table.name} x".encode()).fetchall()
    if table.verdict.certainty is Certainty.UNKNOWN:
        path = owner.execute("SHOW search_path").fetchone()
        owner.execute("SET LOCAL search_path = watched, elsewhere_watched")
        assert Counter(owner.execute(f"SELECT x::text FROM {table.name} x".encode()).fetchall()) == Counter(
            rows
        )
        owner.execute("SELECT set_config('search_path', %s, true)", path)


def _leave(owner: Connection) -> None:
    """Have no table watched any more: nothing that fires is left."""
    if owner.execute("SELECT to_regclass('stepwell_log.tables')").fetchone() != (None,):
        # By the name that it has now; one that is gone by the name that it had.
        for (name,) in owner.execute(
            "SELECT CASE WHEN c.oid IS NULL THEN schema_name || '.' || table_name"
            " ELSE concat_ws('.', c.relnamespace::regnamespace, c.relname) END"
            " FROM stepwell_log.tables LEFT JOIN pg_class c ON c.oid = relation"
        ).fetchall():
            unwatch(owner, str(name))
    assert owner.execute("SELECT tgname FROM pg_trigger WHERE tgname LIKE '!stepwell%%'").fetchall() == []
