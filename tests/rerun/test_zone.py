"""Local time in a replay is that of the process which was recorded."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play
from stepwell.rerun.zone import is_known
from tests.rerun.agents import search

Record = Callable[[Any], RecordedRun]


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str | None], None]]:
    """Give this process another local time."""

    def to(zone: str | None) -> None:
        if zone is None:
            monkeypatch.delenv("TZ", raising=False)
        else:
            monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield to
    monkeypatch.undo()
    time.tzset()


def agent(run: Run) -> list[str]:
    told = f"it is {datetime.now():%Y-%m-%d %H:00}, in {time.tzname[time.localtime().tm_isdst]}"
    run.tool(search, told)
    return [told, f"{datetime.now().astimezone():%z}"]


@pytest.mark.parametrize("there", ["Asia/Tokyo", "XYZ+7", ""])
@pytest.mark.parametrize("here", ["Asia/Tokyo", "America/New_York", None])
def test_an_agent_that_says_what_time_it_is_says_the_same(
    record: Record, move: Callable[[str | None], None], there: str, here: str | None
) -> None:
    move(there)
    recorded = record(agent)
    move(here)
    before = os.environ.get("TZ"), time.tzname
    report = play(recorded, agent)
    assert (report.divergence, report.refused, report.notes) == (None, None, ())
    assert (os.environ.get("TZ"), time.tzname) == before


def test_a_run_that_does_not_say_has_the_time_of_here(
    record: Record, move: Callable[[str | None], None]
) -> None:
    move("Asia/Tokyo")
    assert play(replace(record(agent), zone=None), agent).same


def test_an_agent_that_empties_its_environment_leaves_the_time_of_here(
    record: Record, move: Callable[[str | None], None]
) -> None:
    def empties(run: Run) -> None:
        agent(run)
        os.environ.clear()

    before = dict(os.environ)
    try:
        move("Asia/Tokyo")
        recorded = record(empties)
        move("America/New_York")
        assert play(recorded, empties).same
        assert os.environ["TZ"] == "America/New_York"
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.parametrize("zone", ["Mars/Olympus_Mons", "UTC0\0", "\ud800"])
def test_a_zone_that_is_not_known_here_is_named(
    record: Record, move: Callable[[str | None], None], zone: str
) -> None:
    move("Asia/Tokyo")
    recorded = replace(record(lambda _: None), zone=zone)
    names: list[str] = []
    assert play(recorded, lambda _: names.append(time.tzname[0])).notes == (
        f"the time zone {zone} is not known here: its local time is UTC; install tzdata",
    )
    assert names == ["UTC"]


@pytest.mark.parametrize(
    ("zone", "known"),
    [
        *(("", True), (":Asia/Tokyo", True), ("CET-1CEST,M3.5.0,M10.5.0/3", True), ("<+0530>-5:30", True)),
        *(("/usr/share/zoneinfo/Asia/Tokyo", True), ("Mars/Olympus_Mons", False)),
        *(("UTC0\0", False), ("\ud800", False)),
    ],
)
def test_rules_are_known_by_their_name_or_by_themselves(zone: str, known: bool) -> None:
    assert is_known(zone) == known
