"""A real PgBouncer in front of a database, as production has one: a connection of its own for no client."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stepwell.store.account import server_account

PATIENCE = 30.0
_numbers = count(1)


@contextmanager
def pooler(
    dsn: str, folder: Path, *, size: int = 2, mode: str = "transaction", **settings: object
) -> Iterator[str]:
    """Conninfo of the database `dsn` behind a PgBouncer with at most `size` server connections.

    Everyone who connects acts as the user of `dsn`. `settings` are further lines of its configuration. `folder` is
    one that everyone may pass, and short (the fixture `short_folder`). Skips the test where PgBouncer is not installed.
    """
    binary = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if binary is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs PgBouncer: apt-get install pgbouncer")
    account = server_account()
    home = folder / f"pool{next(_numbers)}"
    account.make_folder(home, 0o700)
    server = {name: value for name, value in conninfo_to_dict(dsn).items() if value is not None}
    database = str(server.pop("dbname"))
    lines = {
        "listen_addr": "",
        "listen_port": 6432,
        "unix_socket_dir": home,
        "unix_socket_mode": "0777",
        "auth_type": "any",
        "pool_mode": mode,
        "default_pool_size": size,
        "max_client_conn": 200,
        "logfile": home / "log",
        "pidfile": home / "pid",
    } | settings
    text = (
        "[databases]\n" + f"{database} = " + " ".join(f"{name}='{value}'" for name, value in server.items())
    )
    text += "\n[pgbouncer]\n" + "".join(f"{name} = {value}\n" for name, value in lines.items())
    config = home / "pgbouncer.ini"
    config.write_text(text)
    config.chmod(0o644)
    process = subprocess.Popen(
        [binary, "-q", str(config)],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=account.uid if account.foreign else None,
        group=account.gid if account.foreign else None,
        extra_groups=[] if account.foreign else None,
    )
    conninfo = make_conninfo("", host=str(home), port=6432, user=str(server["user"]), dbname=database)
    try:
        _wait(process, conninfo, home / "log")
        yield conninfo
    finally:
        process.terminate()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", conninfo: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(conninfo, connect_timeout=5).close()
        except psycopg.OperationalError:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()  # noqa: PT018
            time.sleep(0.02)
        else:
            return
