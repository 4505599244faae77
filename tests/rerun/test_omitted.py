"""What the recorded run's own connection wrote and the agent of a replay does not is named, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from functools import partial
from typing import Any

import psycopg
import pytest

from stepwell import Recorder, Run
from stepwell.core.recorded import RecordedRun
from stepwell.replay.recorded import load
from stepwell.rerun.database import Database
from stepwell.rerun.executing import Instead
from stepwell.rerun.playing import Terms, play
from stepwell.store.connect import resolve
from tests.rerun.orders import again, do, make, make_watched, tell

Agent = Callable[[Run], object]
UPDATE = "UPDATE orders SET status = 'refunded' WHERE id = 7"
LEFT_OUT = "by step 2 the agent did not write orders, key 7, which the recording did"
MORE = """
CREATE TABLE parcels (id int PRIMARY KEY);
CREATE TABLE lines (id int PRIMARY KEY, about int REFERENCES parcels ON DELETE CASCADE);
CREATE TABLE stock (id int PRIMARY KEY, at int);
CREATE TABLE moves (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), what text);
INSERT INTO parcels VALUES (1), (20);
INSERT INTO lines VALUES (1, 20);
INSERT INTO stock VALUES (1, 1), (2, 2);
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE stock SET at = at + 1 WHERE id = 2; RETURN NULL; END $$;
CREATE TRIGGER move AFTER UPDATE ON lines FOR EACH ROW EXECUTE FUNCTION move();
"""


@pytest.fixture(scope="module")
def dsn(runs_dsn: str) -> str:
    make(runs_dsn)
    return runs_dsn


@pytest.fixture(scope="module")
def more(dsn: str) -> None:
    """More tables, which only the last of these tests watch: each costs every replay an overlay."""
    make_watched(dsn, MORE, "parcels", "lines", "stock", "moves")


@pytest.fixture(scope="module")
def recorder(dsn: str) -> Iterator[Recorder]:
    with closing(Recorder(dsn)) as opened:
        yield opened


@pytest.fixture
def own(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """The connection of agents when they are recorded."""
    with closing(psycopg.connect(dsn)) as connection:
        yield connection


@pytest.fixture
def record(dsn: str, recorder: Recorder, own: psycopg.Connection[Any]) -> Callable[[Agent], RecordedRun]:
    def do_so(agent: Agent) -> RecordedRun:
        with recorder.run("omitted") as run:
            agent(run.named(connection=own))
        own.commit()
        return load(resolve(dsn), str(run.run_id))

    return do_so


@pytest.fixture(scope="module")
def notes(dsn: str) -> Callable[..., tuple[str, ...]]:
    """What is said of a replay that is the same. From the first that writes on it is prepared for that."""
    database = Database(resolve(dsn))

    def of(recorded: RecordedRun, agent: Agent, **instead: Any) -> tuple[str, ...]:
        report = play(recorded, agent, terms=Terms(Instead(**instead), database=database))
        assert report.divergence is None, (report.divergence, report.notes)
        assert report.refused is None
        return report.notes

    return of


Record = Callable[[Agent], RecordedRun]
Notes = Callable[..., tuple[str, ...]]


def doing(*texts: str, commits: bool = True, reads: bool = False) -> Agent:
    """Tells something, writes, and tells again."""

    def agent(run: Run) -> None:
        run.tool(tell, 1)
        for text in texts:
            run.connection.execute(text)
        if texts and commits:
            run.connection.commit()
        run.tool(tell, 2)
        if reads:
            run.connection.execute("SELECT count(*) FROM notes")
            run.connection.commit()
        run.tool(tell, 3)

    return agent


@pytest.mark.parametrize(("commits", "reads"), [(True, True), (True, False), (False, False)])
def test_a_write_that_the_agent_leaves_out_is_named(
    dsn: str, record: Record, notes: Notes, commits: bool, reads: bool
) -> None:
    """Also where it writes nothing at all, or does not ask for the connection."""
    recorded = record(doing(UPDATE, commits=commits, reads=reads))
    assert again(dsn, recorded, doing(reads=reads)).notes == (LEFT_OUT,)
    assert notes(recorded, doing(UPDATE, commits=commits, reads=reads)) == ()
    assert notes(recorded, doing(reads=reads)) == (LEFT_OUT,)


def test_so_it_is_where_the_agent_writes_other_rows(record: Record, notes: Notes) -> None:
    texts = [
        "UPDATE orders SET qty = 9 WHERE id = 8",
        "UPDATE orders SET status = status WHERE id = 7",
        "DELETE FROM orders WHERE id = 6",
        "INSERT INTO notes (number, about, body) VALUES (70, 1, '')",
        "UPDATE orders SET qty = 0 WHERE id > 10 AND id < 16",
    ]
    recorded = record(doing(*texts))
    assert notes(recorded, doing(*texts)) == ()
    left_out = [
        "write orders, key 7",
        "remove orders, key 6",
        "write notes, key 70",
        "write orders, keys 11; 12; 13 and 2 more",
    ]
    for nth, what in enumerate(left_out, 1):
        (note,) = notes(recorded, doing(*texts[:nth], *texts[nth + 1 :]))
        assert note == f"by step 2 the agent did not {what}, which the recording did"


def test_what_is_rolled_back_was_never_written(record: Record, notes: Notes) -> None:
    def then(run: Run) -> None:
        own = run.connection
        run.tool(tell, 1)
        own.execute(UPDATE)
        own.rollback()
        own.execute("UPDATE orders SET qty = 1 WHERE id = 2")
        with own.transaction(force_rollback=True):
            own.execute("UPDATE orders SET qty = 1 WHERE id = 3")
        own.commit()
        run.tool(tell, 2)
        run.tool(tell, 3)

    recorded = record(then)
    assert notes(recorded, then) == ()
    assert notes(recorded, doing("UPDATE orders SET qty = 1 WHERE id = 2")) == ()


def test_an_agent_that_rolls_back_what_was_committed_has_left_it_out(record: Record, notes: Notes) -> None:
    def agent(run: Run, *, commits: bool) -> None:
        run.tool(tell, 1)
        run.connection.execute(UPDATE)
        run.tool(tell, 2)
        run.connection.execute("SELECT count(*) FROM notes")
        if commits:
            run.connection.commit()
        else:
            run.connection.rollback()
        run.tool(tell, 3)

    recorded = record(partial(agent, commits=True))
    assert notes(recorded, partial(agent, commits=True)) == ()
    assert notes(recorded, partial(agent, commits=False)) == (LEFT_OUT,)


def test_each_of_several_writes_of_a_row_counts_where_it_was(record: Record, notes: Notes) -> None:
    second, read = "UPDATE orders SET status = 'sent' WHERE id = 7", "SELECT count(*) FROM orders"

    def agent(*texts: str) -> Agent:
        def do_so(run: Run) -> None:
            for number, text in enumerate(texts):
                run.connection.execute(text)
                run.connection.commit()
                run.tool(tell, number)

        return do_so

    recorded = record(agent(UPDATE, second, read))
    for texts, steps in (
        ((UPDATE, second, read), ()),
        ((UPDATE, read, read), (2,)),
        ((read, UPDATE, second), (1,)),
    ):
        said = [note for note in notes(recorded, agent(*texts)) if "did not write" in note]
        assert said == [LEFT_OUT.replace("step 2", f"step {step}") for step in steps]


def test_what_a_tool_wrote_with_the_connection_is_the_tools(record: Record, notes: Notes) -> None:
    def agent(run: Run, *, writes: bool) -> None:
        def pay(number: int) -> str:
            run.connection.execute("UPDATE orders SET status = 'refunded' WHERE id = %s", (number,))
            return "refunded"

        run.tool(tell, 1)
        run.tool(pay, 7)
        run.connection.commit()
        run.tool(pay, 8)
        if writes:
            run.connection.execute("UPDATE orders SET status = 'refunded' WHERE id = 9")
            run.connection.commit()
        run.tool(tell, 2)

    def twice(run: Run) -> None:
        def pay() -> None:
            run.connection.execute("UPDATE orders SET qty = qty + 1 WHERE id = 7")

        run.tool(tell, 1)
        run.connection.execute("UPDATE orders SET qty = 100 WHERE id = 7")
        run.tool(pay)
        run.connection.commit()
        run.tool(tell, 2)
        run.connection.execute("SELECT count(*) FROM orders")

    assert notes(record(twice), twice) == ()
    recorded = record(partial(agent, writes=True))
    left_out = "by step 4 the agent did not write orders, key 9, which the recording did"
    assert notes(recorded, partial(agent, writes=True)) == ()
    assert notes(recorded, partial(agent, writes=False)) == (left_out,)
    assert notes(recorded, partial(agent, writes=True), stand_ins={"pay": tell}) == ()
    assert notes(recorded, partial(agent, writes=False), pure=["pay"]) == (left_out,)


def test_in_a_block_that_is_executed_it_is_the_agents(record: Record, notes: Notes) -> None:
    def agent(run: Run, text: str = UPDATE) -> None:
        run.tool(tell, 1)
        with run.step("tool_call", "refund") as step:
            run.connection.execute(text)
            run.connection.commit()
            step.output = "refunded"

    recorded = record(agent)
    assert notes(recorded, agent) == ()
    assert notes(recorded, partial(agent, text="SELECT 1")) == (LEFT_OUT,)


def test_what_others_wrote_is_theirs_whatever_their_number(
    dsn: str, record: Record, notes: Notes, own: psycopg.Connection[Any]
) -> None:
    def then(run: Run) -> None:
        run.tool(tell, 1)
        do(dsn, "UPDATE orders SET qty = 70 WHERE id = 7")
        run.tool(tell, 2)
        run.tool(tell, 3)

    do(dsn, "UPDATE orders SET qty = 60 WHERE id = 6")
    recorded = record(then)
    own.execute("UPDATE orders SET qty = 50 WHERE id = 5")
    own.commit()
    do(dsn, "UPDATE orders SET qty = 40 WHERE id = 4")
    with psycopg.connect(dsn) as owner:
        owner.execute("UPDATE stepwell_log.t1 SET backend = %s WHERE a1 IN (4, 6)", (own.info.backend_pid,))
    assert notes(recorded, doing()) == ()


def test_of_an_agent_without_a_connection_nothing_is_said(dsn: str, recorder: Recorder, notes: Notes) -> None:
    with recorder.run("none") as run, psycopg.connect(dsn, autocommit=True) as hers:
        run.tool(tell, 1)
        hers.execute(UPDATE)
        run.tool(tell, 2)
        run.tool(tell, 3)
    assert notes(load(resolve(dsn), str(run.run_id)), doing()) == ()


def test_of_several_tasks_one_may_be_ahead(record: Record, notes: Notes) -> None:
    def agent(run: Run, *, writes: bool) -> None:
        def work(number: int) -> None:
            run.tool(tell, number)
            if number == 8 or writes:
                run.connection.execute("UPDATE orders SET qty = 9 WHERE id = %s", (number,))
                run.connection.commit()

        with ThreadPoolExecutor(1) as pool:
            for number in (7, 8):
                pool.submit(copy_context().run, work, number).result()
        run.tool(tell, "both")

    recorded = record(partial(agent, writes=True))
    assert notes(recorded, partial(agent, writes=True)) == ()
    (note,) = notes(recorded, partial(agent, writes=False))
    assert "did not write orders, key 7" in note


def test_an_agent_that_diverges_for_it_is_told_why(dsn: str, record: Record) -> None:
    def agent(run: Run, text: str = UPDATE) -> None:
        run.tool(tell, 1)
        run.connection.execute(text)
        (status,) = run.connection.execute("SELECT status FROM orders WHERE id = 7").fetchone()
        run.connection.commit()
        run.tool(tell, status)

    do(dsn, "UPDATE orders SET status = 'open' WHERE id = 7")
    recorded = record(agent)
    terms = Terms(database=Database(resolve(dsn)))
    report = play(recorded, partial(agent, text="UPDATE orders SET qty = 3 WHERE id = 3"), terms=terms)
    assert report.divergence is not None
    assert report.notes == (LEFT_OUT,)


@pytest.mark.usefixtures("more")
def test_what_a_write_carries_on_is_its_own_doing(record: Record, notes: Notes) -> None:
    """A replay does not delete by foreign keys, nor call triggers."""
    texts = ["DELETE FROM parcels WHERE id = 20", "UPDATE stock SET at = 5 WHERE id = 1"]
    recorded = record(doing(*texts))
    assert notes(recorded, doing(*texts)) == ()
    assert set(notes(recorded, doing(texts[1]))) == {
        "by step 2 the agent did not remove parcels, key 20, which the recording did",
        "by step 2 the agent did not remove lines, key 1, which the recording did",
    }
    do_lines = ["INSERT INTO lines VALUES (2, 1)", "UPDATE lines SET about = 1 WHERE id = 2"]
    recorded = record(doing(*do_lines))
    assert notes(recorded, doing(*do_lines)) == ()


@pytest.mark.usefixtures("more")
def test_rows_that_get_a_key_each_time_are_counted(record: Record, notes: Notes) -> None:
    made = "INSERT INTO moves (what) VALUES ('one')"
    recorded = record(doing(made, made))
    assert notes(recorded, doing(made, made)) == ()
    (note,) = notes(recorded, doing(made))
    assert note.startswith("by step 2 the agent did not write moves, key ")
    assert len(notes(recorded, doing())) == 1
