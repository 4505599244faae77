"""Locks, time limits, lost rights, lost tables, a read-only server, a full disk: a clear error each, and on it goes."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stepwell import Recorder, RecordingError
from stepwell.recorder import line
from stepwell.store.account import server_account
from tests.recorder.conftest import Look
from tests.recorder.test_failures import Observer, hold, in_threads, kill_recorders


def role(connection: Observer) -> str:
    return f"weaver_{connection.info.dbname}"


@contextmanager
def locked_table(connection: Observer) -> Iterator[str]:
    connection.execute("BEGIN; LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
    yield "canceling statement due to (lock|statement) timeout"
    connection.execute("COMMIT")


@contextmanager
def lost_rights(connection: Observer) -> Iterator[str]:
    connection.execute(f"REVOKE INSERT ON agent_steps FROM {role(connection)}")
    yield "permission denied for table agent_steps"
    connection.execute(f"GRANT INSERT ON agent_steps TO {role(connection)}")


@contextmanager
def lost_table(connection: Observer) -> Iterator[str]:
    connection.execute("ALTER TABLE agent_steps RENAME TO elsewhere")
    yield 'relation "agent_steps" does not exist'
    connection.execute("ALTER TABLE elsewhere RENAME TO agent_steps")


@contextmanager
def read_only(connection: Observer) -> Iterator[str]:
    name = connection.info.dbname
    connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    kill_recorders(connection)
    yield "read-only transaction"
    connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


@pytest.fixture
def weaver(schema_dsn: str, connection: Observer) -> Iterator[str]:
    """Conninfo of a role that may record, and may not wait for long."""
    connection.execute(f"CREATE ROLE {role(connection)} LOGIN")
    connection.execute(f"GRANT SELECT, INSERT, UPDATE ON agent_steps, agent_runs TO {role(connection)}")
    yield f"{schema_dsn} user={role(connection)}"
    connection.execute(f"DROP OWNED BY {role(connection)}; DROP ROLE {role(connection)}")


@pytest.mark.parametrize(
    ("trouble", "limit"),
    [
        (locked_table, "lock_timeout"),
        (locked_table, "statement_timeout"),
        (lost_rights, "lock_timeout"),
        (lost_table, "lock_timeout"),
        (read_only, "lock_timeout"),
    ],
)
def test_trouble_is_told_once_to_each_caller_and_is_over_when_it_is_over(
    weaver: str, connection: Observer, steps: Look, monkeypatch: pytest.MonkeyPatch, trouble: Any, limit: str
) -> None:
    monkeypatch.setattr(line, "PAUSES", ())
    connection.execute(f"ALTER ROLE {role(connection)} SET {limit} = '100ms'")
    made: list[int] = []
    with Recorder(weaver) as recorder, recorder.run() as run:
        run.tool(len, "a")
        with trouble(connection) as why:
            outcomes = in_threads(*[lambda: run.tool(made.append, 1)] * 5)
            for outcome in outcomes:
                assert isinstance(outcome, RecordingError)
                with pytest.raises(RecordingError, match=why):
                    raise outcome
        assert made == []
        assert in_threads(*[lambda: run.tool(len, "ab")] * 5) == [2] * 5
    assert [row["step_number"] for row in steps(run.run_id)] == list(range(1, 7))


def test_a_recorder_waits_half_a_minute_for_a_lock_where_its_role_does_not_say(
    recorder: Recorder, weaver: str, connection: Observer, steps: Look
) -> None:
    connection.execute(
        "ALTER TABLE agent_steps ADD COLUMN patience text DEFAULT current_setting('lock_timeout')"
    )
    connection.execute(f"ALTER ROLE {role(connection)} SET lock_timeout = '7s'")
    with recorder.run() as run, Recorder(weaver) as other:
        run.tool(len, "a")
        other.resume(run.run_id).tool(len, "a")
    assert [row["patience"] for row in steps(run.run_id)] == ["30s", "7s"]


def test_a_run_whose_row_is_locked_does_not_fail_the_others(
    weaver: str, connection: Observer, steps: Look
) -> None:
    connection.execute(f"ALTER ROLE {role(connection)} SET lock_timeout = '200ms'")
    with Recorder(weaver) as recorder:
        runs = [recorder.start() for _ in range(3)]
        hold(connection, runs[1].run_id)
        outcomes = in_threads(*[lambda run=run: run.tool(len, "a") for run in runs for _ in range(3)])
        connection.execute("COMMIT")
        assert [isinstance(outcome, RecordingError) for outcome in outcomes] == [False] * 3 + [True] * 3 + [
            False
        ] * 3
        assert [run.tool(len, "ab") for run in runs] == [2, 2, 2]
    assert [len(steps(run.run_id)) for run in runs] == [4, 1, 4]


@contextmanager
def full_disk(connection: Observer) -> Iterator[Callable[[bool], None]]:
    """Puts agent_steps on a small disk of its own; gives a switch that fills it and makes room again."""
    folder = Path("/tmp") / f"stepwell-disk-{os.getpid()}"
    folder.mkdir()
    name = f"small_{os.getpid()}"
    if (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=False).returncode
        != 0
    ):
        folder.rmdir()
        pytest.skip("a disk of its own cannot be mounted here")
    ballast = folder / "ballast"

    def fill(full: bool) -> None:
        ballast.unlink(missing_ok=True)
        if full:
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(b"x" * 4096):
                    pass

    try:
        account = server_account()
        (folder / "space").mkdir()
        os.chown(folder / "space", account.uid, account.gid)
        connection.execute(f"CREATE TABLESPACE {name} LOCATION '{folder}/space'")
        connection.execute(f"ALTER TABLE agent_steps SET TABLESPACE {name}")
        yield fill
        fill(False)
        connection.execute("ALTER TABLE agent_steps SET TABLESPACE pg_default")
        connection.execute(f"DROP TABLESPACE {name}")
    finally:
        # Lazily: a standby of the server has the tablespace at the same place, and may be using it still.
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mount") is None, reason="needs root, to mount a small disk"
)
@pytest.mark.parametrize("on_failure", ["error", "spool"])
def test_a_full_disk(
    request: pytest.FixtureRequest, schema_dsn: str, connection: Observer, steps: Look, on_failure: Any
) -> None:
    if request.config.getoption("--dsn"):
        pytest.skip("the server may be on another machine")
    with full_disk(connection) as fill, Recorder(schema_dsn, on_failure=on_failure) as recorder:
        run = recorder.start()
        run.tool(len, "a")
        fill(True)
        noise = os.urandom(100_000).hex()
        outcomes = in_threads(*[lambda: run.tool(len, noise)] * 4)
        fill(False)
        if on_failure == "error":
            for outcome in outcomes:
                assert isinstance(outcome, RecordingError)
                assert "No space left on device" in str(outcome) or "could not extend file" in str(outcome)
        else:
            assert outcomes == [200_000] * 4
        assert run.tool(len, "ab") == 2
        run.finish()
        recorder.close()
        rows = steps(run.run_id)
        assert [row["step_number"] for row in rows] == list(range(1, len(rows) + 1))
        assert [row["got"] for row in rows] == [
            1,
            *[outcome for outcome in outcomes if outcome == 200_000],
            2,
        ]
