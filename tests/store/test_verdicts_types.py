"""What is said of the past of a watched table once its types or expressions are others."""

from collections.abc import Iterator

import psycopg
import pytest

from stepwell.core.past import Certainty, Instant, Verdict
from stepwell.store.watching import watch
from tests.asof.looking import look_back
from tests.store.watching import Connection, instant

EXACT, UNCERTAIN = Certainty.EXACT, Certainty.UNCERTAIN


@pytest.fixture
def owner(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'",
        "ALTER TYPE pair ADD ATTRIBUTE c int",
        "ALTER TYPE pair DROP ATTRIBUTE b",
    ],
)
def test_a_type_whose_values_read_otherwise_now_leaves_a_doubt(owner: Connection, statement: str) -> None:
    owner.execute("CREATE TYPE mood AS ENUM ('ok', 'bad'); CREATE TYPE pair AS (a int, b int)")
    owner.execute("CREATE TABLE typed (id int PRIMARY KEY, moods mood[], pair pair)")
    owner.execute("INSERT INTO typed VALUES (1, '{ok}', '(1,2)')")
    watch(owner, "typed")
    then = instant(owner)
    owner.execute("ALTER TYPE mood ADD VALUE 'new'")
    for expected in (EXACT, UNCERTAIN):
        assert verdict_on(owner, then).certainty is expected
        if expected is EXACT:
            owner.execute(statement)


def test_a_type_that_differs_behind_its_length_only_is_another(owner: Connection) -> None:
    """Between times with and without a zone no row is rewritten where the zone is UTC, and a log would mix them up."""
    owner.execute("SET timezone = 'UTC'")
    owner.execute("CREATE TABLE times (id int PRIMARY KEY, at timestamptz(3))")
    owner.execute("INSERT INTO times VALUES (1, '2026-01-01 12:00')")
    watch(owner, "times")
    then = instant(owner)
    owner.execute("ALTER TABLE times ALTER at TYPE timestamp(6)")
    assert verdict_on(owner, then).why.startswith("column at has another type now")


def test_a_length_that_grows_leaves_the_past_exact(owner: Connection) -> None:
    owner.execute("CREATE TABLE words (id int PRIMARY KEY, word varchar(5), at timestamp(3))")
    watch(owner, "words")
    then = instant(owner)
    owner.execute("ALTER TABLE words ALTER word TYPE varchar(9), ALTER at TYPE timestamp")
    assert verdict_on(owner, then) == Verdict(EXACT)


def test_an_expression_that_is_another_now_leaves_a_doubt_on_what_no_row_holds(owner: Connection) -> None:
    if owner.info.server_version < 180000:
        pytest.skip("this server has no virtual columns")
    owner.execute(
        "CREATE TABLE sums (id int PRIMARY KEY, qty int DEFAULT 1, twice int GENERATED ALWAYS AS (qty * 2))"
    )
    watch(owner, "sums")
    then = instant(owner)
    owner.execute("ALTER TABLE sums ALTER qty SET DEFAULT 5")
    assert verdict_on(owner, then) == Verdict(EXACT)
    owner.execute("ALTER TABLE sums ALTER twice SET EXPRESSION AS (qty * 3)")
    assert verdict_on(owner, then).certainty is UNCERTAIN


def verdict_on(connection: Connection, then: Instant) -> Verdict:
    """On the only table."""
    with connection.transaction(force_rollback=True):
        (table,) = look_back(connection, then, None)
    return table.verdict
