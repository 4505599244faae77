"""TABLES: what a step changed in the database, on the screen."""

import re
import threading
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

from stepwell.app.geometry import Pane
from stepwell.app.messages import Changed
from stepwell.app.mover import Mover
from stepwell.app.panes.tables import changes_document, changes_label
from stepwell.app.present import plain_text
from stepwell.core import moves
from stepwell.core.past import Certainty, Instant, StepChanges, Table, TableChanges, Verdict
from stepwell.core.world import Replay, World
from stepwell.store.connect import resolve
from tests.app import watched
from tests.app.recorded import LOOPING
from tests.app.stepping import Debugging, debug
from tests.app.watched import BARE, BULK, DOUBT, HOSTILE, MANY, REFUND, SYNC, WATCHED, locked

ZOOMED = (100, 30)


def shown(
    dsn: str, step: int, typed: str = "t", *, run: UUID = WATCHED, size: tuple[int, int] = (80, 24)
) -> tuple[str, str]:
    """Heading and text of the pane after some keys."""
    seen: list[tuple[str, str]] = []

    async def act(debugging: Debugging) -> None:
        await debugging.press(typed)
        seen.append((debugging.heading(Pane.TABLES), debugging.pane(Pane.TABLES).rstrip()))

    debug(dsn, run, act, step=step, size=size)
    return seen[0]


def test_a_changed_row_is_shown_from_old_to_new_and_by_whom(watched_dsn: str) -> None:
    """Also a row that another process changed meanwhile."""
    heading, text = shown(watched_dsn, REFUND, size=(120, 40))
    assert heading.startswith(f"[TABLES] 2 rows, before to after {REFUND} -")
    lines = text.splitlines()
    orders = r"  orders 8841  status new -> refunded  total 41\.50 -> 0\.00 +this run"
    assert re.fullmatch(orders, lines[0])
    assert re.fullmatch(r"  stock lamp  held 3 -> 4 +another: warehouse-sync \(\d+\)", lines[1])


def test_rows_that_came_and_went_are_told_by_a_sign(watched_dsn: str) -> None:
    _, text = shown(watched_dsn, SYNC, size=(120, 40))
    lines = text.splitlines()
    assert lines == [
        "+ orders 9001  item=漢字  status=new  total=12.50  note=NULL  by warehouse-sync",
        "- orders 17                                                   by warehouse-sync",
        "    item=lamp 17  status=new  total=41.50  note=NULL",
        "no row changed in stock",
    ]


def test_of_many_rows_the_rest_is_counted(watched_dsn: str) -> None:
    async def act(debugging: Debugging) -> None:
        await debugging.press("t")
        assert f"{MANY - 1:,} rows, before to after {BULK} -" in debugging.heading(Pane.TABLES)
        await debugging.until(lambda: "orders 4 " in debugging.pane(Pane.TABLES))
        await debugging.send(">")
        rest = f"and {MANY - 1 - 200:,} rows more of orders written"
        await debugging.until(lambda: rest in debugging.pane(Pane.TABLES))

    debug(watched_dsn, WATCHED, act, step=BULK)


def test_long_values_are_cut_where_they_differ_and_nothing_gets_to_the_terminal(watched_dsn: str) -> None:
    _, text = shown(watched_dsn, HOSTILE, size=(120, 40))
    assert "note …23456789x -> …23456789y" in text
    assert "\\x1b]52;c;" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_zoomed_values_are_whole_within_reason(watched_dsn: str) -> None:
    _, text = shown(watched_dsn, SYNC, "tz", size=(60, 24))
    assert "    item=漢字\n    status=new\n    total=12.50\n    note=NULL" in text


@pytest.mark.parametrize(
    ("step", "typed", "words"),
    [
        (1, "t", "no row changed in orders, stock"),
        (REFUND, "ta", "it changed came after this moment; a shows it"),
        (BARE, "t", "recorded without a snapshot"),
        (DOUBT, "t", "in doubt: it has no end"),
    ],
    ids=["unchanged", "asked", "no snapshot", "in doubt"],
)
def test_where_there_is_no_change_it_says_why(watched_dsn: str, step: int, typed: str, words: str) -> None:
    _, text = shown(watched_dsn, step, typed)
    assert words in " ".join(text.split())


