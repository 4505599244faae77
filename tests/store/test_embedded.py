"""The life of the embedded Postgres: one for all its users, gone after the last, however they end.

Every test runs its users as processes of their own: as an ordinary user, and where the tests are root's in the long
ones as root too; that the suite's own server runs at all shows the most of that.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from stepwell.store.account import Account, server_account

from .conftest import Site, uid_of, wait_until

AS_ROOT = [pytest.param("root", marks=pytest.mark.long)] if os.geteuid() == 0 else []


@pytest.fixture(scope="module", params=[*AS_ROOT, "ordinary"])
def uid(request: pytest.FixtureRequest) -> int:
    """Root, where the tests run as root, and an ordinary user."""
    return uid_of(request.param)


def keeper_of(site: Site) -> int:
    """The one process that keeps the server."""
    found = subprocess.run(
        ["pgrep", "-f", f"keeper.py {site.cluster.folder}"], capture_output=True, check=True
    )
    return int(found.stdout)


def test_the_first_user_starts_it_and_it_stops_with_the_last(site: Site) -> None:
    user = site.run()
    assert user.report
    assert site.server is not None
    user.leave()
    site.wait_until_stopped()


def test_it_listens_on_its_private_socket_alone(site: Site) -> None:
    assert site.run().report["addresses"] == ""
    assert site.cluster.socket_folder.stat().st_mode & 0o777 == 0o700


def test_the_wheel_is_never_imported(site: Site) -> None:
    assert site.run().report["imported"] is False


def test_starters_at_once_share_one_server_and_the_first_says_that_it_is_being_made(
    new_site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    users = [new_site.run() for _ in range(4)]
    assert len({user.report["started"] for user in users}) == 1
    for user in users:
        user.leave()
    new_site.wait_until_stopped()
    assert new_site.run().report
    assert capfd.readouterr().err == f"making the embedded Postgres in {new_site.cluster.folder}\n"


def test_it_survives_its_starter_and_stops_with_the_other_user(site: Site) -> None:
    starter = site.run()
    other = site.run()
    assert starter.report["started"] == other.report["started"]
    starter.kill()
    third = site.run()
    assert third.report["started"] == other.report["started"]
    third.leave()
    assert site.cluster.answers()
    other.leave()
    site.wait_until_stopped()


def test_it_stops_when_its_last_user_is_killed(site: Site) -> None:
    user = site.run()
    assert user.report
    user.kill()
    site.wait_until_stopped()


def test_a_forked_child_goes_on_using_it(site: Site) -> None:
    parent = site.run("fork")
    child = parent.report["child"]
    os.kill(parent.pid, signal.SIGKILL)
    started = parent.report["started"]
    assert site.run().report["started"] == started
    os.kill(child, signal.SIGKILL)


def test_what_was_committed_is_there_the_next_time(site: Site) -> None:
    first = site.run()
    assert first.report
    first.leave()
    site.wait_until_stopped()
    second = site.run()
    assert {first.pid, second.pid} <= set(second.report["visits"])


def test_a_server_that_was_killed_is_started_again_with_all_that_was_committed(site: Site) -> None:
    first = site.run()
    assert first.report
    server = site.server
    assert server is not None
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: site.server is None)
    assert {first.pid} <= set(site.run().report["visits"])


def test_a_server_whose_keeper_was_killed_gets_another(site: Site) -> None:
    first = site.run()
    assert first.report
    os.kill(keeper_of(site), signal.SIGKILL)
    second = site.run()
    assert second.report["started"] == first.report["started"]
    first.leave()
    second.leave()
    site.wait_until_stopped()


def test_the_number_of_a_server_long_gone_may_belong_to_another_process_now(site: Site) -> None:
    assert site.run().report
    site.processes[0].leave()
    site.wait_until_stopped()
    account = server_account() if site.uid == 0 else Account(site.uid, site.uid, foreign=os.geteuid() == 0)
    owner = account.uid if account.foreign else None
    with subprocess.Popen(["sleep", "60"], user=owner) as other:
        stale = site.cluster.data / "postmaster.pid"
        stale.write_text(f"{other.pid}\n{site.cluster.data}\n1700000000\n5432\n/nowhere\n\n1 1\nready   \n")
        if account.foreign:
            os.chown(stale, account.uid, account.gid)
        assert site.run().report
        assert other.poll() is None
        other.kill()


def test_a_first_start_that_was_cut_short_is_done_over(new_site: Site) -> None:
    user = new_site.run()
    assert user.report
    user.leave()
    new_site.wait_until_stopped()
    unfinished = new_site.cluster.folder / "data.new"
    new_site.cluster.data.rename(unfinished)
    (unfinished / "PG_VERSION").unlink()
    assert new_site.run().report
    assert not unfinished.exists()


def test_the_servers_processes_know_nothing_of_the_starters_secrets(site: Site) -> None:
    assert site.run().report
    environment = Path(f"/proc/{site.server}/environ")
    if environment.exists():
        assert b"hunter2" not in environment.read_bytes()


def test_a_home_with_a_long_path_gets_its_socket_elsewhere(new_site: Site) -> None:
    long = new_site.folder / "server" / ("x" * 90) if new_site.uid == 0 else new_site.home / ("x" * 90)
    user = new_site.run(STEPWELL_HOME=str(long / "y"))
    long.parent.mkdir(exist_ok=True)
    socket_folder = Path(user.report["conninfo"].split()[0].removeprefix("host="))
    assert socket_folder.parent == Path(f"/tmp/stepwell-{new_site.uid}")
    assert socket_folder.stat().st_mode & 0o777 == 0o700
    user.leave()
    wait_until(lambda: not list(socket_folder.glob(".s.PGSQL.*")))
    shutil.rmtree(socket_folder)
