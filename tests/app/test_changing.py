"""From change to change of the watched tables: the keys, and what they say where there is none."""

import psycopg
import pytest

import stepwell
from stepwell.app.changing import why_none
from stepwell.app.geometry import Pane
from stepwell.app.messages import Written
from stepwell.app.mover import Mover
from stepwell.core.changed import ChangedSteps
from stepwell.core.past import Certainty, Table, Verdict
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError
from stepwell.store.connect import resolve
from stepwell.store.watching import watch
from tests.app.asking import Asking
from tests.app.recorded import LOOPING
from tests.app.stepping import Debugging, debug
from tests.app.watched import BULK, DOUBT, HOSTILE, REFUND, SYNC, WATCHED, locked


def test_from_change_to_change_and_back(watched_dsn: str) -> None:
    """The pane shows each; a jump is undone as others are; past the last one it is the end of the run."""

    async def act(debugging: Debugging) -> None:
        await debugging.press("}")
        assert debugging.number == REFUND
        assert "change 1 of 4" in debugging.status
        assert "status new -> refunded" in debugging.pane(Pane.TABLES)
        await debugging.press("}")
        assert debugging.number == SYNC
        await debugging.press("2}")
        assert debugging.number == HOSTILE
        await debugging.press("}")
        assert debugging.number == DOUBT
        assert "no further change; '' returns" in debugging.status
        await debugging.press("}")
        assert debugging.number == DOUBT
        await debugging.press("''")
        assert debugging.number == HOSTILE
        await debugging.press("{")
        assert debugging.number == BULK
        assert "change 3 of 4" in debugging.status
        await debugging.press("9{")
        assert debugging.number == 1
        assert "no earlier change; '' returns" in debugging.status

    debug(watched_dsn, WATCHED, act, step=1, size=(120, 30))


@pytest.mark.parametrize("before", ["a", "<tab>z", "t<tab>z", "t<tab><tab>"])
def test_wherever_one_looked_the_change_is_in_view(watched_dsn: str, before: str) -> None:
    """At the moment after the step; a pane that is in view already is not made the chosen one."""

    async def act(debugging: Debugging) -> None:
        await debugging.press(before)
        pane = debugging.view.pane
        await debugging.press("}")
        assert (debugging.number, debugging.view.timeline.moment) == (REFUND, Moment.AFTER)
        assert "status new -> refunded" in debugging.text
        assert debugging.view.pane is (pane if before == "t<tab><tab>" else Pane.TABLES)

    debug(watched_dsn, WATCHED, act, step=1)


def test_keys_that_come_before_the_answer_count(watched_dsn: str) -> None:
    async def act(debugging: Debugging) -> None:
        debugging.screen.to_change(1)
        debugging.screen.to_change(2)
        debugging.screen.to_change(-1)
        await debugging.settle()
        assert debugging.number == SYNC

    debug(watched_dsn, WATCHED, act, step=1)


def test_keys_after_it_wait_until_it_is_there(watched_dsn: str) -> None:
    """As over a slow connection: SQL is of the step that one goes to."""

    async def act(debugging: Debugging) -> None:
        with locked(watched_dsn, "agent_steps"):
            await debugging.send("}s")
            assert debugging.is_open
        sql = Asking(debugging)
        await sql.settle()
        assert sql.lines[0].startswith(f"SQL at 5a1e:{REFUND} after")

    debug(watched_dsn, WATCHED, act, step=1)


def test_a_row_that_was_written_as_it_was_is_told_to_be_no_other(schema_dsn: str) -> None:
    with (
        stepwell.Recorder(schema_dsn) as recorder,
        recorder.run() as run,
        psycopg.connect(schema_dsn, autocommit=True) as agent,
    ):
        agent.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        watch(agent, "orders")
        for statement in ("SELECT 1", "INSERT INTO orders VALUES (1)", "UPDATE orders SET note = note"):
            run.tool(agent.execute, statement)

    async def act(debugging: Debugging) -> None:
        for number, words in ((2, "change 1 of 2  "), (3, "change 2 of 2: written, but as it was before")):
            await debugging.press("}")
            assert (debugging.number, words in debugging.status) == (number, True)

    debug(schema_dsn, run.run_id, act, step=1, size=(120, 24))


class CountingMover(Mover):
    """Counts how often it was asked for the changes."""

    asked = 0

    def changed_steps(self) -> Written:
        self.asked += 1
        return super().changed_steps()


class FailingMover(CountingMover):
    """Cannot tell the first time."""

    def changed_steps(self) -> Written:
        written = super().changed_steps()
        if self.asked == 1:
            raise DatabaseError("the server is gone")
        return written


def test_what_could_not_be_read_is_told_and_asked_for_again_and_then_known(watched_dsn: str) -> None:
    mover = FailingMover(resolve(watched_dsn), WATCHED)

    async def act(debugging: Debugging) -> None:
        await debugging.press("}")
        assert (debugging.number, "the server is gone" in debugging.status) == (1, True)
        await debugging.press("}")
        assert debugging.number == REFUND
        await debugging.press("}")
        assert (debugging.number, mover.asked) == (SYNC, 2)

    debug(watched_dsn, WATCHED, act, step=1, mover=mover)


def test_a_run_that_grows_is_asked_about_again(schema_dsn: str) -> None:
    with (
        stepwell.Recorder(schema_dsn) as recorder,
        recorder.run() as run,
        psycopg.connect(schema_dsn, autocommit=True) as agent,
    ):
        agent.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        watch(agent, "orders")
        run.tool(agent.execute, "INSERT INTO orders VALUES (1)")

        async def act(debugging: Debugging) -> None:
            await debugging.press("}")
            assert "no further change so far" in debugging.status
            run.tool(agent.execute, "INSERT INTO orders VALUES (2)")
            await debugging.until(lambda: len(debugging.view.timeline.steps) == 2)
            await debugging.press("}")
            assert (debugging.number, "change 2 of 2" in debugging.status) == (2, True)

        debug(schema_dsn, run.run_id, act, step=1)


@pytest.mark.parametrize("key", ["}", "{"])
def test_where_no_table_is_watched_it_says_how_to_watch_one(recorded_dsn: str, key: str) -> None:
    mover = CountingMover(resolve(recorded_dsn), LOOPING)

    async def act(debugging: Debugging) -> None:
        for asked in (1, 2):  # anew each time: one may be watched by then
            await debugging.press(key)
            assert (debugging.number, mover.asked) == (11, asked)
            assert "stepwell watch TABLE" in debugging.status
            assert "TABLES" not in debugging.text

    debug(recorded_dsn, LOOPING, act, step=11, size=(120, 24), mover=mover)


@pytest.mark.parametrize(
    ("told", "partly", "certainty", "words"),
    [
        (0, False, Certainty.EXACT, "no step of this run has snapshots"),
        (9, True, Certainty.UNKNOWN, "no change known: orders unknown: it was dropped"),
        (9, True, Certainty.EXACT, "no watched table changed during a step, as far as is known"),
        (9, False, Certainty.EXACT, "no watched table changed during a step"),
    ],
)
def test_where_no_step_changed_any_it_says_why(
    told: int, partly: bool, certainty: Certainty, words: str
) -> None:
    table = Table("public", "orders", ("id",), ("id",), Verdict(certainty, "it was dropped"))
    assert why_none(ChangedSteps((), (table,), told, partly)).startswith(words)
