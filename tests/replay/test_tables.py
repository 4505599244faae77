"""Watched tables at a step: what changed, pages of rows, and the story of one."""

from collections.abc import Iterator
from contextlib import closing
from typing import LiteralString

import psycopg
import pytest

import stepwell
from stepwell.core.pages import Start
from stepwell.core.past import Certainty
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.replay import Replayer
from stepwell.replay.tables import MOST_TOUCHES, Tables
from stepwell.store.changes import MOST_ENTRIES
from stepwell.store.connect import resolve
from stepwell.store.texts import LONGEST
from stepwell.store.watching import watch


@pytest.fixture
def shop(schema_dsn: str) -> Iterator[psycopg.Connection]:
    """The agent's own connection; the table is not watched yet."""
    with psycopg.connect(schema_dsn, autocommit=True, application_name="shop") as connection:
        connection.execute('CREATE TABLE "odd Table" (a int, "B" text, c text, PRIMARY KEY ("B", a))')
        connection.execute("""INSERT INTO "odd Table" VALUES (1, 'x,%y', 'one'), (2, 'x,%y', 'two')""")
        yield connection


SET = """UPDATE "odd Table" SET c = %s WHERE a = 1"""


def test_of_what_one_statement_wrote_no_more_is_looked_at_than_is_allowed_and_it_says_so(
    schema_dsn: str, shop: psycopg.Connection
) -> None:
    watch(shop, '"odd Table"')
    many = MOST_ENTRIES + 1

    def fill() -> None:
        shop.execute("""INSERT INTO "odd Table" SELECT n, 'z' FROM generate_series(1, %s) n""", [many])

    with stepwell.Recorder(schema_dsn) as recorder, recorder.run("bulk") as run:
        run.named(connection=shop).tool(fill)
    replayer = Replayer(resolve(schema_dsn), run.run_id)
    (found,) = replayer.changes(1, limit=10).tables
    assert (len(found.changes), found.count, found.least) == (10, MOST_ENTRIES, True)
    assert {change.mine for change in found.changes} == {True}
    with pytest.raises(NotFoundError, match="no step 9"):
        replayer.changes(9)
    replayer.close()


def test_a_story_begins_where_the_past_of_the_table_does(schema_dsn: str, shop: psycopg.Connection) -> None:
    """A row that was written in the step in which its table came to be watched: from what is not known."""

    def watch_and_set() -> None:
        watch(shop, '"odd Table"')
        shop.execute(SET, ["in the step"])

    with stepwell.Recorder(schema_dsn) as recorder, recorder.run("stories") as run:
        agent = run.named(connection=shop)
        agent.tool(watch_and_set)
        shop.execute(SET, ["between"])
        agent.tool(lambda: None)
        with shop.transaction():
            agent.tool(shop.execute, SET, ["in a transaction"])
            shop.execute(SET, ["after it"])
    tables = Tables(resolve(schema_dsn), run.run_id, 3, Moment.AFTER)
    (table,) = tables.listing().tables
    story = tables.story(table, ("x,%y", "1"))
    assert story.rows.rows == (("1", "x,%y", "in a transaction"),)
    told = [
        (each.step, each.during, each.known, each.change.new and each.change.new[2], each.change.mine)
        for each in story.touches
    ]
    assert told == [
        (1, True, False, "in the step", True),
        (2, False, True, "between", None),
        (3, True, True, "in a transaction", True),
    ]
    tables.close()
    with closing(Replayer(resolve(schema_dsn), run.run_id)) as replayer:
        worth = [replayer.changes(number).tables[0].table.verdict.certainty for number in (1, 2)]
    assert worth == [Certainty.UNKNOWN, Certainty.EXACT]


def test_a_story_has_what_was_written_before_a_step_that_is_within_another(
    schema_dsn: str, shop: psycopg.Connection
) -> None:
    """The step around it has the number before, and ends when all has been written."""
    watch(shop, '"odd Table"')
    recorder = stepwell.Recorder(schema_dsn)
    with recorder, recorder.run("around") as run, run.step("tool_call", "1: around"):
        for number in "23":
            shop.execute(SET, [f"before {number}"])
            run.tool(len, number)
    with closing(Tables(resolve(schema_dsn), run.run_id, 3, Moment.AFTER)) as tables:
        (table,) = tables.listing().tables
        touches = tables.story(table, ("x,%y", "1")).touches
    told = [
        (
            each.step,
            each.during,
            each.change.old and each.change.old[2],
            each.change.new and each.change.new[2],
        )
        for each in touches
    ]
    assert told == [(2, False, "one", "before 2"), (3, False, "before 2", "before 3")]


