"""What moves have folded and keep: the same worlds as without, whatever is done to the rows meanwhile."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stepwell
from stepwell.core.world import Last, Moment
from stepwell.replay import Replayer
from stepwell.replay.stretches import Stretches
from stepwell.store.connect import resolve
from tests.replay.hand_made import BARE, NUMBERS, Deed, Hands, Row, deeds, moves, recorded, rows, told
from tests.replay.rows import RUN, add_step, bare_table

NEVER = 10**9
"""A run never has so many steps, so that each move folds all: the full replay."""
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(FEW, max_examples=250)

Run = list[tuple[int, Row]]
Moves = list[tuple[Deed, tuple[int, Moment]]]
RUNS = st.dictionaries(NUMBERS, rows(), min_size=6, max_size=20).map(
    lambda made: list(made.items())
) | recorded(20).map(lambda made: list(enumerate(made, 1)))


def follow(dsn: str, reader_dsn: str, run: Run, done: Moves, stretch: int) -> int:
    """Make the moves, once with and once without what is kept; how often something was kept."""
    kept = 0
    with (
        psycopg.connect(dsn, autocommit=True) as quick,
        psycopg.connect(dsn) as slow,
        closing(
            Replayer(resolve(reader_dsn), RUN, stretches=Stretches(RUN, every=stretch, least=0))
        ) as replayer,
        closing(Replayer(resolve(reader_dsn), RUN, stretches=Stretches(RUN, least=NEVER))) as full,
    ):
        hands = Hands(quick, slow)
        hands.begin(run)
        for deed, (choice, moment) in done:
            hands.do(deed)
            if numbers := hands.numbers():
                number = numbers[choice % len(numbers)]
                world = replayer.at(number, moment)
                assert told(world) == told(full.at(number, moment))
                kept += world.replay.kept is not None
        slow.rollback()
    return kept


@FEW
@given(
    run=RUNS, done=st.lists(st.tuples(deeds(), moves()), min_size=4, max_size=12), stretch=st.integers(1, 4)
)
def test_the_world_is_that_of_a_full_replay(schema_dsn: str, run: Run, done: Moves, stretch: int) -> None:
    follow(schema_dsn, schema_dsn, run, done, stretch)


@pytest.mark.long
@MANY
@given(
    run=RUNS, done=st.lists(st.tuples(deeds(), moves()), min_size=4, max_size=16), stretch=st.integers(1, 4)
)
def test_the_world_is_that_of_a_full_replay_at_length(
    schema_dsn: str, run: Run, done: Moves, stretch: int
) -> None:
    follow(schema_dsn, schema_dsn, run, done, stretch)


@settings(FEW, max_examples=8)
@given(
    run=st.lists(st.tuples(NUMBERS, rows(BARE)), min_size=6, max_size=20),
    done=st.lists(st.tuples(deeds(BARE), moves()), min_size=4, max_size=12),
    stretch=st.integers(1, 4),
)
def test_of_a_bare_table_too_where_numbers_may_repeat(dsn: str, run: Run, done: Moves, stretch: int) -> None:
    follow(dsn, f"{dsn} user={bare_table(dsn)}", run, done, stretch)


def make(dsn: str, count: int = 6) -> None:
    for number in range(1, count + 1):
        add_step(dsn, number, "llm_call", output="hi", tokens_in=number, finished_order=number)


@contextmanager
def replaying(dsn: str, stretch: int = 2) -> Iterator[Replayer]:
    with closing(Replayer(resolve(dsn), RUN, stretches=Stretches(RUN, every=stretch, least=0))) as replayer:
        yield replayer


def test_a_world_tells_what_was_kept_for_it(schema_dsn: str) -> None:
    make(schema_dsn)
    with replaying(schema_dsn) as replayer:
        kept = [replayer.at(number).replay.kept for number in (5, 5, 6, 3, 2, 6)]
        assert kept == [None, 4, 4, 2, None, 4]
        assert replayer.at(6).replay.steps == 6


def test_what_others_write_elsewhere_takes_nothing_from_what_is_kept(schema_dsn: str) -> None:
    make(schema_dsn)
    with replaying(schema_dsn) as replayer:
        replayer.at(5)
        add_step(schema_dsn, 7, "llm_call", output="hi")
        add_step(schema_dsn, 1, "llm_call", output="hi", run_id=uuid4())
        assert replayer.at(5).replay.kept == 4


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE agent_steps SET tokens_in = 0 WHERE step_number = 3",
        "DELETE FROM agent_steps WHERE step_number = 3",
        "UPDATE agent_steps SET step_number = 30 WHERE step_number = 3",
    ],
)
def test_from_a_changed_row_on_all_is_folded_again(schema_dsn: str, change: str) -> None:
    make(schema_dsn)
    with replaying(schema_dsn) as replayer, psycopg.connect(schema_dsn, autocommit=True) as hand:
        assert replayer.at(6).tokens_in == 21
        hand.execute(change)
        world = replayer.at(6)
        assert (world.tokens_in, world.replay.kept) == (18, 2)


def test_a_change_by_a_transaction_that_is_older_than_the_fold_is_seen(schema_dsn: str) -> None:
    """Also where its own number is that of a part of a transaction, which no snapshot names."""
    make(schema_dsn)
    with (
        replaying(schema_dsn) as replayer,
        psycopg.connect(schema_dsn) as old,
        psycopg.connect(schema_dsn, autocommit=True) as young,
    ):
        old.execute("SELECT pg_current_xact_id()")
        with old.transaction():
            old.execute("UPDATE agent_steps SET tokens_in = 0 WHERE step_number = 1")
        young.execute("SELECT pg_current_xact_id()")
        assert replayer.at(6).tokens_in == 21
        old.commit()
        assert replayer.at(6).tokens_in == 20


def test_what_was_written_while_an_older_transaction_ran_is_folded_again(schema_dsn: str) -> None:
    """Whether such rows have changed cannot be told, so they are not taken for the same."""
    with psycopg.connect(schema_dsn) as old:
        old.execute("SELECT pg_current_xact_id()")
        make(schema_dsn)
        with replaying(schema_dsn) as replayer:
            replayer.at(6)
            add_step(schema_dsn, 7, "llm_call", output="hi")
            assert replayer.at(6).replay.kept is None
            assert replayer.at(6).replay.kept == 4


def test_a_column_that_is_added_or_dropped_is_seen(dsn: str) -> None:
    role = bare_table(dsn)
    for number in range(1, 7):
        add_step(dsn, number, "llm_call", output="hi")
    with replaying(f"{dsn} user={role}") as replayer, psycopg.connect(dsn, autocommit=True) as owner:
        told = [replayer.at(6).last]
        for change in ("ADD COLUMN agent text DEFAULT 'a'", "DROP COLUMN agent"):
            owner.execute(f"ALTER TABLE agent_steps {change}")
            told.append(replayer.at(6).last)
    assert told == [{None: Last(6, None)}, {"a": Last(6, None)}, {None: Last(6, None)}]


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX by_run",
        "ALTER TABLE agent_steps ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON agent_steps USING (true)",
        "ALTER TABLE agent_steps RENAME TO kept; CREATE VIEW agent_steps AS SELECT * FROM kept",
        "CREATE TABLE part () INHERITS (agent_steps)",
    ],
)
def test_where_rows_do_not_tell_whether_they_changed_nothing_is_kept(dsn: str, change: str) -> None:
    role = bare_table(dsn)
    for number in range(1, 7):
        add_step(dsn, number, "llm_call", output="hi")
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(change)
        owner.execute(f"GRANT SELECT ON agent_steps TO {role}")
    with replaying(f"{dsn} user={role}") as replayer:
        worlds = [replayer.at(6) for _ in range(2)]
    assert [(world.replay.steps, world.replay.kept) for world in worlds] == [(6, None)] * 2


def test_a_whole_state_that_finishes_late_hides_nothing_until_it_does(schema_dsn: str) -> None:
    late = {"$patch": [{"at": {"n": 3}, "set": [], "to": {"n": 3}}]}
    add_step(schema_dsn, 1, "state_update", output={"n": 1}, finished_order=1)
    add_step(schema_dsn, 2, "llm_call", output="hi", finished_order=2)
    add_step(schema_dsn, 3, "state_update", input=late, output=[], finished_order=7)
    add_step(schema_dsn, 4, "state_update", output={"m": 4}, finished_order=3)
    for number in range(5, 8):
        add_step(schema_dsn, number, "llm_call", output="hi", finished_order=number - 1)
    add_step(schema_dsn, 8, "llm_call", output="hi", finished_order=8)
    with replaying(schema_dsn) as replayer:
        worlds = [replayer.at(number) for number in (7, 7, 8)]
    assert [world.states for world in worlds] == [{None: {"n": 1, "m": 4}}] * 2 + [{None: {"n": 3}}]
    assert [world.running for world in worlds] == [(3,), (3,), ()]


def test_after_a_lost_connection_all_is_folded_again(schema_dsn: str) -> None:
    make(schema_dsn)
    with replaying(schema_dsn) as replayer, psycopg.connect(schema_dsn, autocommit=True) as other:
        replayer.at(6)
        other.execute(
            "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
            " WHERE application_name = 'stepwell' AND datname = current_database()"
        )
        assert [replayer.at(6).replay.kept for _ in range(2)] == [None, 4]


def test_of_a_standby_nothing_is_kept(standby: Any) -> None:
    dsn = standby.primary.conninfo("postgres")
    run_id = uuid4()
    bare_table(dsn)
    for number in range(1, 7):
        add_step(dsn, number, "llm_call", output="hi", run_id=run_id)
    standby.catch_up()
    with closing(
        Replayer(
            resolve(standby.replica.conninfo("postgres")),
            run_id,
            stretches=Stretches(run_id, every=2, least=0),
        )
    ) as replayer:
        assert [replayer.at(6).replay.kept for _ in range(2)] == [None, None]


def test_a_run_that_is_being_recorded(schema_dsn: str) -> None:
    """Steps overlap, and finish behind a reader that keeps what it has folded."""
    with stepwell.Recorder(schema_dsn) as recorder, recorder.run("swarm") as run:
        uid = run.run_id
        with ThreadPoolExecutor(6) as threads:
            sleepy = Random(1)

            def work(agent: int) -> None:
                own = run.named(agent=f"a{agent % 3}")
                for count in range(12):
                    own.tool(time.sleep, sleepy.random() / 200)
                    own.state({"count": count})

            with closing(
                Replayer(resolve(schema_dsn), uid, stretches=Stretches(uid, every=3, least=0))
            ) as replayer:
                done = [threads.submit(work, agent) for agent in range(6)]
                while not all(each.done() for each in done):
                    if numbers := replayer.heads().numbers:
                        replayer.at(numbers[-1])
                with closing(
                    Replayer(resolve(schema_dsn), uid, stretches=Stretches(uid, least=NEVER))
                ) as full:
                    for number in full.heads().numbers:
                        assert told(replayer.at(number)) == told(full.at(number))
