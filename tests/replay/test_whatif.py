"""The past of watched tables in a branch, and worlds of a what-if that was not saved."""

from contextlib import closing
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

import stepwell
from stepwell.core.branching import tail_of
from stepwell.core.codec import parse
from stepwell.core.steps import Payload
from stepwell.core.whatif import what_if
from stepwell.core.world import Moment
from stepwell.replay import Replayer
from stepwell.replay.recorded import load
from stepwell.replay.tables import Tables
from stepwell.replay.whatif import save
from stepwell.store.connect import resolve
from stepwell.store.watching import watch

SET = "UPDATE orders SET note = %s WHERE id = 1"
LOOK = "SELECT note FROM orders WHERE id = 1"


@pytest.fixture
def run_id(schema_dsn: str) -> UUID:
    """A run whose steps 1 and 3 write a watched table, and a state after each."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        connection.execute("INSERT INTO orders VALUES (1, 'new')")
        watch(connection, "orders")

        def note(text: str) -> str:
            connection.execute(SET, [text])
            return f"the order has the note {text}"

        with stepwell.Recorder(schema_dsn) as recorder, recorder.run("notes") as run:
            for turn, text in enumerate(("paid", "sent")):
                run.named(connection=connection).tool(note, text)
                run.state({"turn": turn, "note": text})
        connection.execute(SET, ["of today"])
    return run.run_id


def texts(payload: Payload) -> list[object]:
    """Parsed: Postgres has its own spacing."""
    stored = (payload.input, payload.input_exact, payload.output, payload.output_exact, payload.error)
    return [None if text is None else parse(text) for text in stored]


def test_a_branch_has_the_tables_as_the_steps_of_both_saw_them(schema_dsn: str, run_id: UUID) -> None:
    target = resolve(schema_dsn)
    branch = save(target, run_id, tail_of(what_if(load(target, str(run_id)), 3, "no note at all")))
    with closing(Replayer(target, branch)) as mine, closing(Replayer(target, run_id)) as its:
        for number in (1, 2, 3, 4):
            for moment in Moment:
                asked = mine.query(number, moment, LOOK).rows, its.query(number, moment, LOOK).rows
                assert asked[0] == asked[1]
            changes = [replayer.changes(number).tables for replayer in (mine, its)]
            assert changes[0] == changes[1]
        assert mine.changed_steps() == its.changed_steps()
        assert mine.query(1, Moment.AFTER, LOOK).rows.rows == (("paid",),)
    with closing(Tables(target, branch, 4, Moment.AFTER)) as tables:
        (table,) = tables.listing().tables
        story = tables.story(table, ("1",))
    assert [touch.step for touch in story.touches] == [1, 3]


def test_a_world_of_a_what_if_is_that_of_its_branch(schema_dsn: str, run_id: UUID) -> None:
    target = resolve(schema_dsn)
    run = load(target, str(run_id))
    for number, value in ((2, {"turn": 7, "mine": True}), (3, "no note at all")):
        made = what_if(run, number, value)
        branch = save(target, run_id, tail_of(made))
        with closing(Replayer(target, branch)) as saved, closing(Replayer(target, run_id)) as recorded:
            for step in range(1, made.last + 1):
                here, there = made.applied(recorded.at(step)), saved.at(step)
                assert (here.states, here.set_at, here.changed) == (there.states, there.set_at, there.changed)
                assert texts(here.payload) == texts(there.payload)


def test_a_what_if_at_a_step_knows_nothing_of_later_ones(schema_dsn: str, run_id: UUID) -> None:
    run = load(resolve(schema_dsn), str(run_id))
    ended = replace(run, steps=run.steps[:3])
    assert what_if(run, 2, {"turn": 7}).states(3) == what_if(ended, 2, {"turn": 7}).states(3)
