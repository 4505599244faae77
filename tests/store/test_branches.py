"""Branches of runs: stored as a tail, read as a whole."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from threading import Barrier
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from stepwell import Recorder, Run
from stepwell.core.branching import cut, tail_of
from stepwell.core.whatif import what_if
from stepwell.core.world import Moment, World
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.replay import Replayer
from stepwell.replay.recorded import load
from stepwell.replay.runs import Runs
from stepwell.replay.stretches import Stretches
from stepwell.replay.whatif import save
from stepwell.store.branches import resolved, steps_query
from stepwell.store.connect import Target, connect, resolve
from stepwell.store.queries import query
from stepwell.store.reading import step_rows
from tests.core.prompt_sequences import PAD


def search(query: str) -> list[dict[str, object]]:
    return [{"id": 8841, "item": f"{query} for the living room"}, {"id": 8842, "item": "a desk of oak wood"}]


def complete(model: str, messages: list[Any]) -> dict[str, Any]:  # noqa: ARG001 as a model takes it
    return {"role": "assistant", "content": f"there were {len(messages)} messages to answer in this prompt"}


def agent(run: Run) -> None:
    """Long prompts, which are stored as differences; a state each turn; a step inside of another one; an error."""
    messages: list[Any] = [{"role": "system", "content": PAD}]
    for turn in range(3):
        reply = run.llm(complete, "m", list(messages))
        messages.append(reply)
        rows = run.tool(search, f"lamp number {turn}")
        messages.append({"role": "user", "content": str(rows)})
        run.state({"turn": turn, "seen": [row["id"] for row in rows], "same": PAD[:50]})
    with run.step("tool_call", "outer", {"of": "all"}) as outer:
        run.tool(search, "inside of the other one")
        outer.output = "the outer one has come to its end"
    with pytest.raises(ZeroDivisionError):
        run.tool(lambda: 1 // 0)
    run.state({"turn": "over"})
    run.result({"said": messages[-1]})


class Stored(NamedTuple):
    target: Target
    run_id: UUID

    def edit(self, number: int, value: object, run_id: UUID | None = None, name: str | None = None) -> UUID:
        """A branch of the run, or of another one, in which a step gave `value`."""
        run = load(self.target, str(run_id or self.run_id))
        return save(self.target, run.head.run_id, tail_of(what_if(run, number, value)), name)


@pytest.fixture
def stored(schema_dsn: str) -> Stored:
    with closing(Recorder(schema_dsn, durability="async")) as recorder, recorder.run("lamps", seed=4) as run:
        agent(run)
    return Stored(resolve(schema_dsn), run.run_id)


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
    assert [replace(step, payload=None) for step in ours.steps] == [  # type: ignore[arg-type]  # compared apart
        replace(step, payload=None)  # type: ignore[arg-type]
        for step in theirs.steps
    ]
    assert [(step.payload.input, step.payload.output) for step in ours.steps] == [
        (step.payload.input, step.payload.output) for step in theirs.steps
    ]


def rows_of(target: Target, run_id: UUID) -> list[int]:
    with closing(connect(target)) as connection:
        found = connection.execute(
            "SELECT step_number FROM agent_steps WHERE run_id = %s ORDER BY 1", (run_id,)
        )
        return [number for (number,) in found]


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 11, 12, 13])
def test_a_branch_reads_like_a_run_with_the_same_rows(stored: Stored, number: int) -> None:
    branch = stored.edit(number, {"something": "else, which nobody has seen before"})
    assert_reads_like_an_ordinary_run(stored.target, branch)


def test_a_branch_stores_its_tail_alone(stored: Stored) -> None:
    branch = stored.edit(5, NOT_USED)
    last = load(stored.target, str(branch)).head.steps
    assert rows_of(stored.target, branch) == list(range(5, last + 1))
