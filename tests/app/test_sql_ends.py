"""SQL at a step: how statements end and screens are left, and what stays of them."""

import json
import os
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from stepwell.app.screens.sql import SqlScreen
from tests.app.asking import Asking, asking
from tests.app.stepping import Debugging, debug
from tests.app.watched import locked


def backends(dsn: str) -> list[tuple[object, ...]]:
    """What each session that is in a transaction waits for."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "SELECT wait_event FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND (state <> 'idle' OR xact_start IS NOT NULL)"
        ).fetchall()


def history() -> Path:
    """Where statements are kept."""
    return Path(os.environ["XDG_STATE_HOME"]) / "stepwell" / "sql_history.json"


async def hang(sql: Asking, dsn: str) -> None:
    """Run what takes forever, and wait until it does."""
    await sql.paste("select pg_sleep(60)")
    await sql.send("<enter>")
    await sql.debugger.until(lambda: ("PgSleep",) in backends(dsn))


def test_ctrl_c_cancels_what_runs_then_clears_and_never_quits(
    shop: tuple[str, UUID],
) -> None:
    dsn, run = shop

    async def act(sql: Asking) -> None:
        await hang(sql, dsn)
        await sql.send("<enter>")
        assert "still running" in sql.status
        await sql.press("<ctrl+c>")
        assert "cancelled" in sql.status
        assert backends(dsn) == []
        assert sql.typed == "select pg_sleep(60)"
        await sql.press("<ctrl+c>")
        assert sql.typed == ""
        await sql.press("<ctrl+c>")
        assert "nothing is running; Esc goes back" in sql.status
        await sql.send("<ctrl+d>")
        await sql.debugger.until(lambda: sql.debugger.is_open)

    asking(dsn, act, run=run, step=1)


def test_what_was_not_answered_stands_in_place_of_the_rows_before_it(shop: tuple[str, UUID]) -> None:
    dsn, run = shop

    async def act(sql: Asking) -> None:
        await sql.run("select count(*) from orders")
        await hang(sql, dsn)
        with psycopg.connect(dsn) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event = 'PgSleep'"
            )
        await sql.settle()
        assert sql.lines[1].endswith("after: nothing was read")
        assert sql.lines[2].startswith("ROWS- no answer -")
        assert sql.lines[3].startswith("! connection lost: an administrator or a restart ended the session")
        assert sql.typed == "select pg_sleep(60)"

    asking(dsn, act, run=run, step=1)


@pytest.mark.parametrize("typed", ["<escape>", r"\q<enter>"])
def test_leaving_cancels_what_runs(shop: tuple[str, UUID], typed: str) -> None:
    dsn, run = shop

    async def act(sql: Asking) -> None:
        await hang(sql, dsn)
        sql.screen.editor.put(r"\more")
        await sql.send("<enter>")
        assert "still running" in sql.status
        sql.screen.editor.put("")
        await sql.send(typed)
        await sql.debugger.until(lambda: sql.debugger.is_open and backends(dsn) == [])

    asking(dsn, act, run=run, step=1)


def test_no_statement_runs_while_the_app_stands_still(shop: tuple[str, UUID]) -> None:
    """As after Ctrl-Z, which might be for days."""
    dsn, run = shop

    async def act(sql: Asking) -> None:
        await hang(sql, dsn)
        app = sql.debugger.app
        app.app_suspend_signal.publish(app)
        assert backends(dsn) == []
        app.app_resume_signal.publish(app)
        await sql.settle()
        assert "cancelled" in sql.status

    asking(dsn, act, run=run, step=1)


def test_up_and_down_recall_what_was_asked_also_in_a_later_session(recorded_dsn: str) -> None:
    async def first(sql: Asking) -> None:
        await sql.run("select 1")
        await sql.run("select\n2;")
        await sql.paste("sele")
        await sql.press("<up>")
        assert sql.typed == "select\n2;"
        await sql.press("<up><up><up>")
        assert sql.typed == "select 1"
        await sql.press("<down><down><down>")
        assert sql.typed == "sele"
        await sql.send("<escape>")

    async def second(sql: Asking) -> None:
        await sql.press("<up>")
        assert sql.typed == "sele"
        await sql.press("<up>")
        assert sql.typed == "select\n2;"

    asking(recorded_dsn, first)
    path = history()
    assert json.loads(path.read_text()) == ["select 1", "select\n2;", "sele"]
    assert path.stat().st_mode & 0o077 == 0
    asking(recorded_dsn, second)  # which ends as where the terminal goes away
    assert json.loads(history().read_text())[-1] == "select\n2;"


def test_statements_are_kept_though_one_leaves_before_any_is_answered(shop: tuple[str, UUID]) -> None:
    """Also one in whose place another was given; the command that leaves is no statement."""
    dsn, run = shop

    async def act(debugger: Debugging) -> None:
        sql = Asking(debugger)
        with locked(dsn, "agent_steps"):
            await debugger.send("s")
            await debugger.until(lambda: isinstance(debugger.app.screen, SqlScreen) and sql.screen.ready)
            for text in ("select 1", "select 2"):
                sql.screen.editor.put("")
                await sql.paste(text)
                await sql.send("<enter>")
            sql.screen.editor.put(r"\d")
            await sql.send("<enter>")
            assert "what is watched is not known yet" in sql.status
            sql.screen.editor.put("select 3")
            await sql.send("<escape>")
            await debugger.until(lambda: debugger.is_open)
        await sql.open()
        sql.screen.editor.put(r"\q")
        await sql.send("<enter>")
        await debugger.until(lambda: debugger.is_open)

    debug(dsn, run, act, step=1)
    assert json.loads(history().read_text()) == ["select 1", "select 2", "select 3"]
