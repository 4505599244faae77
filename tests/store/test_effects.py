"""Each function of the server that may act beyond a transaction has been looked at, and its own views can be read."""

import psycopg
import pytest

from stepwell.core.effects import is_harmless, why_refused
from stepwell.core.statements import parse
from stepwell.errors import StatementError
from stepwell.store.plan import read_seen

CALLABLE = """
SELECT DISTINCT proname FROM pg_proc
WHERE pronamespace = 'pg_catalog'::regnamespace AND provolatile = 'v' AND prokind = 'f'
  AND NOT 'internal'::regtype = ANY (proargtypes) AND prorettype NOT IN ('internal'::regtype, 'trigger'::regtype)
"""
VIEWS = """
SELECT format('%I.%I', nspname, relname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname IN ('pg_catalog', 'information_schema') AND relkind IN ('r', 'v') ORDER BY 1
"""


def test_each_volatile_function_of_postgres_is_known_as_harmless_or_refused(dsn: str) -> None:
    """One that a new version brings is refused until it is put into one of the lists of `core.effects`."""
    with psycopg.connect(dsn) as connection:
        names = [name for (name,) in connection.execute(CALLABLE)]
    assert len(names) > 150
    assert [name for name in names if bool(why_refused(name)) is is_harmless(name)] == []


@pytest.mark.parametrize(
    "kind", ["oprcode FROM pg_operator", "castfunc FROM pg_cast", "typinput FROM pg_type"]
)
def test_none_is_called_by_anything_but_its_name(dsn: str, kind: str) -> None:
    """What stands behind an operator, a cast or a type of Postgres's own is nowhere in a statement."""
    with psycopg.connect(dsn) as connection:
        volatile = connection.execute(
            f"SELECT proname FROM pg_proc WHERE provolatile = 'v' AND oid IN (SELECT {kind})"
        ).fetchall()
    assert volatile == []


def test_all_tables_and_views_of_postgres_can_be_read(dsn: str) -> None:
    """No function that one of them calls is taken for one that acts."""
    with psycopg.connect(dsn) as connection:
        names = [name for (name,) in connection.execute(VIEWS)]
        assert len(names) > 200
        for name in names:
            assert read_seen(connection, parse(f"TABLE {name}"), ()) == ()


def test_one_that_nobody_has_looked_at_is_refused(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "CREATE FUNCTION pg_catalog.pg_novelty() RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1'"
        )
        with pytest.raises(StatementError, match=r"pg_novelty\(\) does not run here: it is volatile"):
            read_seen(connection, parse("SELECT pg_novelty()"), ())
        connection.rollback()
