"""What a role may do beyond reading is known once it is connected, and told in one line."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.replay.runs import Runs
from stepwell.settings import paths
from stepwell.store.connect import Target, resolve
from stepwell.store.queries import sql_folder
from stepwell.store.watching import watch

ROLE = "stepwell_test_somebody"


@pytest.fixture
def admin(schema_dsn: str) -> Iterator[psycopg.Connection]:
    """Who may make a role, that may log in and do nothing else, into more."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute((sql_folder() / "roles.sql").read_bytes())
        connection.execute(f"DROP ROLE IF EXISTS {ROLE}")
        connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'it'")
        yield connection
        connection.execute(f"REASSIGN OWNED BY {ROLE} TO CURRENT_USER")
        connection.execute(f"DROP OWNED BY {ROLE}")
        connection.execute(f"DROP ROLE {ROLE}")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("GRANT stepwell_debugger TO {role}", ""),
        ("ALTER ROLE {role} SUPERUSER", "superuser role"),
        ("GRANT stepwell_debugger TO {role}; ALTER TABLE agent_steps OWNER TO {role}", "owner of the tables"),
        ("GRANT stepwell_recorder TO {role}", "role may write"),
        ("GRANT SELECT, DELETE ON agent_steps, agent_runs TO {role}", "role may write"),
        (
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}; GRANT pg_write_all_data TO {role}",
            "role may write",
        ),
        ("GRANT stepwell_debugger TO {role}; ALTER ROLE {role} BYPASSRLS", "role has BYPASSRLS"),
        ("GRANT stepwell_debugger TO {role}; ALTER ROLE {role} CREATEROLE", "role has CREATEROLE"),
        (
            "GRANT stepwell_debugger TO {role}; GRANT pg_execute_server_program TO {role}",
            "role has pg_execute_server_program",
        ),
    ],
)
def test_it_is_told_what_a_role_may_do_too_much(
    admin: psycopg.Connection, schema_dsn: str, made: str, told: str
) -> None:
    admin.execute(sql.SQL(made).format(role=sql.Identifier(ROLE)))
    with closing(Runs(resolve(make_conninfo(schema_dsn, user=ROLE, password="it")))) as runs:
        assert runs.page(10) == []
        assert runs.caution == (told and f"{told}; Stepwell only reads; safer: sql/roles.sql")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("GRANT SELECT ON orders TO {role}", ""),
        ("GRANT SELECT, UPDATE ON orders TO {role}", "role may write"),
        ("ALTER TABLE orders OWNER TO {role}", "owner of the tables"),
    ],
)
def test_it_is_told_what_a_role_may_do_to_watched_tables(
    admin: psycopg.Connection, schema_dsn: str, made: str, told: str
) -> None:
    admin.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    watch(admin, "orders")
    admin.execute(sql.SQL("GRANT stepwell_debugger TO {role}; " + made).format(role=sql.Identifier(ROLE)))
    with closing(Runs(resolve(make_conninfo(schema_dsn, user=ROLE, password="it")))) as runs:
        assert runs.page(10) == []
        assert runs.caution == (told and f"{told}; Stepwell only reads; safer: sql/roles.sql")


def test_of_the_embedded_server_nothing_is_told(schema_dsn: str) -> None:
    """It has no other role than our own."""
    with closing(Runs(resolve(schema_dsn))) as runs:
        runs.page(10)
        assert runs.caution
        runs._reader.target = Target(schema_dsn, "embedded", "embedded Postgres", server=paths())
        assert runs.caution == ""
