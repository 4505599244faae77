"""SQL at a step: what is asked, what it means, how it ends."""

from uuid import UUID

import pytest

from stepwell.app.screens.help import HelpScreen
from stepwell.core.world import Moment
from tests.app.asking import Asking, asking
from tests.app.recorded import EMPTY
from tests.app.stepping import Debugging, debug


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
        shown = await sql.run("SELECT count(*) FROM public.orders")
        assert "public.orders today: without its schema it is of this step" in shown

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
        assert sql.lines[2].startswith("! ")  # of what the role may do it is said once
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
