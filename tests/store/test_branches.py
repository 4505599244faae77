"""Branches of runs: stored as a tail, read as a whole."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from stepwell import Recorder, Run, Summary
from stepwell.core.branching import Answered, going_on
from stepwell.core.recorded import RecordedStep
from stepwell.core.restated import ended_before
from stepwell.core.world import Moment, World
from stepwell.replay import Replayer
from stepwell.replay.recorded import load
from stepwell.replay.runs import Runs
from stepwell.replay.stretches import Stretches
from stepwell.replay.whatif import save
from stepwell.store.branches import resolved, steps_query
from stepwell.store.connect import Target, connect
from stepwell.store.queries import query
from tests.store.branched import Stored, complete, search

NOT_USED = [{"id": 1, "item": "nobody saw this"}]


def flattened(target: Target, branch: UUID) -> UUID:
    """An ordinary run with the same rows as the branch has."""
    copy = uuid4()
    with closing(connect(target)) as connection, connection.transaction():
        columns = [
            name
            for (name,) in connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = 'agent_steps'::regclass AND attnum > 0"
                " AND NOT attisdropped AND attname NOT IN ('id', 'run_id')"
            )
        ]
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        line = [branch]
        while (found := parent_of(connection, line[-1])) is not None:
            line.append(found)
        # Of each number the row of the nearest run, below where the nearer one begins.
        connection.execute(
            sql.SQL(
                "INSERT INTO agent_steps (run_id, {names}) SELECT {copy}, {names} FROM ("
                "SELECT DISTINCT ON (step_number) s.* FROM agent_steps s"
                " JOIN unnest({line}::uuid[]) WITH ORDINALITY AS l (id, depth) ON s.run_id = l.id"
                " WHERE s.step_number <= (SELECT steps FROM agent_runs WHERE run_id = {branch})"
                " AND (depth = 1 OR s.step_number < (SELECT min(forked_at_step) FROM agent_runs"
                " WHERE run_id = ANY (({line}::uuid[])[1:depth::int - 1])))"
                " ORDER BY step_number, depth) AS s"
            ).format(names=names, copy=sql.Literal(copy), line=sql.Literal(line), branch=sql.Literal(branch))
        )
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, tags, steps, finished, agents, started_at, seed, result)"
            " SELECT %s, name, status, tags, steps, finished, agents, started_at, seed, result FROM agent_runs"
            " WHERE run_id = %s",
            (copy, branch),
        )
    return copy


def parent_of(connection: psycopg.Connection, run_id: UUID) -> UUID | None:
    row = connection.execute("SELECT parent_run_id FROM agent_runs WHERE run_id = %s", (run_id,)).fetchone()
    return None if row is None else row[0]


def comparable(world: World) -> dict[str, Any]:
    """What a world shows, but for whose it is and how it was read."""
    names = [name for name in World.__dataclass_fields__ if name not in ("run_id", "replay", "payload")]
    shown = {name: getattr(world, name) for name in names}
    payload = world.payload
    texts = (payload.input, payload.input_exact, payload.output, payload.output_exact, payload.error)
    for name in ("previous_prompt", "next_prompt", "previous_reply"):
        shown[name] = shown[name] and (shown[name].number, shown[name].input, shown[name].output)
    return shown | {"payload": texts, "steps": world.replay.steps, "folded": world.replay.state_steps}


def but_payload(step: RecordedStep) -> dict[str, Any]:
    return {each.name: getattr(step, each.name) for each in fields(step) if each.name != "payload"}


def assert_reads_like_an_ordinary_run(target: Target, branch: UUID) -> None:
    other = flattened(target, branch)
    mine = Replayer(target, branch, stretches=Stretches(branch, every=2, least=1))
    its = Replayer(target, other)
    with closing(mine), closing(its):
        heads = mine.heads()
        assert list(heads) == list(its.heads())
        assert [head.number for head in heads] == list(range(1, len(heads) + 1))
        for text in ("lamp number 1", "living", "no such text anywhere"):
            assert mine.search(text) == its.search(text)
        for number in reversed(heads.numbers):
            assert mine.payload(number).output == its.payload(number).output
            for moment in Moment:
                assert comparable(mine.at(number, moment)) == comparable(its.at(number, moment))
    ours, theirs = (load(target, str(run_id)) for run_id in (branch, other))
    assert [but_payload(step) for step in ours.steps] == [but_payload(step) for step in theirs.steps]
    assert [(step.payload.input, step.payload.output) for step in ours.steps] == [
        (step.payload.input, step.payload.output) for step in theirs.steps
    ]


def rows_of(target: Target, run_id: UUID) -> list[int]:
    with closing(connect(target)) as connection:
        found = connection.execute(
            "SELECT step_number FROM agent_steps WHERE run_id = %s ORDER BY 1", (run_id,)
        )
        return [number for (number,) in found]


def test_a_branch_reads_like_a_run_with_the_same_rows(stored: Stored) -> None:
    for number in (1, 6, 8, 11, 12):
        branch = stored.edit(number, {"something": "else, which nobody has seen before"})
        assert_reads_like_an_ordinary_run(stored.target, branch)


def test_a_branch_stores_its_tail_alone(stored: Stored) -> None:
    branch = stored.edit(5, NOT_USED)
    last = load(stored.target, str(branch)).head.steps
    assert rows_of(stored.target, branch) == list(range(5, last + 1))


def test_prompts_of_the_tail_are_whole_in_the_view_for_psql(stored: Stored) -> None:
    """Though the run that it leaves has them as differences."""
    branch = stored.edit(6, {"no": "prompt has the state"})
    with closing(connect(stored.target)) as connection:
        of = "SELECT input FROM {} WHERE run_id = %s AND step_number = 7"
        whole = connection.execute(of.format("agent_steps_full"), (branch,)).fetchone()
        expected = connection.execute(of.format("agent_steps_full"), (stored.run_id,)).fetchone()
        difference = connection.execute(of.format("agent_steps"), (stored.run_id,)).fetchone()
    assert whole == expected != difference


def test_a_branch_of_a_branch_has_steps_of_both(stored: Stored) -> None:
    first = stored.edit(12, "a first change")
    second = stored.edit(13, {"a": "second change"}, first)
    third = stored.edit(11, "a change below where the first one leaves", second)
    for branch in (first, second, third):
        assert_reads_like_an_ordinary_run(stored.target, branch)
    assert rows_of(stored.target, third) == [11, 12, 13]
    with closing(Replayer(stored.target, third)) as replayer:
        assert replayer.payload(12).output == '"a first change"'


def test_an_enclosing_step_has_no_outcome_where_the_branch_ends_inside(stored: Stored) -> None:
    def nested(run: Run) -> None:
        with run.step("tool_call", "outer", {}) as outer:
            found = run.tool(search, "a lamp that stands on the floor")
            run.llm(complete, "m", [{"role": "user", "content": str(found)}])
            outer.output = "told by what was found"
        run.state({"done": True})

    with closing(Recorder(stored.target.conninfo, durability="async")) as recorder, recorder.run() as run:
        nested(run)
    branch = stored.edit(2, NOT_USED, run.run_id)
    assert rows_of(stored.target, branch) == [1, 2]
    with closing(Replayer(stored.target, branch)) as replayer:
        assert [step.in_doubt for step in replayer.heads()] == [True, False]
        assert replayer.at(2).unfinished == (1,)
        assert replayer.run().unfinished == 1
    assert_reads_like_an_ordinary_run(stored.target, branch)


def test_the_order_of_finishing_has_no_gaps_where_steps_overlapped(stored: Stored) -> None:
    """Of three at once the one that began last, which the branch has not, finished first."""
    begun, ends = [Event() for _ in range(3)], [Event() for _ in range(3)]

    def wait(run: Run, place: int) -> None:
        with run.step("tool_call", "wait", {"place": place}) as step:
            begun[place].set()
            ends[place].wait(10)
            step.output = place

    with (
        closing(Recorder(stored.target.conninfo, durability="async")) as recorder,
        recorder.run() as run,
        ThreadPoolExecutor(3) as pool,
    ):
        waiting = []
        for place in range(3):
            waiting.append(pool.submit(wait, run, place))
            begun[place].wait(10)
        for place in reversed(range(3)):
            ends[place].set()
            waiting[place].result()
        run.tool(search, "after them")
    recorded = load(stored.target, str(run.run_id))
    branch = save(stored.target, run.run_id, going_on(recorded, Answered({1, 2}), None))
    assert [step.finished_order for step in load(stored.target, str(branch)).steps] == [2, 1]
    assert rows_of(stored.target, branch) == [1, 2]
    assert_reads_like_an_ordinary_run(stored.target, branch)
    branch = save(stored.target, run.run_id, going_on(recorded, Answered({2, 4}), None))
    with closing(Recorder(stored.target.conninfo, durability="async")) as recorder:
        recorder.resume(branch).tool(search, "later")
    steps = load(stored.target, str(branch)).steps
    assert [(step.number, step.finished_before) for step in steps] == [(2, 0), (4, 1), (5, 4)]
    assert all(ended_before(steps[at], steps[at + 1]) for at in (0, 1))
    with closing(Runs(stored.target)) as runs:
        assert runs.find(str(branch)).unfinished == 0


def test_a_recorder_goes_on_with_a_branch(stored: Stored) -> None:
    branch = stored.edit(12, "no error any more")
    with closing(Recorder(stored.target.conninfo, durability="async")) as recorder:
        run = recorder.resume(branch)
        run.tool(search, "more of it")
        run.finish()
    steps = load(stored.target, str(branch)).steps
    assert [step.number for step in steps] == list(range(1, 15))
    assert (steps[-1].finished_order, steps[-1].finished_before) == (14, 13)
    assert_reads_like_an_ordinary_run(stored.target, branch)


def test_who_goes_on_with_a_branch_knows_what_it_has_from_its_run(stored: Stored) -> None:
    """The laps of a loop, and that a step has raised."""
    facts: list[Summary] = []
    with closing(Recorder(stored.target.conninfo, keep=facts.append)) as recorder:
        with recorder.run() as run:
            with pytest.raises(ZeroDivisionError):
                run.tool(lambda: 1 // 0)
            for _ in range(2):
                run.tool(search, "again")
        tail = going_on(load(stored.target, str(run.run_id)), Answered({1, 2, 3}), None)
        with recorder.resume(save(stored.target, run.run_id, tail)) as branch:
            branch.tool(search, "again")
    assert [summary.raised for summary in facts] == [1, 1]
    assert [summary.loop and summary.loop.laps for summary in facts] == [None, 3]


def test_the_list_of_runs_tells_where_a_branch_leaves(stored: Stored) -> None:
    branch = stored.edit(12, "no error any more", name="without the error")
    with closing(Runs(stored.target)) as runs:
        listed = {head.run_id: head for head in runs.page(10)}
        found = runs.find(str(branch))
    assert listed[branch] == found
    assert (found.parent, found.forked_at, found.name) == (stored.run_id, 12, "without the error")
    assert (found.steps, found.unfinished, found.status) == (13, 0, "unknown")
    assert (listed[stored.run_id].parent, listed[stored.run_id].forked_at) == (None, None)


def test_a_branch_replays_from_when_the_run_began_that_it_has_its_first_steps_from(stored: Stored) -> None:
    branch = stored.edit(12, "no error any more")
    deeper = stored.edit(12, "nor any other", branch)
    began = load(stored.target, str(stored.run_id)).head.started
    assert [load(stored.target, str(run_id)).head.started for run_id in (branch, deeper)] == [began, began]


def test_a_branch_of_a_run_at_work_stays_as_it_was(stored: Stored) -> None:
    go_on, begun = Event(), Event()

    def wait() -> str:
        begun.set()
        assert go_on.wait(60)
        return "has come"

    with (
        closing(Recorder(stored.target.conninfo)) as recorder,
        recorder.run() as run,
        ThreadPoolExecutor() as pool,
    ):
        waiting = pool.submit(run.tool, wait)
        assert begun.wait(60)
        run.tool(search, "meanwhile")
        branch = stored.edit(2, "other", run.run_id)
        before = load(stored.target, str(branch)).steps
        go_on.set()
        assert waiting.result() == "has come"
    assert [step.in_doubt for step in before] == [True, False]
    assert load(stored.target, str(branch)).steps == before
    with closing(Runs(stored.target)) as runs:
        found = runs.find(str(branch))
    assert (found.status, found.unfinished, found.unfinished_name) == ("unknown", 1, "wait")


def test_a_branch_that_has_all_steps_ends_as_the_run_did(stored: Stored) -> None:
    branch = stored.edit(11, "nobody ever looks at this")
    with closing(Runs(stored.target)) as runs:
        assert runs.find(str(branch)).status == "ok"
    assert load(stored.target, str(branch)).result == load(stored.target, str(stored.run_id)).result


def test_an_ordinary_run_is_read_by_the_query_as_it_stands(stored: Stored) -> None:
    with closing(connect(stored.target)) as connection:
        run_id = resolved(connection, stored.run_id)
    assert steps_query("read_heads", run_id) is query("read_heads")


def test_a_whole_run_is_read_from_tables_that_know_of_no_replays(stored: Stored) -> None:
    before = load(stored.target, str(stored.run_id)).steps
    with psycopg.connect(stored.target.conninfo, autocommit=True) as connection:
        for column in (
            "seed",
            "random",
            "zone",
            "connection",
            "drawn",
            "result",
            "result_exact",
            "parent_run_id",
            "forked_at_step",
        ):
            connection.execute(f"ALTER TABLE agent_runs DROP COLUMN {column}")
    assert load(stored.target, str(stored.run_id)).steps == before