def test_a_story_of_a_run_stays_however_often_the_row_is_written_before_and_after_it(
    schema_dsn: str, shop: psycopg.Connection
) -> None:
    watch(shop, '"odd Table"')
    often = [str(number) for number in range(MOST_TOUCHES + 1)]
    with stepwell.Recorder(schema_dsn) as recorder:
        for note in often:
            shop.execute(SET, [note])
        with recorder.run("long ago") as run:
            run.tool(shop.execute, SET, ["in the run"])
        for note in often:
            shop.execute(SET, [note])
    with closing(Tables(resolve(schema_dsn), run.run_id, 1, Moment.AFTER)) as tables:
        (table,) = tables.listing().tables
        story = tables.story(table, ("x,%y", "1"))
    assert [each.change.new and each.change.new[2] for each in story.touches] == ["in the run"]
    assert not story.more


@pytest.mark.parametrize(
    ("ddl", "key"),
    [
        ('RENAME "B" TO b', ("b", "a")),
        ('DROP CONSTRAINT "odd Table_pkey", ADD PRIMARY KEY (a), ALTER c TYPE varchar', ("a",)),
    ],
)
def test_todays_rows_are_paged_by_todays_key(
    schema_dsn: str, shop: psycopg.Connection, ddl: LiteralString, key: tuple[str, ...]
) -> None:
    watch(shop, '"odd Table"')
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run("pages") as run:
        run.tool(len, "a")
    with closing(Tables(resolve(schema_dsn), run.run_id, 1, Moment.AFTER)) as tables:
        then = tables.page(tables.listing().tables[0], Start(), 1)
        shop.execute(f'ALTER TABLE "odd Table" {ddl}')
        now = tables.page(then.table, Start(), 1)
        assert (now.table.verdict.certainty, now.table.key) == (Certainty.UNKNOWN, key)
        rest = tables.page(now.table, Start(now.key(0)), 5)
        assert [row[2] for row in (*now.rows.rows, *rest.rows.rows)] == ["one", "two"]
        story = tables.story(now.table, now.key(0))
        assert (story.table.key, story.rows.rows) == (key, now.rows.rows)
        if len(key) < len(then.table.key):
            with pytest.raises(DatabaseError, match="is a now: q, and open it again"):
                tables.story(then.table, then.key(0))


def test_pages_of_names_that_need_quotes_and_keys_of_several_columns(
    schema_dsn: str, shop: psycopg.Connection
) -> None:
    watch(shop, '"odd Table"')
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run("pages") as run:
        run.named(connection=shop).tool(lambda: None)
    shop.execute("""DELETE FROM "odd Table" WHERE a = 1""")
    tables = Tables(resolve(schema_dsn), run.run_id, 1, Moment.AFTER)
    (table,) = tables.listing().tables
    assert (table.key, table.verdict.certainty) == (("B", "a"), Certainty.EXACT)
    page = tables.page(table, Start(("x,%y",), inclusive=True), 1)
    assert (page.rows.rows, page.rows.more, page.key(0)) == ((("1", "x,%y", "one"),), True, ("x,%y", "1"))
    rest = tables.page(table, Start(page.key(0)), 1)
    assert (rest.rows.rows, rest.rows.more) == ((("2", "x,%y", "two"),), False)
    assert tables.page(table, Start(rest.key(0), backwards=True), 5).rows.rows == page.rows.rows
    shop.execute("""ALTER TABLE "odd Table" RENAME TO other""")
    with pytest.raises(DatabaseError, match=r"there is no table public\.odd Table now"):
        tables.page(table, Start(), 5)
    tables.close()


def test_long_values_are_cut_in_the_server_and_told_apart_all_the_same(
    schema_dsn: str, shop: psycopg.Connection
) -> None:
    """Of two that begin alike and are equally long too."""
    watch(shop, '"odd Table"')
    shop.execute(SET, ["z" * 3_000_000])
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run("long") as run:
        run.named(connection=shop).tool(shop.execute, SET, ["z" * 2_999_999 + "!"])
    with closing(Replayer(resolve(schema_dsn), run.run_id)) as replayer:
        ((change,),) = (table.changes for table in replayer.changes(1).tables)
    assert change.old is not None
    assert change.new is not None
    old, new = str(change.old[2]), str(change.new[2])
    assert old != new
    for text in (old, new):
        assert text.startswith("z" * LONGEST + "... (3000000 characters, hash ")
        assert len(text) < LONGEST + 60
    with closing(Tables(resolve(schema_dsn), run.run_id, 1, Moment.AFTER)) as tables:
        (table,) = tables.listing().tables
        story = tables.story(table, ("x,%y", "1"))
        assert story.rows.rows[0][2] == "z" * 2_999_999 + "!"
        (touch,) = story.touches
        assert touch.change.new is not None
        assert str(touch.change.new[2]).endswith(new[-30:])
        assert len(str(touch.change.new[2])) < LONGEST
