"""SQL at a step: what is asked, what it means, how it ends."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell.app.screens.help import HelpScreen
from stepwell.core.world import Moment
from stepwell.store.watching import watch
from tests.app.asking import Asking
from tests.app.recorded import EMPTY, LOOPING
from tests.app.stepping import Debugging, debug

Ask = Callable[[Asking], Awaitable[None]]


def asking(
    dsn: str, act: Ask, *, run: UUID = LOOPING, step: int = 11, size: tuple[int, int] = (80, 24)
) -> None:
    """Open SQL at a step and do something there."""

    async def opened(debugger: Debugging) -> None:
        await act(await Asking(debugger).open())

    debug(dsn, run, opened, step=step, size=size)


@pytest.fixture
def shop(schema_dsn: str) -> tuple[str, UUID]:
    """A run whose step 1 and 2 each close an order of a watched table, beside a table that is not watched."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, status text)")
        connection.execute("CREATE TABLE prices (id int PRIMARY KEY)")
        connection.execute("INSERT INTO orders VALUES (1, 'open'), (2, 'open')")
        watch(connection, "orders")

        def close(number: int) -> None:
            connection.execute("UPDATE orders SET status = 'closed' WHERE id = %s", (number,))

        recorder = stepwell.Recorder(schema_dsn)
        with recorder.run("shop") as run:
            run.tool(close, number=1)
            run.tool(close, number=2)
        recorder.close()
    return schema_dsn, run.run_id


def test_a_statement_sees_the_watched_tables_as_of_the_step(shop: tuple[str, UUID]) -> None:
    """And what it means stands above its rows: past, today's, and functions that might read anything."""
    dsn, run = shop

    async def act(sql: Asking) -> None:
        assert "public.orders  exact" in sql.text
        shown = await sql.run("SELECT id, status FROM orders ORDER BY id")
        assert [row.split() for row in shown.splitlines() if row.strip()[:1].isdigit() and row[0] == " "] == [
            ["1", "closed"],
            ["2", "open"],
        ]
        assert f"as of {run.hex[:4]}:1 after: orders exact" in shown
        shown = await sql.run("SELECT count(*) FROM orders, prices")
        assert "public.prices today; orders exact" in shown

    asking(dsn, act, run=run, step=1)


def test_it_is_of_the_step_and_the_moment_that_the_debugger_shows(shop: tuple[str, UUID]) -> None:
    """And the debugger is as it was when one comes back."""
    dsn, run = shop

    async def act(debugger: Debugging) -> None:
        await debugger.press("na")
        before = debugger.text
        sql = await Asking(debugger).open()
        assert sql.lines[0].startswith(f"SQL at {run.hex[:4]}:2 asked")
        shown = await sql.run("SELECT string_agg(status, '+' ORDER BY id) AS all FROM orders")
        assert "closed+open" in shown
        await sql.send("<escape>")
        await debugger.settle()
        assert debugger.is_open
        assert debugger.text == before
        assert debugger.view.timeline.moment is Moment.ASKED

    debug(dsn, run, act, step=1)


