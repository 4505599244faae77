"""Every kind of agent, replayed: it does what it did, as often as one likes."""

import asyncio
import os
import re
import select
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, cast

import psycopg
import pytest

from stepwell import Diverged, NotFoundError, Recorder, Run, UsageError, replay
from stepwell.core.divergence import Kind
from stepwell.core.recorded import RecordedRun
from stepwell.replay.recorded import load
from stepwell.rerun.executing import Instead
from stepwell.rerun.playing import Terms, play
from stepwell.store.connect import resolve
from tests.rerun.agents import AGENTS, fetch, search


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_does_the_same_each_time(name: str, record: Callable[[Any], RecordedRun]) -> None:
    assert_same(record, name, 5)


@pytest.mark.long
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_does_the_same_a_hundred_times(name: str, record: Callable[[Any], RecordedRun]) -> None:
    assert_same(record, name, 100)


def assert_same(record: Callable[[Any], RecordedRun], name: str, times: int) -> None:
    recorded = record(AGENTS[name])
    for _ in range(times):
        report = play(recorded, AGENTS[name])
        assert report.divergence is None, report.divergence
        assert report.stopped is None
        assert report.notes == ()
        assert report.served == len(recorded.steps) - (name == "nested")  # of which one is inside of another


def test_a_run_that_somebody_wrote_by_hand_is_replayed_as_far_as_it_goes(schema_dsn: str) -> None:
    run_id = uuid.uuid4()
    rows = [
        ("llm_call", '{"messages": ["hello"], "temperature": 1e0}', '{"text": "hi", "at": 1.50}'),
        ("tool_call", '{"query": "hi", "limit": 2.0}', '["one", "two"]'),
        ("tool_call", '{"n": 1e2}', '{"n": [1e2, 1.50, 100.0]}'),
    ]
    with psycopg.connect(schema_dsn) as connection:
        for number, row in enumerate(rows, 1):
            connection.execute(
                "INSERT INTO agent_steps (run_id, step_number, step_type, input, output)"
                " VALUES (%s, %s, %s, %s, %s)",
                (run_id, number, *row),
            )

    def ask(messages: list[str], temperature: float) -> Any:
        raise AssertionError(messages, temperature)

    def agent(run: Run) -> Any:
        reply = run.llm(ask, ["hello"], 1.0)
        found = run.tool(search, reply["text"], limit=limit)
        with run.step("tool_call", "block", {"n": 1e2}) as step:
            step.output = {"n": [1e2, 1.5, 100]}
        return run.tool(search, found[0])

    limit = 2
    recorded = load(resolve(schema_dsn), str(run_id))
    report = play(recorded, agent)
    assert (report.divergence, report.served, report.stopped) == (None, 3, "the recording ends here")
    limit = 3
    found = play(recorded, agent).divergence
    assert found is not None
    assert (found.kind, found.step, found.path) == (Kind.INPUT, 2, "$.limit")


def test_what_stands_in_for_a_tool_need_not_be_asynchronous_as_that_is(
    record: Callable[[Any], RecordedRun],
) -> None:
    async def agent(run: Run) -> object:
        return run.result(await asyncio.gather(run.tool(fetch, "a"), run.tool(find, "b")))

    async def find(query: str) -> str:
        return query

    recorded = record(agent)
    instead = Instead(stand_ins={"find": lambda query: query})
    assert play(recorded, agent, terms=Terms(instead)).same


def test_tools_are_named_in_a_list_for_parts_of_a_name_would_be_names_too() -> None:
    with pytest.raises(UsageError, match="pure is a list of names"):
        Instead(pure="parse_all")


def test_a_name_that_no_step_has_is_said(record: Callable[[Any], RecordedRun]) -> None:
    def agent(run: Run) -> None:
        run.tool(search, "a")

    report = play(record(agent), agent, terms=Terms(Instead({"search", "serch"})))
    assert report.notes == ("no step of the run is called serch: pure tools and stand-ins go by these names",)


def generates(run: Run) -> Iterator[object]:
    yield run


class Neither: ...


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("shop:main", "'shop:main' is of type str, which cannot be called; import what it names"),
        (5, "5 is of type int, which cannot be called"),
        (lambda run, more: (run, more), "<lambda>(run, more) cannot be called with the run alone"),
        (generates, "generates is a generator function, and nothing of it runs when it is called"),
        (Neither, "Neither is a class, and not one with step(), llm_response and tool_result"),
    ],
)
def test_what_is_no_agent_is_told_what_it_is(
    agent: Any, says: str, record: Callable[[Any], RecordedRun]
) -> None:
    recorded = record(lambda run: run.tool(search, "a"))
    with pytest.raises(UsageError, match=re.escape(says)):
        play(recorded, agent)


def test_what_fails_to_be_called_and_what_takes_no_run_are_seen_to_be_no_agent(
    record: Callable[[Any], RecordedRun],
) -> None:
    recorded = record(lambda run: run.tool(search, "a"))
    assert (play(recorded, cast(Any, len)).refused or "").startswith(
        "len cannot be called with the run alone: object of"
    )
    assert play(recorded, cast(Any, os.getcwd)).notes == (
        "getcwd takes no run, and has asked for nothing: is it the agent?",
    )


def test_what_is_raised_has_both_sides_and_the_notes(schema_dsn: str) -> None:
    def agent(run: Run) -> None:
        run.tool(len, "a")
        if later:
            raise KeyError("b")

    later = False
    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        agent(run)
    later = True
    with pytest.raises(Diverged) as caught:
        replay(run.run_id, agent, dsn=schema_dsn)
    sides, note = caught.value.__notes__
    assert "KeyError: 'b'" in sides
    assert note.startswith("note: the agent ended with KeyError: 'b' at ")
    for number in (-1, 2):
        with pytest.raises(NotFoundError, match=f"no step {number}; it has 1"):
            replay(run.run_id, agent, number, dsn=schema_dsn)


def test_what_comes_over_a_descriptor_is_waited_for(record: Callable[[Any], RecordedRun]) -> None:
    async def main(run: Run) -> object:
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            # From a thread in the background, so that nothing but the descriptor says that something is to come.
            threading.Thread(target=send, args=(far,), daemon=True).start()
            return run.tool(search, (await asyncio.get_running_loop().sock_recv(near, 2)).decode())

    def send(end: socket.socket) -> None:
        select.select([], [], [], 0.05)
        end.send(b"it")

    def agent(run: Run) -> object:
        return asyncio.run(main(run))

    report = play(record(agent), agent)
    assert (report.divergence, report.refused) == (None, None)
