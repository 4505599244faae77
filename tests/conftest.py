"""A real Postgres for the whole suite, and an environment that keeps tests off the developer's machine."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from stepwell.errors import StepwellError
from stepwell.settings import paths
from stepwell.store import embedded, keeper
from stepwell.store.account import server_account
from stepwell.store.binaries import locate, within_reach
from stepwell.store.cluster import Cluster

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
PROCESS = "{process}"
_numbers = count(1)
_maintained: dict[str, "psycopg.Connection[TupleRow]"] = {}
"""What databases are made and dropped over, of each server."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--dsn",
        default=os.environ.get("STEPWELL_TEST_DSN"),
        help="superuser conninfo of the Postgres to test on (STEPWELL_TEST_DSN); default: a temporary one. "
        f"Where {PROCESS} is in it (gw0, gw1, …), the suite runs in several processes, each with its own server",
    )


def pytest_configure() -> None:
    """Started in the background, or by nohup, the suite ignores signals that its tests send, as does all it starts."""
    # Other examples each time. A machine that is busy is no fault of what is tested.
    settings.register_profile("brief", settings(), max_examples=30, deadline=None)
    settings.load_profile("brief")
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_unconfigure() -> None:
    _close_maintenance()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """The whole suite runs in as many processes as there are processors, four at most, each with its own server.

    Not on one server that is given: its roles would be taken from each other. Nor the long tests, which measure.
    """
    option = config.option
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and option.markexpr == "not long"
    one_server = option.dsn and PROCESS not in option.dsn
    alone = one_server or option.usepdb or hasattr(config, "workerinput")
    if whole and not alone and config.pluginmanager.hasplugin("xdist") and option.numprocesses is None:
        option.numprocesses, option.dist = min(os.cpu_count() or 1, 4), "loadfile"


def pytest_report_header(config: pytest.Config) -> str:
    if dsn := given_dsn(config):
        return f"postgres: {_version_of(dsn)} (--dsn)"
    try:
        said = server_account().run([locate() / "postgres", "--version"]).stdout
        return f"postgres: {said.strip()} (temporary)"
    except (StepwellError, OSError) as error:
        return f"postgres: none: {error}"


def given_dsn(config: pytest.Config) -> str | None:
    """The conninfo of --dsn, for this process; None: a temporary server of its own."""
    dsn: str | None = config.getoption("--dsn")
    return dsn and dsn.replace(PROCESS, os.environ.get("PYTEST_XDIST_WORKER", "gw0"))


def _version_of(dsn: str) -> str:
    try:
        with psycopg.connect(dsn, connect_timeout=5) as connection:
            return str(connection.info.parameter_status("server_version"))
    except psycopg.OperationalError as error:
        return f"unreachable: {str(error).splitlines()[0]}"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, short_folder: Path) -> None:
    """Nothing of the developer's own: no databases, no colour settings, no language, no home."""
    monkeypatch.setenv("LANG", "C.UTF-8")
    for name in list(os.environ):
        if name.startswith(("PG", "LC_")) or name in {
            "NO_COLOR",
            "DATABASE_URL",
            "STEPWELL_DSN",
            "FORCE_COLOR",
            "COLUMNS",
            "LINES",
            "PYTEST_ADDOPTS",
            "PYTHONUNBUFFERED",  # it would hide what is only written at the end
        }:
            monkeypatch.delenv(name)
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        # What a test starts would compile all that it imports, each time.
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(short_folder / "bytecode"))
    home = tmp_path / "home"
    for name, folder in {
        "HOME": home,
        "XDG_DATA_HOME": home / ".local/share",
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_STATE_HOME": home / ".local/state",
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_RUNTIME_DIR": home / "run",
    }.items():
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("STEPWELL_HOME", str(short_folder / f"home{next(_numbers)}"))


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for sockets, and which the user that serves root may pass."""
    folder = Path(tempfile.mkdtemp(prefix="stepwell-", dir="/dev/shm" if _memory_is_usable() else "/tmp"))
    folder.chmod(0o711)
    yield folder
    for data in folder.glob("*/postgres-*/data"):
        keeper.stop(str(data))
    shutil.rmtree(folder, ignore_errors=True)


def _memory_is_usable() -> bool:
    """Whether there is room for servers in memory, where they start and stop many times faster."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or not os.access(shared, os.W_OK) or os.statvfs(shared).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(shared).free > 4 << 30


@pytest.fixture
def stepwell_home() -> Path:
    """Where this test's own embedded Postgres would be, if it starts one."""
    return Path(os.environ["STEPWELL_HOME"])


