"""Opening a connection: what is set, what is refused, and in which words."""

import os
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell.errors import DatabaseError
from stepwell.store import embedded
from stepwell.store.connect import check_version, connect, explain, is_standby, resolve


def shown(connection: psycopg.Connection[tuple[object, ...]], setting: str) -> object:
    row = connection.execute(f"SHOW {setting}").fetchone()
    assert row is not None
    return row[0]


def test_connections_are_named_stepwell_in_the_servers_lists(dsn: str) -> None:
    with connect(resolve(dsn)) as connection:
        assert shown(connection, "application_name") == "stepwell"


def test_an_application_name_of_the_users_own_is_kept(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(resolve(make_conninfo(dsn, application_name="nightly"))) as connection:
        assert shown(connection, "application_name") == "nightly"
    monkeypatch.setenv("PGAPPNAME", "cron")
    with connect(resolve(dsn)) as connection:
        assert shown(connection, "application_name") == "cron"


def test_options_in_the_conninfo_are_kept(dsn: str) -> None:
    with connect(resolve(make_conninfo(dsn, options="-c work_mem=7MB"))) as connection:
        assert shown(connection, "work_mem") == "7MB"


def test_the_encoding_is_utf8_whatever_the_environment_says(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with connect(resolve(dsn)) as connection:
        assert connection.execute("SELECT %s", ["井 ✓"]).fetchone() == ("井 ✓",)


def test_a_read_only_connection_writes_nothing_and_prepares_nothing(dsn: str) -> None:
    with connect(resolve(dsn), autocommit=False, read_only=True) as connection:
        for _ in range(10):
            connection.execute("SELECT 1")
        assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE t ()")
        connection.rollback()


def test_a_broken_network_is_noticed_soon_unless_the_user_has_set_when(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(resolve(make_conninfo(dsn, keepalives_idle=99))) as connection:
        set_ = connection.info.get_parameters()
    assert (set_["keepalives_idle"], set_["tcp_user_timeout"], set_["connect_timeout"]) == (
        "99",
        "20000",
        "10",
    )
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "7")
    with connect(resolve(dsn)) as connection:
        set_ = connection.info.get_parameters()
    assert (set_["keepalives_idle"], set_.get("connect_timeout", "7")) == ("15", "7")


def test_libpq_variables_are_enough(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = psycopg.conninfo.conninfo_to_dict(dsn)
    variables = {
        "host": "PGHOST",
        "port": "PGPORT",
        "user": "PGUSER",
        "dbname": "PGDATABASE",
        "password": "PGPASSWORD",
    }
    for name, variable in variables.items():
        if name in parameters:
            monkeypatch.setenv(variable, str(parameters[name]))
    target = resolve(None)
    assert target.origin == "libpq"
    with connect(target) as connection:
        assert connection.info.dbname == parameters["dbname"]


def test_a_service_file_is_enough(
    dsn: str, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = psycopg.conninfo.conninfo_to_dict(dsn)
    path = os.path.join(tmp_path, "services")
    with open(path, "w") as file:
        file.write("[agents]\n" + "".join(f"{name}={value}\n" for name, value in parameters.items()))
    monkeypatch.setenv("PGSERVICEFILE", path)
    monkeypatch.setenv("PGSERVICE", "agents")
    with connect(resolve(None)) as connection:
        assert connection.info.dbname == parameters["dbname"]
    with connect(resolve("service=agents")) as connection:
        assert connection.info.dbname == parameters["dbname"]


def test_with_nothing_configured_the_embedded_server_is_started_and_held(
    stepwell_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[str, embedded.Embedded] = {}
    monkeypatch.setattr("stepwell.store.connect._held", held)
    monkeypatch.setattr(embedded, "LINGER", 0.05)
    target = resolve(None)
    assert target.notice == f"no database is configured: using the embedded Postgres in {stepwell_home}"
    with connect(target) as first, connect(target) as second:
        assert first.info.dbname == second.info.dbname == "stepwell"
    (server,) = held.values()
    server.release()


@pytest.mark.parametrize("version", [140002, 90624, 0])
def test_servers_before_15_are_too_old(version: int) -> None:
    with pytest.raises(DatabaseError, match=r"^Postgres .* is too old: Stepwell needs 15 or newer"):
        check_version(version)


@pytest.mark.parametrize(("version", "name"), [(140002, "14.2"), (90624, "9.6")])
def test_the_refusal_names_the_version_as_people_do(version: int, name: str) -> None:
    with pytest.raises(DatabaseError, match=f"Postgres {name} is"):
        check_version(version)


@pytest.mark.parametrize("version", [150000, 150018, 180004])
def test_servers_from_15_on_are_taken(version: int) -> None:
    check_version(version)


def test_a_primary_is_no_standby(dsn: str) -> None:
    with connect(resolve(dsn)) as connection:
        assert not is_standby(connection)


def test_a_hot_standby_is_known(standby_dsn: str) -> None:
    with connect(resolve(standby_dsn), read_only=True) as connection:
        assert is_standby(connection)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dbname": "no_such"}, r'database "no_such" does not exist; .*createdb'),
        ({"user": "no_such"}, r'role "no_such" does not exist; .*createuser|authentication failed'),
        ({"host": "/no/such/folder"}, r"No such file or directory; is the server running there\?"),
        (
            {"host": "127.0.0.1", "port": "1"},
            r"Connection refused; is the server running there\? name another with --dsn or DATABASE_URL$",
        ),
        ({"host": "no-such.invalid"}, r"resolve host .* check the host's name"),
        ({"service": "no_such"}, r"no_such.* check PGSERVICE and ~/.pg_service.conf"),
    ],
)
def test_what_fails_is_said_in_one_line_with_a_remedy(dsn: str, change: dict[str, str], message: str) -> None:
    parameters = {**psycopg.conninfo.conninfo_to_dict(dsn), "password": "hunter2", **change}
    with pytest.raises(DatabaseError, match=message) as raised:
        connect(resolve(make_conninfo("", **parameters)))
    assert "\n" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


REFUSED = """connection failed: connection to server at "10.0.0.1", port 5432 failed: FATAL:  password \
authentication failed for user "alice"
connection to server at "10.0.0.1", port 5432 failed: FATAL:  no pg_hba.conf entry"""
SEVERAL_HOSTS = """Multiple connection attempts failed. All failures were:
- host: 'a', port: 1, hostaddr: '::1': connection failed: connection to server at "::1", port 1 failed: \
Connection refused
\tIs the server running on that host and accepting TCP/IP connections?
- host: 'b', port: 1: connection timeout expired"""


@pytest.mark.parametrize(
    ("said", "cause", "remedy"),
    [
        (REFUSED, 'password authentication failed for user "alice"', "check the user and the password"),
        (SEVERAL_HOSTS, "Connection refused", "is the server running there?"),
        ("connection timeout expired", "connection timeout expired", "check host, port and firewall"),
        ("", "no reason given", "is the server running there?"),
    ],
)
def test_the_noise_around_the_cause_is_left_out(said: str, cause: str, remedy: str) -> None:
    assert explain(said).startswith(f"{cause}; {remedy}")
