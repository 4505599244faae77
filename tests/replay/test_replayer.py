"""A move: a fresh read-only serializable transaction, folded, rolled back, and told truthfully."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.core.world import MISSING, SHARED, Change, Last, Moment
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.replay.rows import RUN, add_step, bare_table


@contextmanager
def replaying(dsn: str, run_id: UUID = RUN) -> Iterator[Replayer]:
    replayer = Replayer(resolve(dsn), run_id)
    try:
        yield replayer
    finally:
        replayer.close()


def test_it_says_how_it_read(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "state_update", output={"tries": 1})
    with replaying(schema_dsn) as replayer:
        world = replayer.at(1)
    assert world.replay.isolation == "SERIALIZABLE READ ONLY DEFERRABLE"
    assert (world.replay.steps, world.replay.state_steps) == (1, 1)
    assert world.replay.rolled_back
    assert world.replay.milliseconds > 0
    assert world.replay.notes == ()


def test_no_backend_is_left_in_a_transaction(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "llm_call", output="hello")
    with replaying(schema_dsn) as replayer, psycopg.connect(schema_dsn) as other:
        replayer.at(1)
        states = other.execute(
            "SELECT state, backend_xid FROM pg_stat_activity"
            " WHERE application_name = 'stepwell' AND datname = current_database()"
        ).fetchall()
    assert states == [("idle", None)]


def test_each_move_reads_what_is_there_now(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "state_update", output={"tries": 1})
    with replaying(schema_dsn) as replayer:
        before = replayer.at(1)
        add_step(schema_dsn, 2, "state_update", output={"tries": 2})
        after = replayer.at(2)
    assert (before.states, after.states) == ({None: {"tries": 1}}, {None: {"tries": 2}})


def test_objects_written_by_hand_are_merged_and_other_values_replace(schema_dsn: str) -> None:
    for number, output in enumerate([{"plan": {"a": 1, "b": 2}}, {"plan": {"b": None}, "x": 0}, ["odd"]], 1):
        add_step(schema_dsn, number, "state_update", output=output)
    with replaying(schema_dsn) as replayer:
        worlds = [replayer.at(number) for number in (1, 2, 3)]
    assert [world.states[None] for world in worlds] == [
        {"plan": {"a": 1, "b": 2}},
        {"plan": {"a": 1}, "x": 0},
        ["odd"],
    ]
    assert worlds[1].changed == (Change(None, ("plan", "b"), 2, MISSING), Change(None, ("x",), MISSING, 0))
    assert worlds[1].set_at == {None: {"plan": 2, "x": 2}}
    assert list(worlds[2].odd) == [3]


def test_a_json_null_is_a_result_and_a_missing_output_is_not(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "state_update", output={"a": 1})
    add_step(schema_dsn, 2, "state_update")
    add_step(schema_dsn, 3, "state_update", output=None)
    with replaying(schema_dsn) as replayer:
        assert replayer.at(2).states == {None: {"a": 1}}
        assert replayer.at(2).step.in_doubt
        assert replayer.at(3).states == {None: None}
        assert not replayer.at(3).step.in_doubt


def test_gaps_a_late_first_step_and_unknown_types_replay(schema_dsn: str) -> None:
    add_step(schema_dsn, 5, "thought", output={"text": "hm"})
    add_step(schema_dsn, 9, "state_update", output={"tries": 1})
    with replaying(schema_dsn) as replayer:
        assert [head.number for head in replayer.heads()] == [5, 9]
        assert replayer.at(5).states == {}
        assert replayer.at(9).replay.steps == 2
        with pytest.raises(NotFoundError, match="no step 7"):
            replayer.at(7)


def test_a_step_that_overlaps_is_outside_until_it_finished(schema_dsn: str) -> None:
    """Step 1 begins, 2 begins, 2 finishes, 3 begins and finishes, then 1 finishes."""
    add_step(
        schema_dsn, 1, "state_update", output={"by": 1}, finished_order=3, finished_before=0, started_before=3
    )
    add_step(schema_dsn, 2, "tool_call", output="two", finished_order=1, finished_before=0, started_before=2)
    add_step(
        schema_dsn, 3, "state_update", output={"by": 3}, finished_order=2, finished_before=1, started_before=3
    )
    with replaying(schema_dsn) as replayer:
        after = {number: replayer.at(number) for number in (1, 2, 3)}
        asked = {number: replayer.at(number, Moment.ASKED) for number in (1, 2, 3)}
    assert [after[n].states for n in (1, 2, 3)] == [{None: {"by": 1}}, {}, {None: {"by": 3}}]
    assert [after[n].running for n in (1, 2, 3)] == [(), (1,), (1,)]
    assert [asked[n].running for n in (1, 2, 3)] == [(), (1,), (1,)]
    assert [asked[n].states for n in (1, 2, 3)] == [{}, {}, {}]
    assert asked[3].last[None] == Last(response=None, result=2)
    assert after[1].replay.ordered_by == "finish"
    assert after[1].replay.steps == 3


def test_a_step_that_never_finished_is_not_among_those_that_ran(schema_dsn: str) -> None:
    """Whether it was under way at that moment cannot be told from its row."""
    add_step(schema_dsn, 1, "tool_call", finished_before=0, started_before=1)
    add_step(schema_dsn, 2, "tool_call", output="b", finished_order=2, finished_before=0, started_before=3)
    add_step(schema_dsn, 3, "tool_call", output="c", finished_order=1, finished_before=0, started_before=3)
    with replaying(schema_dsn) as replayer:
        worlds = [replayer.at(number) for number in (1, 2, 3)]
    assert [(world.running, world.unfinished) for world in worlds] == [((), ()), ((), (1,)), ((2,), (1,))]


def test_answers_and_states_are_kept_apart_by_agent(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "llm_call", output="a", agent="a", tokens_in=10, tokens_out=1)
    add_step(schema_dsn, 2, "llm_call", output="b", agent="b", tokens_in=20, tokens_out=2)
    add_step(schema_dsn, 3, "tool_call", output="r", agent="a")
    add_step(schema_dsn, 4, "state_update", output={"n": 1}, agent="a")
    add_step(schema_dsn, 5, "state_update", output={"n": 2}, agent="b", name="shared")
    with replaying(schema_dsn) as replayer:
        world = replayer.at(5)
    assert world.last == {"a": Last(1, 3), "b": Last(2, None)}
    assert world.states == {"a": {"n": 1}, SHARED: {"n": 2}}
    assert (world.tokens_in, world.tokens_out) == (30, 3)


def test_a_model_call_comes_with_the_prompt_before_it(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "llm_call", input={"messages": ["a"]}, output="1", agent="a")
    add_step(schema_dsn, 2, "llm_call", input={"messages": ["b"]}, output="2", agent="b")
    add_step(schema_dsn, 3, "llm_call", input={"messages": ["a", "a2"]}, output="3", agent="a")
    with replaying(schema_dsn) as replayer:
        previous = replayer.at(3).previous_prompt
        assert replayer.at(2).previous_prompt is None
    assert previous is not None
    assert (previous.number, previous.input) == (1, '{"messages": ["a"]}')


def test_a_bare_table_and_a_role_that_may_only_select(dsn: str) -> None:
    role = bare_table(dsn)
    add_step(dsn, 1, "llm_call", input={"messages": []}, output="hi")
    add_step(dsn, 2, "state_update", output={"tries": 1})
    add_step(dsn, 3, "tool_call", input={"q": 1})
    with replaying(f"{dsn} user={role}") as replayer:
        heads = replayer.heads()
        world = replayer.at(2)
        run = replayer.run()
    assert [head.type for head in heads] == ["llm_call", "state_update", "tool_call"]
    assert [head.in_doubt for head in heads] == [False, False, True]
    assert {head.name for head in heads} == {None}
    assert world.states == {None: {"tries": 1}}
    assert world.replay.ordered_by == "number"
    assert (run.status, run.steps) == ("unknown", 3)


def test_behind_a_serializable_writer_it_waits_a_bounded_time_and_names_it(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "state_update", output={"tries": 1})
    with replaying(schema_dsn) as replayer, psycopg.connect(schema_dsn, application_name="shop") as writer:
        pid = writer.info.backend_pid
        writer.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        writer.execute("SELECT count(*) FROM agent_steps")
        writer.execute("CREATE TABLE t ()")
        world = replayer.at(1)
        writer.rollback()
        again = replayer.at(1)
    assert world.states == {None: {"tries": 1}}
    assert world.replay.isolation == "REPEATABLE READ READ ONLY"
    assert world.replay.notes == (f"no safe snapshot in 1000 ms behind shop (pid {pid})",)
    assert again.replay.isolation == "SERIALIZABLE READ ONLY DEFERRABLE"


def test_a_lost_connection_is_opened_again_and_said(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "llm_call", output="hi")
    with replaying(schema_dsn) as replayer, psycopg.connect(schema_dsn, autocommit=True) as other:
        replayer.at(1)
        other.execute(
            "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
            " WHERE application_name = 'stepwell' AND datname = current_database()"
        )
        assert replayer.at(1).replay.notes == (
            "reconnected: an administrator or a restart ended the session",
        )


def test_what_is_running_can_be_cancelled_from_another_thread(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "llm_call", output="hi")
    with replaying(schema_dsn) as replayer, psycopg.connect(schema_dsn) as blocker:
        replayer.at(1)
        blocker.execute("LOCK TABLE agent_steps")
        caught: list[BaseException] = []

        def move() -> None:
            try:
                replayer.at(1)
            except DatabaseError as error:
                caught.append(error)

        thread = threading.Thread(target=move)
        thread.start()
        deadline = time.monotonic() + 10
        while thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.05)
            replayer.cancel()
        thread.join()
    assert [str(error) for error in caught] == ["cancelled"]


def test_a_standby_is_read_and_labelled(standby: Any) -> None:
    dsn = standby.primary.conninfo("postgres")
    run_id = uuid4()
    bare_table(dsn)
    add_step(dsn, 1, "state_update", output={"a": 1}, run_id=run_id)
    standby.catch_up()
    with replaying(standby.replica.conninfo("postgres"), run_id) as replayer:
        world = replayer.at(1)
    assert world.states == {None: {"a": 1}}
    assert (world.replay.isolation, world.replay.notes) == ("REPEATABLE READ READ ONLY", ("standby",))


def test_a_tool_call_comes_with_the_prompt_after_it_of_the_same_agent(schema_dsn: str) -> None:
    add_step(schema_dsn, 1, "tool_call", output="x", agent="a")
    add_step(schema_dsn, 2, "llm_call", input="other", agent="b")
    add_step(schema_dsn, 3, "llm_call", input="own", agent="a")
    with replaying(schema_dsn) as replayer:
        prompt = replayer.at(1).next_prompt
        assert replayer.at(3).next_prompt is None
    assert prompt is not None
    assert prompt.input == '"own"'


def test_a_search_finds_where_a_text_first_appears(schema_dsn: str) -> None:
    first = {"messages": ["where is the lamp"]}
    add_step(schema_dsn, 1, "llm_call", input=first, output="let me see")
    add_step(schema_dsn, 2, "tool_call", input={"q": 'a "Lamp"'}, output=[])
    add_step(
        schema_dsn, 3, "llm_call", input={"messages": [*first["messages"], 'a "Lamp"']}, output="no lamp"
    )
    add_step(schema_dsn, 4, "llm_call", input=first, output="bye")
    with replaying(schema_dsn) as replayer:
        assert replayer.search("lamp") == [1, 2, 3]
        assert replayer.search('"Lamp"') == [2]
        assert replayer.search("100%") == []


def test_a_search_finds_a_member_in_every_column_that_holds_it(schema_dsn: str) -> None:
    """Of a value, of an error, of JSON in a string; in either case unless there is a capital."""
    add_step(schema_dsn, 1, "tool_call", input={"Id": 88}, output=[])
    add_step(schema_dsn, 2, "tool_call", input={}, output=[{"id": "88", "Item": "Lamp"}])
    add_step(schema_dsn, 3, "llm_call", input={}, output={"arguments": '{"id":88,"item":"lamp"}'})
    add_step(schema_dsn, 4, "tool_call", input={}, error=Jsonb({"id": 188}))
    add_step(schema_dsn, 5, "tool_call", input={}, error=Jsonb({"id": 881}))
    with replaying(schema_dsn) as replayer:
        assert replayer.search('"id": 88') == [1, 2, 3, 5]
        assert replayer.search("Id=88") == [1]
        assert replayer.search('"Item":"La') == [2]
        assert replayer.search("item=lamp") == [2, 3]
        assert replayer.search("id=8") == [1, 2, 3, 5]
        assert replayer.search("d=88") == []
