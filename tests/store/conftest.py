"""Processes that share an embedded Postgres, as root and as an ordinary user."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell import Recorder
from stepwell.store import keeper
from stepwell.store.account import first_closed
from stepwell.store.binaries import locate
from stepwell.store.cluster import Cluster
from stepwell.store.connect import resolve
from tests.store.branched import Stored, agent

SCRIPT = Path(__file__).with_name("embedded_user.py")
NOBODY = 65534
_numbers = count(1)


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once `condition` holds; fail after a time in which it should have on the slowest machine."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


class Process:
    """One user of the server: runs until told to leave."""

    def __init__(self, popen: "subprocess.Popen[str]") -> None:
        self._popen = popen
        self.pid = popen.pid

    @cached_property
    def said(self) -> dict[str, Any]:
        """What it printed: a report once it was connected, or `error`."""
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        assert line, f"exit status {self._popen.wait()}"
        said: dict[str, Any] = json.loads(line)
        return said

    @property
    def report(self) -> dict[str, Any]:
        """Its report, once it is connected."""
        assert "error" not in self.said, self.said["error"]
        return self.said

    def leave(self) -> None:
        self._popen.communicate()

    def kill(self) -> None:
        self._popen.kill()
        self._popen.communicate()


@dataclass
class Site:
    """A user's home and embedded server, and the processes that use it."""

    uid: int
    folder: Path
    processes: list[Process] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def cluster(self) -> Cluster:
        return Cluster.under(self.folder / "server" if self.uid == 0 else self.home / ".local/share/stepwell")

    def run(self, *arguments: str, **environment: str) -> Process:
        """Start a user of the server. Root's is put beside the home, where its service user can reach it."""
        env = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PGDATABASE": "ignored",
            "SECRET": "hunter2",
        }
        if self.uid == 0:
            env["STEPWELL_HOME"] = str(self.folder / "server")
        other = self.uid != os.geteuid()
        python, libraries = interpreter(self.uid)
        env["PYTHONPATH"] = os.pathsep.join(libraries)
        popen = subprocess.Popen(
            [python, SCRIPT, *arguments],
            env=env | environment,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=self.uid if other else None,
            group=self.uid if other else None,
            extra_groups=[] if other else None,
        )
        self.processes.append(Process(popen))
        return self.processes[-1]

    @property
    def server(self) -> int | None:
        return keeper.server_pid(str(self.cluster.data))

    def wait_until_stopped(self) -> None:
        wait_until(lambda: self.server is None and not self.cluster.answers())

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        keeper.stop(str(self.cluster.data))
        shutil.rmtree(self.folder)


def make_site(uid: int, folder: Path) -> Site:
    """A home of mode 0700 for `uid` in a new folder that everyone may pass."""
    site = Site(uid, folder)
    folder.mkdir()
    folder.chmod(0o755)
    site.home.mkdir(mode=0o700)
    if uid != os.geteuid():
        os.chown(site.home, uid, uid)
    return site


@pytest.fixture(scope="module", params=["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"])
def uid(request: pytest.FixtureRequest) -> int:
    """Root, where the tests run as root, and an ordinary user."""
    return uid_of(request.param)


def uid_of(who: str) -> int:
    """Of `root` or an `ordinary` user, who is whoever runs the tests unless that is root."""
    if os.geteuid() != 0:
        return os.geteuid()
    if who == "root":
        return 0
    if (closed := first_closed(SCRIPT.parent) or first_closed(locate())) is not None:
        pytest.skip(f"an ordinary user cannot pass {closed}; run the tests as one as well")
    return NOBODY


def interpreter(uid: int) -> tuple[str, list[str]]:
    """A Python that `uid` can run: the system's where root keeps ours to itself; and what its path lacks."""
    libraries = [str(Path(psycopg.__file__).parents[1]), str(Path(keeper.__file__).parents[2])]
    if uid == 0 or first_closed(Path(sys.executable).resolve().parent) is None:
        return sys.executable, libraries
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if (python := shutil.which(name, path="/usr/bin:/usr/local/bin")) is None:
        pytest.skip(f"an ordinary user cannot run {sys.executable}; run the tests as one as well")
    return python, libraries


@pytest.fixture(scope="module")
def shared_site(uid: int, short_folder: Path) -> Iterator[Site]:
    """One home for the tests of a module: the data folder is made once."""
    site = make_site(uid, short_folder / f"s{next(_numbers)}")
    yield site
    site.close()


@pytest.fixture
def site(shared_site: Site) -> Iterator[Site]:
    """A home whose server is not running."""
    yield shared_site
    for process in shared_site.processes:
        process.kill()
    shared_site.processes.clear()
    shared_site.wait_until_stopped()


@pytest.fixture
def new_site(uid: int, short_folder: Path) -> Iterator[Site]:
    """A home that never had a server."""
    site = make_site(uid, short_folder / f"s{next(_numbers)}")
    yield site
    site.close()


@pytest.fixture
def stored(schema_dsn: str) -> Stored:
    """A run to branch off."""
    with closing(Recorder(schema_dsn, durability="async")) as recorder, recorder.run("lamps", seed=4) as run:
        agent(run)
    return Stored(resolve(schema_dsn), run.run_id)