def test_keys_that_are_typed_become_a_statement_and_its_rows(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        for letter in "select 6 + 36 as answer":
            await sql.send(letter)
        await sql.press("<enter>")
        assert "ROWS- 1 row: select 6 + 36 as answer" in sql.text
        assert "\n      42\n" in sql.text
        assert "ms SERIALIZABLE READ ONLY DEFERRABLE, rolled back" in sql.status
        assert "7f3a:11 after has no snapshot: today's rows" in sql.lines[1]
        assert sql.typed == ""

    asking(recorded_dsn, act)


def test_a_mistake_is_marked_and_the_statement_stays_to_be_mended(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        shown = (await sql.run("select run_id, nmae from agent_runs")).splitlines()
        at = next(at for at, row in enumerate(shown) if row.startswith("LINE 1: "))
        assert shown[at - 1].startswith('! column "nmae" does not exist') or 'column "nmae"' in "".join(
            shown[3:at]
        )
        assert shown[at + 1].index("^") == shown[at].index("nmae")
        assert sql.typed == "select run_id, nmae from agent_runs"
        assert sql.screen.editor.cursor_location == (0, 15)
        assert "refused" in sql.status
        await sql.press("<delete><delete><delete><delete>name<enter>")
        assert "rows: select run_id, name from agent_runs" in sql.text
        assert "only SELECT, WITH, VALUES, TABLE" in await sql.run("delete from agent_runs")

    asking(recorded_dsn, act)


def backends(dsn: str) -> list[tuple[object, ...]]:
    """What each session that is in a transaction waits for."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "SELECT wait_event FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND (state <> 'idle' OR xact_start IS NOT NULL)"
        ).fetchall()


def test_ctrl_c_cancels_what_runs_then_clears_and_never_quits(
    shop: tuple[str, UUID],
) -> None:
    dsn, run = shop

    async def act(sql: Asking) -> None:
        await sql.paste("select pg_sleep(60)")
        await sql.send("<enter>")
        await sql.debugger.until(lambda: ("PgSleep",) in backends(dsn))
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
        await sql.paste("select pg_sleep(60)")
        await sql.send("<enter>")
        await sql.debugger.until(lambda: ("PgSleep",) in backends(dsn))
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


def test_leaving_cancels_what_runs(shop: tuple[str, UUID]) -> None:
    dsn, run = shop

    async def act(sql: Asking) -> None:
        await sql.paste("select pg_sleep(60)")
        await sql.send("<enter>")
        await sql.debugger.until(lambda: ("PgSleep",) in backends(dsn))
        await sql.send("<escape>")
        await sql.debugger.until(lambda: sql.debugger.is_open and backends(dsn) == [])

    asking(dsn, act, run=run, step=1)


def test_a_statement_of_several_lines_runs_when_it_is_complete(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        await sql.paste("select 1")
        await sql.press("<ctrl+j>")
        await sql.paste(" + 41 as answer -- ;")
        await sql.press("<enter>")
        assert sql.typed == "select 1\n + 41 as answer -- ;\n"
        assert sql.lines[-1].startswith("; Enter run")
        await sql.press("<semicolon><enter>")
        assert "\n      42\n" in sql.text

    asking(recorded_dsn, act)


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
    path = Path(os.environ["XDG_STATE_HOME"]) / "stepwell" / "sql_history.json"
    assert json.loads(path.read_text()) == ["select 1", "select\n2;", "sele"]
    assert path.stat().st_mode & 0o077 == 0
    asking(recorded_dsn, second)


HOSTILE = r"""
select E'\x1b]52;c;cm0=\x07\x1b[2J\r\u202eRTL[bold]int[] [/x]\x7f' as "a
b", repeat('x', 1000000) as a, '日本語テキスト幅', null as a, 'NULL' as a, '' as a
"""


def test_hostile_values_are_shown_and_do_nothing(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        shown = await sql.run(HOSTILE.strip() + ";")
        assert r"\x1b]52;c;cm0=\x07" in shown
        assert r"a\nb" in shown
        assert all(text.isprintable() for text in shown.splitlines())
        await sql.press("<tab>")
        await sql.press("lll")
        assert "columns 4-6/6" in sql.text or "NULL" in sql.text
        await sql.press("<enter>")
        assert r"\u202eRTL[bold]int[] [/x]\x7f" in sql.text.replace("\n  ", "")
        await sql.press("G")
        await sql.debugger.until(lambda: sql.screen.rows.position.complete)
        assert [row.split() for row in sql.text.splitlines() if row.split()[:1] == ["a"]] [-3:] == [
            ["a", "NULL"], ["a", "'NULL'"], ["a"],
        ]  # fmt: skip

    asking(recorded_dsn, act)


SHAPES = {
    "select": ("ROWS- 1 row: select", "1 row without a column"),
    "select 1 as one, 2 as one where false": ("ROWS- 0 rows", "  one  one"),
    "select n from generate_series(1, 501) n": ("ROWS- 500 rows, more: LIMIT or \\more", "1-16/500"),
    "show server_encoding": ("UTF8",),
}


def test_every_shape_of_a_result_is_told(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        for statement, wanted in SHAPES.items():
            shown = await sql.run(statement)
            for text in wanted:
                assert text in shown

    asking(recorded_dsn, act)


def test_a_thousand_columns_are_walked_through(recorded_dsn: str) -> None:
    columns = ",".join(f"{n} c{n}" for n in range(1000))

    async def act(sql: Asking) -> None:
        shown = await sql.run(f"select {columns}")
        assert "columns 1-" in shown
        assert "/1,000" in shown
        await sql.press("<tab>" + "l" * 30)
        assert sql.screen.result is not None
        assert sql.screen.result.at == (0, 30)
        assert "c30" in sql.text

    asking(recorded_dsn, act)


def test_rows_are_walked_and_one_is_shown_whole(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        await sql.run(
            "select n, repeat(n::text, 60) as wide, jsonb_build_object('n', n) as info from generate_series(1, 40) n"
        )
        await sql.press("<tab>jjl")
        assert any(row.startswith(">  3") for row in sql.lines)
        await sql.press("<pagedown>")
        assert sql.screen.result is not None
        assert sql.screen.result.at.row == 18
        await sql.press("G<enter>")
        assert "[ROWS] row 40 of 40" in sql.text
        assert "40" * 39 in sql.text
        assert "40" * 60 in sql.text.replace("\n", "").replace(" ", "")
        await sql.press("q")
        assert "25-40/40" in sql.text
        assert "wi" in sql.text
        await sql.press("<pageup>kh")
        assert sql.screen.result.at == (22, 0)
        await sql.press("v")
        assert "no pager here" in sql.status
        await sql.press("g<tab>")
        assert "1-16/40" in sql.text
        assert sql.lines[-1].startswith("Enter run")

    asking(recorded_dsn, act)


def test_a_value_and_the_whole_result_are_copied(recorded_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")

    async def act(sql: Asking) -> None:
        await sql.run("""select 1 as n, 'say "hi", you' as "a,b", null as nothing, '' as blank""")
        await sql.press("<tab>lY")
        path = Path(os.environ["XDG_STATE_HOME"]) / "stepwell" / "copied.txt"
        assert path.read_text() == 'n,"a,b",nothing,blank\n1,"say ""hi"", you",,""\n'
        await sql.press("y")
        assert path.read_text() == 'say "hi", you'
        await sql.press("<tab>")
        await sql.run("select repeat('y', 1000001) as long")
        await sql.press("<tab>Y")
        assert "too large" in sql.status
        assert path.stat().st_size == len("long\n") + 1_000_002

    asking(recorded_dsn, act)


def test_backslash_commands(shop: tuple[str, UUID]) -> None:
    dsn, run = shop

    async def act(sql: Asking) -> None:
        await sql.run("select n from generate_series(1, 700) n")
        assert "public.orders  exact" in await sql.run(r"\d")
        assert "  id  key\n  status" in await sql.run(r"\d orders")
        assert r"prices is not watched: \d lists what is" in await sql.run(r"\d prices")
        assert "no command \\x" in await sql.run(r"\x")
        assert "ROWS- 700 rows" in await sql.run(r"\more")
        assert "there are no more rows" in await sql.run(r"\more")
        sql.screen.editor.put("\\?")
        await sql.send("<enter>")
        await sql.debugger.until(lambda: isinstance(sql.debugger.app.screen, HelpScreen))
        assert "PgDn Space" in sql.text
        await sql.send("q")
        await sql.settle()
        assert sql.screen.editor.has_focus
        sql.screen.editor.put("\\q")
        await sql.send("<enter>")
        await sql.debugger.until(lambda: sql.debugger.is_open)

    asking(dsn, act, run=run, step=1)


def test_above_is_told_what_is_shown_and_not_what_was_before_it(shop: tuple[str, UUID]) -> None:
    dsn, run = shop
    place = f"as of {run.hex[:4]}:1 after:"

    async def act(sql: Asking) -> None:
        read = f"{place} orders exact"
        assert sql.lines[1] == f"{place} 1 watched table, exact"
        await sql.run("select id, status as what from orders")
        assert sql.lines[1] == read
        for typed, wanted in (
            (r"\d", "1 watched table, exact"), (r"\d orders", "1 watched table, exact"),
            ("select nothing", "nothing was read"), ("delete from orders", "nothing was read"),
        ):  # fmt: skip
            await sql.run(typed)
            assert sql.lines[1] == f"{place} {wanted}"
            assert "as what" not in "\n".join(sql.lines[:-4])
        await sql.press("<tab>q")
        assert sql.lines[1] == read
        assert "as what" in sql.text
        await sql.press("<tab>")
        await sql.run("select 1")
        assert sql.lines[1] == f"{place} no watched table is read"

    asking(dsn, act, run=run, step=1)


def test_what_is_pasted_is_text_and_not_too_much(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        await sql.paste("select\x1b[2J\t1,\r\n2\u202e")
        assert sql.typed == "select\\x1b[2J    1,\n2\\u202e"
        await sql.paste("x" * 30_000)
        assert len(sql.typed) == 20_000
        assert "what was pasted is cut" in sql.status

    asking(recorded_dsn, act)


def test_a_run_without_steps_says_so(recorded_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.press("s")
        assert "the run has no steps to ask at" in debugger.status

    debug(recorded_dsn, EMPTY, act)


@pytest.mark.parametrize("size", [(60, 15), (30, 8)])
def test_it_fits_every_size(shop: tuple[str, UUID], size: tuple[int, int]) -> None:
    dsn, run = shop

    async def act(sql: Asking) -> None:
        shown = await sql.run("select * from orders")
        assert shown.splitlines()[0].startswith("SQL at")
        assert f"as of {run.hex[:4]}:1" in shown
        assert "ROWS-" in shown
        assert "[SQL]" in shown
        await sql.paste("select\n1,\n2,\n3,\n4,\n5,\n6,\n7,\n8,\n9,\n10,\n11;")
        assert "11;" in sql.text
        assert sql.lines[-1].startswith("Enter run")
        assert "Esc back" in sql.lines[-1]

    asking(dsn, act, run=run, step=1, size=size)
