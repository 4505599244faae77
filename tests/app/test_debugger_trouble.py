"""What can go wrong while a run is open: each is one line, and the debugger goes on."""

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from stepwell.app.messages import Opened
from stepwell.app.mover import Mover
from stepwell.store.connect import resolve
from stepwell.store.migrate import migrate
from tests.app.recorded import LIVE, LOOPING, alive, live, looping
from tests.app.stepping import Debugging, debug
from tests.conftest import Standby, create_database, drop_database

KILL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'stepwell'"
)


def test_a_connection_that_is_lost_is_opened_again(schema_dsn: str) -> None:
    """And the status line says so, once."""
    live(schema_dsn)

    async def act(debugger: Debugging) -> None:
        with psycopg.connect(schema_dsn) as other:
            other.execute(KILL)
        await debugger.press("n")
        assert debugger.number == 2
        assert "reconnected" in debugger.status
        await debugger.press("n")
        assert "reconnected" not in debugger.status

    debug(schema_dsn, LIVE, act)


def test_a_database_that_is_gone_is_one_line(server: str, schema_dsn: str) -> None:
    """Every key still works, each move says what is wrong, and q goes out."""
    live(schema_dsn)

    async def act(debugger: Debugging) -> None:
        drop_database(server, schema_dsn)
        for _ in range(2):
            await debugger.send("n")
            await debugger.until(lambda: debugger.status.startswith("! cannot connect to "))
            assert "does not exist" in debugger.view.error
            assert "\n" not in debugger.view.error
            debugger.screen.say("")
        assert debugger.number == 3
        await debugger.send("<tab>z?")
        await debugger.until(lambda: not debugger.is_open)
        await debugger.send("qqq")
        await debugger.ended()

    assert debug(schema_dsn, LIVE, act).return_value == 0


def test_a_server_that_comes_back_is_used_again(schema_dsn: str) -> None:
    """The move that failed is made by the next key."""
    live(schema_dsn)
    away = "ALTER TABLE agent_steps RENAME TO elsewhere"
    back = "ALTER TABLE elsewhere RENAME TO agent_steps"

    async def act(debugger: Debugging) -> None:
        with psycopg.connect(schema_dsn, autocommit=True) as other:
            other.execute(away)
            await debugger.send("n")
            await debugger.until(lambda: debugger.status.startswith("! "))
            other.execute(back)
        await debugger.press("p")
        assert debugger.number == 1
        await debugger.press("n")
        assert debugger.number == 2
        assert not debugger.view.error

    debug(schema_dsn, LIVE, act)


def test_rows_that_vanish_are_said(schema_dsn: str) -> None:
    """A run that is pruned while it is open."""
    live(schema_dsn)

    async def act(debugger: Debugging) -> None:
        with psycopg.connect(schema_dsn) as other:
            other.execute("DELETE FROM agent_steps WHERE step_number > 1")
        await debugger.send("n")
        await debugger.until(lambda: "! run 11fe0000 has no step 2" in debugger.status)
        await debugger.press("p")
        assert debugger.status.startswith("1/3 33% after")

    debug(schema_dsn, LIVE, act)


def test_a_live_run_that_vanishes_is_said(schema_dsn: str) -> None:
    """By the look that found it gone; what was read can still be looked at."""
    live(schema_dsn)
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            recorder.execute("DELETE FROM agent_steps")
            recorder.execute("DELETE FROM agent_runs")
            await debugger.until(
                lambda: "! run 11fe0000 is gone: it was deleted from the database" in debugger.status
            )
            assert "turn  1" in debugger.text

        debug(schema_dsn, LIVE, act)


def test_a_run_that_is_gone_before_it_opens_is_said_outside(schema_dsn: str) -> None:
    """With the exit status of a usage or connection error."""
    live(schema_dsn)

    class Late(Mover):
        def open(self) -> Opened:
            with psycopg.connect(schema_dsn) as other:
                other.execute("TRUNCATE agent_steps, agent_runs")
            return super().open()

    app = debug(schema_dsn, LIVE, wait_for_the_end, mover=Late(resolve(schema_dsn), LIVE), opened=False)
    assert app.return_value == 2
    assert app.last_words is not None
    assert "is gone: it was deleted from the database" in app.last_words


async def wait_for_the_end(debugger: Debugging) -> None:
    await debugger.ended()


@pytest.mark.parametrize("what", ["search", "move"])
def test_ctrl_c_cancels_what_is_blocked(schema_dsn: str, what: str) -> None:
    """Another connection holds a lock; the lock's own timeout is not waited for."""
    looping(schema_dsn)

    async def act(debugger: Debugging) -> None:
        with psycopg.connect(schema_dsn) as other:
            other.execute("SET lock_timeout = '5s'")
            other.execute("LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
            await debugger.send("/Ada<enter>" if what == "search" else "n")
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database IS NOT NULL"
            with psycopg.connect(schema_dsn, autocommit=True) as third:
                await debugger.until(lambda: third.execute(waits).fetchone() != (0,))
            assert debugger.screen.worker.busy
            await debugger.send("<ctrl+c>")
            await debugger.until(lambda: "! cancelled" in debugger.status)
        assert debugger.is_open
        await debugger.press("g5n")
        assert debugger.number == 6

    debug(schema_dsn, LOOPING, act)


def test_a_lock_that_is_held_too_long_is_one_line(schema_dsn: str) -> None:
    """A migration or a dump may hold the table; the move gives up after a second."""
    live(schema_dsn)

    async def act(debugger: Debugging) -> None:
        with psycopg.connect(schema_dsn) as other:
            other.execute("LOCK TABLE agent_steps IN ACCESS EXCLUSIVE MODE")
            await debugger.send("n")
            await debugger.until(lambda: "replaying" in debugger.status)
            await debugger.until(lambda: "! agent_steps is locked by " in debugger.status)
            assert f"(pid {other.info.backend_pid}): waited 1 s" in debugger.status

    debug(schema_dsn, LIVE, act)


def test_a_hot_standby_is_read_as_well_as_it_can_be(standby: Standby) -> None:
    """It cannot run SERIALIZABLE, and the status line says what it ran instead."""
    primary = create_database(standby.primary.conninfo("postgres"))
    migrate(primary)
    live(primary)
    standby.catch_up()
    replica = standby.replica.conninfo(str(conninfo_to_dict(primary)["dbname"]))

    async def act(debugger: Debugging) -> None:
        assert "REPEATABLE READ rolled back: standby" in debugger.status
        await debugger.press("n")
        assert debugger.number == 2

    debug(replica, LIVE, act)
    drop_database(standby.primary.conninfo("postgres"), primary)


def test_another_serializable_writer_is_not_waited_for_for_ever(schema_dsn: str) -> None:
    """After a second the move takes a weaker snapshot, and names whom it would not wait for."""
    live(schema_dsn)

    async def act(debugger: Debugging) -> None:
        with psycopg.connect(schema_dsn) as other:
            other.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            other.execute("UPDATE agent_runs SET tags = '{}'")
            for key in "npnpn":  # where there was no time to look within the wait, nobody is named
                await debugger.press(key)
                assert "REPEATABLE READ rolled back: no safe snapshot in 1000 ms" in debugger.status
                if " behind " in debugger.status:
                    break
            assert " behind " in debugger.status
        await debugger.press("n")
        assert "SERIALIZABLE rolled back" in debugger.status

    debug(schema_dsn, LIVE, act)