def test_without_a_watched_table_it_says_how_to_watch_one(recorded_dsn: str) -> None:
    _, text = shown(recorded_dsn, 11, run=LOOPING)
    assert "stepwell watch TABLE" in " ".join(text.split())


def test_what_is_not_exact_stands_below_what_changed_and_in_the_title(schema_dsn: str) -> None:
    watched.fill(schema_dsn)
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE orders")
        connection.execute('ALTER TABLE stock DISABLE TRIGGER "!stepwell"')
    heading, text = shown(schema_dsn, REFUND)
    assert heading.startswith("[TABLES] 1 row, 2 tables not exact -")
    first, second, *_ = text.splitlines()
    assert first.startswith("  stock lamp ")
    assert second == "    held 3 -> 4"
    lines = shown(schema_dsn, REFUND, size=(120, 40))[1].splitlines()
    assert lines[1] == "orders unknown: the table was dropped"
    assert lines[2].startswith("stock uncertain: a trigger of Stepwell's on ")
    assert "[TABLES] 1 row, 2 inexact -" in shown(schema_dsn, REFUND, size=(60, 24))[0]
    heading, text = shown(schema_dsn, 1, size=(120, 40))
    assert heading.startswith("[TABLES] no change seen, 2 not exact -")
    assert "no change is seen in stock, uncertain: a trigger" in text
    assert "no row changed" not in text


def test_of_tables_with_the_same_reason_it_is_told_once() -> None:
    """And which have not changed is said of those alone of which it is known."""
    unreadable = Verdict(Certainty.UNKNOWN, "this role may not read the table")
    changes = of_tables(hold=unreadable, big=unreadable, orders=Verdict(Certainty.EXACT))
    assert list(plain_text(changes_document(changes, 80))) == [
        "shop.hold, shop.big unknown: this role may not read the table",
        "no row changed in shop.orders",
    ]
    assert changes_label(changes) == "no change seen, 2 not known"
    assert changes_label(of_tables(hold=unreadable)) == "not known at 5"


def test_where_not_all_was_looked_at_nothing_passes_for_unchanged() -> None:
    changes = of_tables(orders=Verdict(Certainty.EXACT))
    changes = replace(changes, tables=(replace(changes.tables[0], least=True),))
    assert changes_label(changes) == "0+ rows, before to after 5"
    assert list(plain_text(changes_document(changes, 80))) == ["and 0+ rows more of shop.orders written"]


def of_tables(**verdicts: Verdict) -> StepChanges:
    """Of a step 5 that changed no row of them."""
    instant, replay = Instant("9:9:"), Replay("SERIALIZABLE READ ONLY DEFERRABLE", 3.2, 0, 0, "number")
    tables = [Table("shop", name, ("id",), ("id",), verdict) for name, verdict in verdicts.items()]
    return StepChanges(5, tuple(TableChanges(table, ()) for table in tables), instant, instant, replay)


@pytest.mark.parametrize("typed", ["17g", "tt", ":2<enter>"], ids=["g", "t", "address"])
def test_looking_again_at_the_same_step_reads_again(schema_dsn: str, typed: str) -> None:
    """Who has written it may have been rolled back since."""
    watched.fill(schema_dsn)
    typed = typed.replace("17", str(REFUND))

    async def act(debugging: Debugging) -> None:
        await debugging.press("t")
        assert "[TABLES] 2 rows, before" in debugging.heading(Pane.TABLES)
        with psycopg.connect(schema_dsn, autocommit=True) as connection:
            connection.execute("DROP TABLE stock")
        await debugging.press(typed)
        assert "[TABLES] 1 row, 1 table not known" in debugging.heading(Pane.TABLES)
        assert "stock unknown: the table was dropped" in debugging.pane(Pane.TABLES)

    debug(schema_dsn, WATCHED, act, step=REFUND)


