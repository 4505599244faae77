"""What an agent finds around its process, and a replay elsewhere does not: the divergence says that it may be that."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import stepwell
from stepwell import Run
from stepwell.core.divergence import Divergence, Kind
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play
from stepwell.rerun.surroundings import COMMAND_LINE, ENVIRONMENT, TERMINAL
from tests.rerun.agents import search

Record = Callable[[Any], RecordedRun]


def parted(recorded: RecordedRun, agent: Any) -> Divergence:
    found = play(recorded, agent).divergence
    assert found is not None
    return found


def reads_environment(run: Run) -> None:
    run.tool(search, os.environ["ORDER_REGION"])


def parses(run: Run) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("query")
    run.tool(search, parser.parse_args().query)


def asks_a_person(run: Run) -> None:
    run.tool(search, input("> "))


def parses_last(run: Run) -> None:
    run.tool(search, "a")
    argparse.ArgumentParser().parse_args(sys.argv[2:])


@pytest.mark.parametrize(
    ("agent", "kind", "hint"),
    [
        (reads_environment, Kind.RAISED, ENVIRONMENT),
        (parses, Kind.RAISED, COMMAND_LINE),
        (asks_a_person, Kind.RAISED, TERMINAL),
        (parses_last, Kind.RESULT, COMMAND_LINE),
    ],
)
def test_an_agent_that_ends_for_want_of_it_is_told_so(
    record: Record, monkeypatch: pytest.MonkeyPatch, agent: Any, kind: Kind, hint: str
) -> None:
    monkeypatch.setenv("ORDER_REGION", "eu")
    monkeypatch.setattr(sys, "argv", ["agent", "lamp"])
    monkeypatch.setattr(sys, "stdin", StringIO("lamp\n"))
    recorded = record(agent)
    monkeypatch.delenv("ORDER_REGION")
    monkeypatch.setattr(sys, "argv", ["agent"] if agent is parses else ["agent", "lamp", "more"])
    monkeypatch.setattr(sys, "stdin", StringIO())
    found = parted(recorded, agent)
    assert (found.kind, found.hint) == (kind, hint)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (lambda run: run.tool(search, f"look in {os.getcwd()}/src"), "os.getcwd()"),
        (lambda run: run.tool(search, os.environ.get("ORDER_REGION", "")), 'os.environ["ORDER_REGION"]'),
    ],
)
def test_another_input_that_is_of_here_says_what_of(
    record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, agent: Any, words: str
) -> None:
    recorded = record(agent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORDER_REGION", "eu-central")
    assert parted(recorded, agent).hint == f'if that is {words}, it has to be a step: run.value("here", …)'


@cache
def schema(table: str) -> object:
    run = stepwell.current_run()
    assert run is not None
    return run.tool(search, table)


@cache
@stepwell.tool
def columns(table: str) -> str:
    return table


@pytest.mark.parametrize("kept", [schema, columns])
@pytest.mark.parametrize("goes_on", [True, False])
def test_what_an_earlier_run_had_put_into_a_cache_is_told_as_such(
    record: Record, kept: Any, goes_on: bool
) -> None:
    def agent(run: Run) -> None:
        kept("orders")
        if goes_on:
            run.tool(len, "ab")

    kept.cache_clear()
    record(agent)
    second = record(agent)
    kept.cache_clear()
    name = kept.__name__
    assert parted(second, agent).hint == (
        f"{name} keeps what it gave, and may have had that from an earlier run of its process:"
        f" {name}.cache_clear() where a run begins"
    )
