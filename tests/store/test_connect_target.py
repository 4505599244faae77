"""Which database is meant: the order of the sources, and what each may look like."""

from collections.abc import Mapping

import pytest
from psycopg.conninfo import conninfo_to_dict

from stepwell.errors import DatabaseError
from stepwell.store import embedded
from stepwell.store.target import resolve

URL = "postgresql://alice:hunter2@db1/agents"


@pytest.mark.parametrize(
    ("dsn", "env", "origin", "label"),
    [
        (URL, {"DATABASE_URL": "postgresql://db2/x", "PGHOST": "db3"}, "argument", "agents@db1"),
        (None, {"DATABASE_URL": URL, "PGHOST": "db3"}, "DATABASE_URL", "agents@db1"),
        ("  ", {"DATABASE_URL": URL}, "DATABASE_URL", "agents@db1"),
        (None, {"PGHOST": "db3", "PGDATABASE": "runs"}, "libpq", "runs@db3"),
        (None, {"DATABASE_URL": "", "PGSERVICE": "agents"}, "libpq", "service agents"),
        (None, {"PGHOSTADDR": "10.0.0.1", "PGUSER": "alice"}, "libpq", "alice@10.0.0.1"),
        (None, {"PGPORT": "5433", "USER": "alice"}, "libpq", "alice@local socket:5433"),
        (None, {"PGSERVICEFILE": "/etc/services.conf"}, "libpq", "default database@local socket"),
        (None, {"PGPASSWORD": "hunter2", "HOME": "/home/alice"}, "embedded", "embedded Postgres"),
        (None, {"HOME": "/home/alice"}, "embedded", "embedded Postgres"),
        ("agents", {}, "argument", "agents@local socket"),
        ("agents", {"PGHOST": "db3"}, "argument", "agents@db3"),
        ("host=db1 dbname=agents password=hunter2", {}, "argument", "agents@db1"),
        ("host=db1 dbname='my agents' port=6432", {}, "argument", "my agents@db1:6432"),
        ("service=prod dbname=agents", {}, "argument", "agents@service prod"),
        ("postgres:///agents?host=/run/pg&port=5433", {}, "argument", "agents@/run/pg:5433"),
        ("postgresql+psycopg://alice:hunter2@db1/agents", {}, "argument", "agents@db1"),
        ("postgresql+asyncpg://alice:hunter2@db1:5432/agents", {}, "argument", "agents@db1"),
        ("postgresql://a:1,b:2/agents", {}, "argument", "agents@a,b:1,2"),
    ],
)
def test_the_first_source_that_names_a_database_wins(
    dsn: str | None, env: Mapping[str, str], origin: str, label: str
) -> None:
    target = resolve(dsn, env)
    assert (target.origin, target.describe()) == (origin, label)
    assert "hunter2" not in repr(target) + target.describe()
    assert (target.notice is not None) == (origin == "embedded")


def test_passwords_and_options_reach_libpq() -> None:
    target = resolve("postgresql://alice:hunter%2B2@db1/agents?options=-c%20work_mem%3D7MB", {})
    assert conninfo_to_dict(target.conninfo) == {
        "user": "alice",
        "password": "hunter+2",
        "host": "db1",
        "dbname": "agents",
        "options": "-c work_mem=7MB",
    }


def test_libpq_is_left_to_find_its_own_variables_and_files() -> None:
    assert resolve(None, {"PGHOST": "db3", "PGPASSWORD": "hunter2"}).conninfo == ""


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("mysql://alice:hunter2@db1/agents", "is a mysql:// address, not a Postgres one"),
        (
            "postgresql://alice:hunter@2@db1/agents",
            "has two @: write an @ inside a user name or password as %40",
        ),
        ("postgresql://alice:hunter%2@db1/agents", "cannot be read"),
        ("host=db1 password=my hunter2", "cannot be read: quote values that hold blanks"),
        ("postgresql://db1/agents?schema=public", "cannot be read: libpq has no option schema"),
        ("hostname=db1", "cannot be read: libpq has no option hostname"),
    ],
)
def test_what_cannot_be_read_is_refused_without_showing_a_password(dsn: str, message: str) -> None:
    with pytest.raises(DatabaseError, match="the connection string") as raised:
        resolve(dsn, {})
    assert message in str(raised.value)
    assert "hunter" not in str(raised.value)


def test_a_database_url_of_another_system_is_named_as_the_cause() -> None:
    with pytest.raises(DatabaseError, match="DATABASE_URL is a sqlite:// address"):
        resolve(None, {"DATABASE_URL": "sqlite:///app.db"})


def test_with_nothing_configured_the_choice_of_the_embedded_server_is_said() -> None:
    target = resolve(None, {"STEPWELL_HOME": "/srv/steps"})
    assert target.notice == "no database is configured: using the embedded Postgres in /srv/steps"


def test_a_relative_home_of_the_embedded_server_is_refused_where_it_would_be_used() -> None:
    home = {"STEPWELL_HOME": "here/steps"}
    with pytest.raises(
        DatabaseError, match=r"^STEPWELL_HOME has to be an absolute path, not 'here/steps'$"
    ) as raised:
        resolve(None, home)
    assert raised.value.exit_status == 2
    assert resolve("agents", home).conninfo == "dbname=agents"


def test_without_the_extra_the_remedies_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "installed", lambda: False)
    with pytest.raises(DatabaseError, match=r"no database is configured; .*--dsn.*DATABASE_URL.*embedded"):
        resolve(None, {})
