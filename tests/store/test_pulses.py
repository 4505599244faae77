"""Alive or dead, by the lock or by the heartbeat: the list, an opened run and a glance say the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest

from stepwell.core.liveness import ALIVE_SECONDS, lock_key
from stepwell.errors import UsageError
from stepwell.replay.runs import Runs
from stepwell.store.connect import connect, resolve
from stepwell.store.migrate import migrate
from stepwell.store.pulses import Pulse, read_pulses
from stepwell.store.reading import find_run, list_runs
from tests.conftest import Standby, create_database, drop_database
from tests.store.rows import add_run, add_step, run_id

RUN = run_id(0x7F3A0000)


@contextmanager
def held(dsn: str) -> Iterator[None]:
    """The lock of a recorder that has the run open."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock_shared(%s)", [lock_key(RUN)])
        yield


def beat(dsn: str, seconds: float | None) -> None:
    """The last sign of life of a recorder behind a pooler was so long ago by the server's clock."""
    ago = None if seconds is None else timedelta(seconds=seconds)
    with psycopg.connect(dsn) as connection:
        connection.execute("UPDATE agent_runs SET heartbeat = clock_timestamp() - %s::interval", [ago])


def status(dsn: str) -> str:
    """What all three ways to read it say."""
    with connect(resolve(dsn), read_only=True) as connection:
        (listed,) = list_runs(connection, limit=5)
        found = find_run(connection, "7f3a")
        pulse = read_pulses(connection, [RUN])[RUN]
    assert listed == found
    assert Pulse.of(found) == pulse
    return pulse.status


@pytest.mark.parametrize(
    ("locked", "seconds", "said"),
    [
        (True, None, "running"),
        (False, None, "died"),
        (False, 0, "running"),
        (False, ALIVE_SECONDS - 2, "running"),
        (False, ALIVE_SECONDS + 1, "died"),
        (True, ALIVE_SECONDS + 1, "running"),
    ],
)
def test_a_run_lives_while_its_lock_is_held_or_its_heart_beats(
    schema_dsn: str, locked: bool, seconds: float | None, said: str
) -> None:
    add_run(schema_dsn, RUN, steps=3, finished=2)
    beat(schema_dsn, seconds)
    if not locked:
        assert status(schema_dsn) == said
        return
    with held(schema_dsn):
        assert status(schema_dsn) == said
    beat(schema_dsn, None)
    assert status(schema_dsn) == "died"


@pytest.mark.parametrize("ended", ["ok", "failed", None])
def test_what_has_ended_or_is_not_known_needs_no_sign_of_life(schema_dsn: str, ended: str | None) -> None:
    add_run(schema_dsn, RUN, status=ended)
    assert status(schema_dsn) == (ended or "unknown")


def test_tables_from_before_there_were_heartbeats_are_read_alike(schema_dsn: str) -> None:
    add_run(schema_dsn, RUN)
    with psycopg.connect(schema_dsn) as connection:
        connection.execute("ALTER TABLE agent_runs DROP COLUMN heartbeat")
    assert status(schema_dsn) == "died"
    with held(schema_dsn):
        assert status(schema_dsn) == "running"


def test_a_run_that_is_gone_has_no_pulse(schema_dsn: str) -> None:
    with connect(resolve(schema_dsn)) as connection:
        assert read_pulses(connection, [RUN]) == {}


def test_a_standby_does_not_see_locks_and_leaves_a_run_running(standby: Standby) -> None:
    primary = standby.primary.conninfo("postgres")
    dsn = create_database(primary)
    try:
        migrate(dsn)
        add_run(dsn, RUN)
        beat(dsn, ALIVE_SECONDS + 60)
        standby.catch_up()
        name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
        assert status(standby.replica.conninfo(str(name))) == "running"
    finally:
        drop_database(primary, dsn)


def test_a_glance_opens_a_lost_connection_again_and_leaves_nothing_open(schema_dsn: str, server: str) -> None:
    add_run(schema_dsn, RUN, status="ok", steps=1, finished=1)
    name = psycopg.conninfo.conninfo_to_dict(schema_dsn)["dbname"]
    mine = "FROM pg_stat_activity WHERE datname = %s AND application_name = 'stepwell'"
    runs = Runs(resolve(schema_dsn))
    with psycopg.connect(server, autocommit=True) as other:
        for _ in range(2):
            assert runs.pulses([RUN]) == {RUN: Pulse("ok", 1, 0)}
            assert other.execute(f"SELECT state {mine}", [name]).fetchall() == [("idle",)]
            other.execute(f"SELECT pg_terminate_backend(pid, 5000) {mine}", [name])
    runs.close()


def test_a_prefix_of_a_recorded_run_and_of_bare_steps_is_of_two_runs(schema_dsn: str) -> None:
    add_run(schema_dsn, RUN, name="recorded", status="ok")
    add_step(schema_dsn, RUN, 1)
    bare = run_id(0x7F810000)
    add_step(schema_dsn, bare, 1)
    with connect(resolve(schema_dsn)) as connection:
        with pytest.raises(UsageError, match=r"^7f matches 2 runs: 7f3a00…, 7f8100…; give more of the id$"):
            find_run(connection, "7f")
        assert find_run(connection, "7f3").name == "recorded"
        assert find_run(connection, str(RUN)).name == "recorded"
        found = find_run(connection, "7f8")
        assert (found.run_id, found.status, found.steps) == (bare, "unknown", 1)
        add_step(schema_dsn, run_id(0x7F820000), 1)
        with pytest.raises(UsageError, match=r"^7f8 matches 2 runs"):
            find_run(connection, "7f8")
