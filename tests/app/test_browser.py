"""The browser of watched tables: the list, the rows as of a step, and the story of one."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from stepwell import Recorder
from stepwell.app.browsed import KEPT, Browsed
from stepwell.app.screens.browser import BrowserScreen
from stepwell.app.screens.sql import SqlScreen
from stepwell.core.pages import Start
from stepwell.core.world import Moment
from stepwell.replay.tables import Tables
from stepwell.store.connect import resolve
from stepwell.store.watching import watch
from tests.app import watched
from tests.app.recorded import LOOPING
from tests.app.stepping import Debugging, debug
from tests.app.watched import BARE, BULK, HOSTILE, LONG, MANY, REFUND, SYNC, WATCHED, locked
from tests.past.asking import WAITING


class Browsing:
    """The browser under keys."""

    def __init__(self, debugging: Debugging) -> None:
        self.debugging = debugging

    @property
    def screen(self) -> BrowserScreen:
        found = self.debugging.app.screen
        assert isinstance(found, BrowserScreen)
        return found

    async def press(self, typed: str) -> None:
        await self.debugging.send(typed)
        await self.debugging.until(lambda: self.screen.settled and self.debugging.app.keyboard.idle)

    @property
    def lines(self) -> list[str]:
        return self.debugging.text.splitlines()

    @property
    def body(self) -> str:
        return "\n".join(line for line in self.lines[1:-2] if line)


Act = Callable[[Browsing], Awaitable[None]]


def browse(
    dsn: str, step: int, act: Act, *, run: UUID = WATCHED, size: tuple[int, int] = (80, 24), before: str = ""
) -> None:
    """Open the browser at a step, `before` it press some keys, and do something with it."""

    async def drive(debugging: Debugging) -> None:
        await debugging.press(before)
        browsing = Browsing(debugging)
        await debugging.send("T")
        await debugging.until(lambda: isinstance(debugging.app.screen, BrowserScreen))
        await browsing.press("")
        await act(browsing)

    debug(dsn, run, drive, step=step, size=size)


def seen(
    dsn: str,
    step: int,
    typed: str = "",
    *,
    run: UUID = WATCHED,
    size: tuple[int, int] = (80, 24),
    before: str = "",
) -> list[str]:
    """The screen after some keys."""
    found: list[str] = []

    async def act(browsing: Browsing) -> None:
        await browsing.press(typed)
        found.extend(browsing.lines)

    browse(dsn, step, act, run=run, size=size, before=before)
    return found


def cursor(lines: list[str]) -> str:
    """The first value of the row that the cursor is on."""
    (row,) = [line for line in lines if line.startswith("> ")]
    return row.split()[1]


def test_the_list_has_each_table_with_its_changes_and_what_it_is_worth(watched_dsn: str) -> None:
    lines = seen(watched_dsn, REFUND)
    assert lines[0].startswith(f"tables at 5a1e:{REFUND} after")
    assert lines[2:4] == ["> orders  1 row changed  exact", "  stock   1 row changed  exact"]
    assert seen(watched_dsn, BULK)[2] == f"> orders  {MANY - 1:,} rows written  exact"
    assert "changed" not in "".join(seen(watched_dsn, REFUND, before="a")[2:4])


def test_without_a_watched_table_it_says_how_to_watch_one(recorded_dsn: str) -> None:
    assert "stepwell watch TABLE" in "".join(seen(recorded_dsn, 11, "<enter>", run=LOOPING))


def test_rows_are_those_of_the_step_whatever_became_of_them(watched_dsn: str) -> None:
    """Changed, deleted and added since."""
    before = seen(watched_dsn, REFUND, "<enter>/17<enter>")
    assert before[1] == f"orders as of 5a1e:{REFUND} after, exact"
    assert before[4].split() == [">", "17", "lamp", "17", "new", "41.50", "NULL"]
    after = seen(watched_dsn, SYNC, "<enter>/17<enter>")
    assert after[4].split()[:2] == [">", "18"]
    end = seen(watched_dsn, SYNC, "<enter>G")
    assert [line.split()[0] for line in end[19:22]] == ["1249", "8841", ">"]
    assert end[21].split()[1:] == ["9001", "漢字", "new", "12.50", "NULL"]
    assert "to the last row" in end[2]
    asked = seen(watched_dsn, REFUND, "<enter>G", before="a")
    assert asked[21].split() == [">", "8841", "lamp", "new", "41.50", "NULL"]


def test_every_row_is_passed_once_on_the_way_down_and_up(watched_dsn: str) -> None:
    """With no more of them in memory than is allowed."""
    chunk = 90
    tables = Tables(resolve(watched_dsn), WATCHED, REFUND, Moment.AFTER)
    orders = tables.listing().tables[0]
    browsed = Browsed(tables.page(orders, Start(), chunk), Start())
    browsed.result.page = 5

    def walk(how: str) -> list[str]:
        keys: list[str] = []
        while not keys or keys[-1] != str(browsed.key[0] if browsed.key else None):
            keys.append(str(browsed.key[0] if browsed.key else None))
            assert browsed.move(how) is None
            while (start := browsed.wanted()) is not None:
                browsed.extend(tables.page(orders, start, chunk), start)
            assert len(browsed.page.rows.rows) <= KEPT
        return keys

    every = [*map(str, range(1, MANY)), "8841"]
    assert walk("down") == every
    assert browsed.move("top") == (None if browsed.at_start else Start())
    assert walk("up") == every[::-1]
    tables.close()


def test_a_key_that_is_not_there_leads_to_the_next_and_a_wrong_one_is_told(watched_dsn: str) -> None:
    assert cursor(seen(watched_dsn, SYNC, "<enter>/2000<enter>")) == "8841"
    past = seen(watched_dsn, SYNC, "<enter>/99999<enter>")
    assert past[-2] == "no key is as high as that: these are the last"
    assert cursor(past) == "9001"
    assert seen(watched_dsn, SYNC, "<enter>/lamp<enter>")[-2].startswith("! invalid input syntax")


def test_a_row_is_shown_whole_and_with_its_story(watched_dsn: str) -> None:
    lines = seen(watched_dsn, REFUND, "<enter>G<enter>")
    assert lines[2].startswith("[ROW] id 8841 --")
    assert "status  refunded" in lines
    story = lines[lines.index("changed during the run") + 1 :]
    assert story[:5] == [
        f"  at {REFUND}  this run",
        "    status new -> refunded",
        "    total 41.50 -> 0.00",
        f"  at {BULK}  by shop-agent",
        "    total 0.00 -> 1.00",
    ]
    added = seen(watched_dsn, SYNC, "<enter>G<enter>")
    assert f"  at {SYNC} added  by warehouse-sync" in added
    deleted = seen(watched_dsn, REFUND, "<enter>/17<enter><enter>")
    assert f"  at {SYNC} deleted  by warehouse-sync" in deleted


def test_of_a_row_that_no_step_saw_change_it_is_not_said_that_it_did_not(schema_dsn: str) -> None:
    """The last step may have written it, and never have come to its end."""
    with psycopg.connect(schema_dsn, autocommit=True) as shop:
        shop.execute("CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1)")
        watch(shop, "orders")
        recorder = Recorder(schema_dsn)
        with recorder, recorder.run() as run, run.step("tool_call", "cut off"):
            shop.execute("UPDATE orders SET id = id")
            lines = seen(schema_dsn, 1, "<enter><enter>", run=run.run_id)
    assert "no change is seen during the run" in lines


def test_hostile_and_long_values_reach_no_terminal(watched_dsn: str) -> None:
    async def act(browsing: Browsing) -> None:
        await browsing.press("j<enter>")
        text = browsing.body
        assert "\\x1b]52;c;" in text
        await browsing.press("/desk<enter><right><right>y")
        assert "only the beginning of it is here" in browsing.lines[-2]
        await browsing.press("<enter>")
        assert "note  text" in browsing.body
        await browsing.press("y")
        assert "written to ~/.local/state/stepwell/copied.txt" in browsing.lines[-2]
        copied = Path("~/.local/state/stepwell/copied.txt").expanduser().read_text()
        assert copied == f"item\tdesk\nheld\t8\nnote\t{LONG}y\n"
        for line in (*text.splitlines(), *browsing.lines):
            assert line.isprintable()

    browse(watched_dsn, HOSTILE, act)


def test_what_is_not_known_shows_the_rows_of_today_and_says_so(watched_dsn: str) -> None:
    lines = seen(watched_dsn, BARE, "<enter>")
    assert lines[1].startswith(f"orders: today's rows, not those of 5a1e:{BARE} after: this step")
    assert seen(watched_dsn, BARE)[2].split() == [
        ">", "orders", "not", "known", "unknown:", "this", "step", "was", "recorded", "without", "a", "snapshot",
    ]  # fmt: skip
    assert "what became of it during the run is not known" in seen(watched_dsn, BARE, "<enter><enter>")


def test_a_key_of_several_columns_and_a_dropped_table(schema_dsn: str) -> None:
    watched.fill(schema_dsn)
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE orders")
        connection.execute("CREATE TABLE lines (o int, n int, what text, PRIMARY KEY (o, n))")
        connection.execute(
            "INSERT INTO lines SELECT o, n, 'x' FROM generate_series(1, 30) o, generate_series(1, 3) n"
        )
        watch(connection, "lines")
    lines = seen(schema_dsn, REFUND, "<enter>/7,2<enter>")
    assert "today's rows" in lines[1]
    first = next(at for at, line in enumerate(lines) if line.startswith("> "))
    assert lines[first].split() == [">", "7", "2", "x"]
    lines = seen(schema_dsn, REFUND, "j<enter>")
    assert lines[-2] == "! there is no table public.orders now"
    assert "> orders" in "\n".join(lines)


def test_entered_again_the_list_is_as_it_is_now_and_no_doubt_passes_for_unchanged(schema_dsn: str) -> None:
    watched.fill(schema_dsn)

    async def act(browsing: Browsing) -> None:
        assert browsing.lines[3] == "  stock   unchanged  exact"
        with psycopg.connect(schema_dsn, autocommit=True) as connection:
            connection.execute('ALTER TABLE stock DISABLE TRIGGER "!stepwell"')
        await browsing.press("<enter>q")
        assert browsing.lines[3].startswith("  stock   no change is seen  uncertain: a trigger")
        await browsing.press("j")
        assert browsing.lines[3].endswith("…")
        assert browsing.lines[20].startswith("stock uncertain: a trigger of Stepwell's on ")
        await browsing.press("k")
        assert browsing.lines[20] == ""
        with psycopg.connect(schema_dsn, autocommit=True) as connection:
            connection.execute("DROP TABLE stock")
        await browsing.debugging.press("q")
        await browsing.debugging.send("T")
        await browsing.debugging.until(lambda: isinstance(browsing.debugging.app.screen, BrowserScreen))
        await browsing.press("")
        assert browsing.lines[3] == "  stock   not known  unknown: the table was dropped"

    browse(schema_dsn, 1, act)


ROLE = "stepwell_test_viewer"


def test_who_may_not_read_a_table_is_told_whole_what_would_help(schema_dsn: str) -> None:
    """The schema first, then the table in it; on a narrow screen in several lines."""
    watched.fill(schema_dsn)
    with psycopg.connect(schema_dsn, autocommit=True) as owner:
        owner.execute("CREATE SCHEMA shop; CREATE TABLE shop.hold (id int PRIMARY KEY)")
        watch(owner, "shop.hold")
        owner.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'it'")
        owner.execute(f"GRANT SELECT ON agent_runs, agent_steps TO {ROLE}")
        try:
            theirs = psycopg.conninfo.make_conninfo(schema_dsn, user=ROLE, password="it")
            denied = "! this role may not read shop.hold: GRANT"
            lines = seen(theirs, SYNC, "jj<enter>")
            assert " ".join(lines[-3:-1]) == f"{denied} USAGE ON SCHEMA shop TO {ROLE}"
            owner.execute(f"GRANT USAGE ON SCHEMA shop TO {ROLE}")
            lines = seen(theirs, SYNC, "jj<enter>", size=(60, 15))
            assert " ".join(lines[-3:-1]) == f"{denied} SELECT ON shop.hold TO {ROLE}"
            assert "> shop.hold" in "\n".join(lines)
        finally:
            owner.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


def test_nothing_is_read_while_the_app_stands_still(watched_dsn: str) -> None:
    async def act(browsing: Browsing) -> None:
        await browsing.press("<enter>")
        app = browsing.debugging.app
        with locked(watched_dsn, "orders"), psycopg.connect(watched_dsn, autocommit=True) as other:
            await browsing.debugging.send("<enter>")
            await browsing.debugging.until(lambda: other.execute(WAITING).fetchone() == (1,))
            app.app_suspend_signal.publish(app)
            app.app_resume_signal.publish(app)
        await browsing.press("")
        assert "! cancelled" in browsing.lines

    browse(watched_dsn, REFUND, act)


def test_the_way_back_leads_through_rows_and_list_to_the_run(watched_dsn: str) -> None:
    async def act(browsing: Browsing) -> None:
        app = browsing.debugging.app
        await browsing.press("j")
        assert browsing.lines[app.cursor_position.y].startswith("> stock")
        await browsing.press("<enter><enter>")
        assert "[ROW]" in browsing.body
        await browsing.press("q")
        assert "[ROWS]" in browsing.body
        assert browsing.lines[app.cursor_position.y].startswith("> desk")
        await browsing.debugging.send("s")
        await browsing.debugging.until(lambda: isinstance(app.screen, SqlScreen) and app.screen.ready)
        assert f"SQL at 5a1e:{REFUND} after" in browsing.debugging.text
        await browsing.debugging.send("<escape>")
        await browsing.debugging.until(lambda: isinstance(app.screen, BrowserScreen))
        await browsing.press("<escape>")
        assert "[TABLES]" in browsing.body
        await browsing.debugging.send("q")
        await browsing.debugging.until(lambda: browsing.debugging.is_open)

    browse(watched_dsn, REFUND, act)


@pytest.mark.parametrize("size", [(60, 15), (40, 8), (20, 4)])
def test_any_size_will_do(watched_dsn: str, size: tuple[int, int]) -> None:
    async def act(browsing: Browsing) -> None:
        for typed in ("<enter>", "<space>", "<right><right>", "<enter>", "q", "q"):
            await browsing.press(typed)
            assert len(browsing.debugging.text.splitlines()) <= size[1]

    browse(watched_dsn, HOSTILE, act, size=size)


def test_keys_right_after_the_one_that_opens_a_row_are_for_the_row(watched_dsn: str) -> None:
    """However long it takes to be read; one that leaves does not wait, and leaves nothing else."""

    async def act(browsing: Browsing) -> None:
        await browsing.press("<enter>")
        with locked(watched_dsn, "orders"):
            await browsing.debugging.send("<enter>q")
            assert browsing.lines[2].startswith("[ROWS]")
            await browsing.debugging.send("j<enter>jq")
        await browsing.press("")
        assert browsing.lines[2].startswith("[ROWS]")
        assert cursor(browsing.lines) == "2"
        await browsing.press("<enter>")
        assert browsing.lines[2].startswith("[ROW] id 2 ")

    browse(watched_dsn, REFUND, act)