@pytest.fixture(scope="session")
def wheel_server(short_folder: Path) -> Iterator[Cluster]:
    """The temporary Postgres of the wheel's, running."""
    home = short_folder / "server"
    try:
        held = embedded.start(paths({"STEPWELL_HOME": str(home)}), options=FAST)
    except StepwellError as error:
        pytest.fail(f"no Postgres to test on: {error}; or name one with --dsn", pytrace=False)
    yield Cluster.under(home)
    held.release()


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """Conninfo of a superuser on the server under test, to its maintenance database."""
    dsn = given_dsn(request.config)
    if dsn is None:
        cluster: Cluster = request.getfixturevalue("wheel_server")
        dsn = cluster.conninfo("postgres")
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        pytest.fail(f"the Postgres of --dsn does not answer: {error}", pytrace=False)
    yield dsn
    _close_maintenance()


def create_database(server: str, template: str | None = None) -> str:
    """A new database (a copy of `template`, if any), as a conninfo."""
    name = f"stepwell_test_{os.getpid()}_{next(_numbers)}"
    command = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
    if template:
        command += sql.SQL(" TEMPLATE {}").format(sql.Identifier(template))
    connection = _maintenance(server)
    if connection.execute("SHOW fsync").fetchone() == ("off",):
        # A third of the time, where nobody waits for a disk. What is dropped then is in no buffer either.
        command += sql.SQL(" STRATEGY file_copy")
    connection.execute(command)
    return make_conninfo(server, dbname=name)


def drop_database(server: str, conninfo: str) -> None:
    name = str(conninfo_to_dict(conninfo)["dbname"])
    _maintenance(server).execute(
        sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    )


def _maintenance(server: str) -> psycopg.Connection[TupleRow]:
    """One connection for all of it: to connect takes as long as to drop a database."""
    connection = _maintained.get(server)
    if connection is None or connection.closed:
        connection = _maintained[server] = psycopg.connect(server, autocommit=True)
    return connection


def _close_maintenance() -> None:
    while _maintained:
        _maintained.popitem()[1].close()


@pytest.fixture
def dsn(server: str) -> Iterator[str]:
    """Conninfo of an empty database of this test's own."""
    conninfo = create_database(server)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture(scope="session")
def schema_template(server: str) -> Iterator[str]:
    """The name of a database that holds Stepwell's schema and no rows."""
    from stepwell.store.migrate import migrate

    conninfo = create_database(server)
    migrate(conninfo)
    yield str(conninfo_to_dict(conninfo)["dbname"])
    drop_database(server, conninfo)


@pytest.fixture
def schema_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database of this test's own with Stepwell's schema and no rows."""
    conninfo = create_database(server, schema_template)
    yield conninfo
    drop_database(server, conninfo)


@dataclass(frozen=True)
class Standby:
    """A primary and the hot standby that follows it: every database of the one is in the other."""

    primary: Cluster
    replica: Cluster

    def catch_up(self) -> None:
        """Wait until the standby has all that the primary has committed."""
        with psycopg.connect(self.primary.conninfo("postgres")) as connection:
            committed = connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
        behind = "SELECT pg_last_wal_replay_lsn() < %s::pg_lsn"
        with psycopg.connect(self.replica.conninfo("postgres"), autocommit=True) as connection:
            while connection.execute(behind, committed).fetchone() == (True,):
                time.sleep(0.01)


@pytest.fixture(scope="session")
def standby(wheel_server: Cluster, short_folder: Path) -> Iterator[Standby]:
    """A hot standby of the temporary server (of that one also where --dsn names another to test on)."""
    account = server_account()
    replica = Cluster.under(short_folder / "standby")
    replica.make_folders(account)
    binaries = within_reach(short_folder, account)
    account.make_folder(replica.data, 0o700)
    source = wheel_server.conninfo("postgres")
    options = FAST | {"listen_addresses": "", "unix_socket_directories": str(replica.socket_folder)}
    settings = " ".join(f"-c {name}={value}" for name, value in options.items())
    commands: list[list[str | Path]] = [
        # With a slot, so that what tests write by the megabyte is kept until the standby has it.
        [
            binaries / "pg_basebackup",
            "-d",
            source,
            "-D",
            replica.data,
            "-R",
            "-c",
            "fast",
            "-C",
            "-S",
            "standby",
        ],
        [binaries / "pg_ctl", "start", "-w", "-s", "-D", replica.data, "-l", replica.log, "-o", settings],
    ]
    for command in commands:
        done = account.run(command)
        assert done.returncode == 0, done.stderr
    yield Standby(wheel_server, replica)
    keeper.stop(str(replica.data))


@pytest.fixture(scope="session")
def standby_dsn(standby: Standby) -> str:
    """Conninfo of a hot standby, to its maintenance database."""
    return standby.replica.conninfo("postgres")