def test_the_same_key_brings_the_state_back(watched_dsn: str) -> None:
    async def act(debugging: Debugging) -> None:
        await debugging.press("t")
        assert "[TABLES]" in debugging.text
        assert "STATE-" not in debugging.text
        await debugging.press("<tab><tab>")
        assert "[INPUT]" in debugging.text
        await debugging.press("<tab><tab>")
        assert "[TABLES]" in debugging.text
        await debugging.press("t")
        assert "STATE-" in debugging.text
        assert "TABLES" not in debugging.text
        assert "[OUTPUT]" in debugging.text

    debug(watched_dsn, WATCHED, act, step=REFUND)


def test_where_there_is_no_room_for_the_state_it_takes_that_of_the_output(watched_dsn: str) -> None:
    async def act(debugging: Debugging) -> None:
        await debugging.press("t")
        assert "INPUT-" in debugging.text
        assert "OUTPUT" not in debugging.text
        assert "status new -> refunded" in debugging.text
        await debugging.press("t")
        assert "[OUTPUT]" in debugging.text

    debug(watched_dsn, WATCHED, act, step=REFUND, size=(60, 15))


@pytest.mark.parametrize(
    ("size", "hide"), [((50, 16), "<tab>"), ((80, 24), "<tab>z")], ids=["narrow", "zoom"]
)
def test_where_another_pane_hides_it_the_key_brings_it_to_the_front(
    watched_dsn: str, size: tuple[int, int], hide: str
) -> None:
    async def act(debugging: Debugging) -> None:
        await debugging.press(f"t{hide}")
        assert "TABLES" not in debugging.text
        await debugging.press("t")
        assert "status new -> refunded" in debugging.text
        await debugging.press("t")
        assert "[OUTPUT]" in debugging.text

    debug(watched_dsn, WATCHED, act, step=REFUND, size=size)


class ReadingMover(Mover):
    """Notes of which steps the changes were read."""

    def __init__(self, dsn: str) -> None:
        super().__init__(resolve(dsn), WATCHED)
        self.read: list[int] = []
        self.cancelled = threading.Event()

    def changes(self, world: World) -> Changed:
        self.read.append(world.number)
        return super().changes(world)

    def cancel(self) -> None:
        self.cancelled.set()
        super().cancel()


def test_only_while_it_is_shown_anything_is_read_and_of_a_burst_the_last(watched_dsn: str) -> None:
    mover = ReadingMover(watched_dsn)

    async def act(debugging: Debugging) -> None:
        await debugging.press("nnp")
        assert mover.read == []
        await debugging.press("t")
        assert mover.read == [REFUND]
        await debugging.press("<tab>z")  # the timeline alone
        await debugging.press("n")
        assert mover.read == [REFUND]
        await debugging.press("z")
        assert mover.read == [REFUND, SYNC]
        for _ in range(DOUBT - SYNC):  # at once, as where a key repeats
            debugging.screen.apply(moves.forward(debugging.view.timeline))
        await debugging.settle()
        assert mover.read == [REFUND, SYNC, DOUBT]
        await debugging.press("t")
        await debugging.press("p")
        assert mover.read == [REFUND, SYNC, DOUBT]

    debug(watched_dsn, WATCHED, act, step=1, mover=mover)


def test_a_read_that_has_to_wait_is_told_and_gives_way_to_the_next_move(watched_dsn: str) -> None:
    mover = ReadingMover(watched_dsn)

    async def act(debugging: Debugging) -> None:
        with locked(watched_dsn, "orders"):
            await debugging.send("t")
            await debugging.until(lambda: f"reading what changed at {REFUND}" in debugging.text)
            await debugging.send("n")
            await debugging.until(mover.cancelled.is_set)
            await debugging.until(lambda: f"reading what changed at {SYNC}" in debugging.text)
            await debugging.settle()
            assert "could not be read" in debugging.pane(Pane.TABLES)
            assert "orders is locked by migration" in " ".join(debugging.pane(Pane.TABLES).split())
        await debugging.press("tt")
        assert "orders 9001" in debugging.pane(Pane.TABLES)

    debug(watched_dsn, WATCHED, act, step=REFUND, mover=mover)
