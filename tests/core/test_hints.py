"""A difference that is none of the agent's doing says what may be the cause, and others say nothing."""

from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import PosixPath, PurePosixPath
from typing import Any
from uuid import UUID

import pytest

from stepwell.core.codec import encode
from stepwell.core.divergence import Asked, Divergence, Kind, first_difference
from stepwell.core.hints import CHANCE, ORDER, PROCESS, TIME, hinted, of_here, unlike
from stepwell.core.recorded import RecordedRun
from stepwell.core.shown import held, shown
from stepwell.core.steps import RunHead

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECONDS = int(NOON.timestamp())


class There:
    class Kind(Enum):
        A = "a"


class Here:
    class Kind(Enum):
        A = "a"


@pytest.mark.parametrize(
    ("recorded", "now", "hint"),
    [
        ("2026-11-30T16:01:13.123456+00:00", "2026-11-30T16:01:13.130000+00:00", TIME),
        (
            "You are. Today is Monday, November 30, 2026.",
            "You are. Today is Tuesday, December 1, 2026.",
            TIME,
        ),
        ("it is 9:59 now", "it is 10:01 now", TIME),
        ("Mon Nov 30 16:01:13 2026", "Mon Nov 30 16:01:14 2026", TIME),
        ("30.11.2026", "01.12.2026", TIME),
        ("20261130_160113.txt", "20261130_160114.txt", TIME),
        (f"at {SECONDS}.5", f"at {SECONDS + 2}.25", TIME),
        (SECONDS + 0.5, SECONDS + 0.75, TIME),
        (SECONDS * 1000, SECONDS * 1000 + 9, TIME),
        (str(UUID(int=1 << 100)), str(UUID(int=1 << 90)), CHANCE),
        ("key 0a1b2c3d4e5f6789", "key 9a1b2c3d4e5f6789", CHANCE),
        ("look at alpha, beta", "look at beta, alpha", ORDER),
        ("alpha, beta", "beta, beta", None),
        ("2026-11-30, limit 50", "2026-11-30, limit 20", None),
        ("order 1234567890", "order 1234567891", None),
        ("10.0.0.12", "10.0.0.13", None),
        ("10.10.12.5", "10.10.13.5", None),
        ("Friends", "Friendly", None),
        ("Market 5", "Market 6", None),
        ("order 10000007", "order 10000008", None),
        ("python 3.11.12", "python 3.11.13", None),
        ("v1.2.3 or 1:2", "v1.2.4 or 1:2", None),
        ("decade", "facade", None),
        (50, 20, None),
        (-(10**400), float("nan"), None),
        (True, False, None),
        (None, "2026-11-30", None),
    ],
)
def test_what_is_another_one_each_time_is_told(recorded: Any, now: Any, hint: str | None) -> None:
    run = RecordedRun(RunHead(UUID(int=1), status="ok", started=NOON), ())
    assert hinted(Divergence(Kind.INPUT, 1, "$", recorded, now), run).hint == hint
    known = Divergence(Kind.INPUT, 1, "$", recorded, now, hint="known")
    assert hinted(known, run) is known


@pytest.mark.parametrize(
    ("recorded", "now", "hint"),
    [
        ({"ids": ["a", "b"]}, {"ids": ["b", "a"]}, ORDER),
        ({"n": 1, "ids": [[{"a": 1}, 2], 3]}, {"n": 1, "ids": [[2, {"a": 1}], 3]}, ORDER),
        ({"n": 1, "ids": ["a", "b"]}, {"n": 2, "ids": ["b", "a"]}, None),
        ({"ids": ["a", "b"]}, {"ids": ["b", "c"]}, None),
        ({"ids": ["a", "b"]}, {"ids": ["a"]}, None),
        ({"ids": ["a", "b"]}, {}, None),
    ],
)
def test_a_list_in_another_order_is_told_as_such(recorded: Any, now: Any, hint: str | None) -> None:
    path, expected, actual = first_difference(recorded, now)
    sides = Asked("tool_call", value=recorded), Asked("tool_call", value=now)
    run = RecordedRun(RunHead(UUID(int=1), status="ok", started=NOON), ())
    assert hinted(Divergence(Kind.INPUT, 1, path, expected, actual, *sides), run).hint == hint


@pytest.mark.parametrize(
    ("recorded", "now", "hint"),
    [
        ("<Order at 0x7fe283ac5090>", "<Order at 0x7fc04c94c0b0>", PROCESS),
        (139882630107280, 140554662466000, PROCESS),
        ("key -866029456205164701", "key 6149421231779124673", PROCESS),
        (139882630107280, "140554662466000", None),
        ("costs 0x10", "costs 0x20", None),
        (12345678, 12345679, None),
        ("1.398826301072801", "1.405546624660001", None),
    ],
)
def test_what_python_makes_anew_in_each_process_is_told_as_such(
    recorded: Any, now: Any, hint: str | None
) -> None:
    run = RecordedRun(RunHead(UUID(int=1), status="ok", started=NOON), ())
    assert hinted(Divergence(Kind.INPUT, 1, "$", recorded, now), run).hint == hint


@pytest.mark.parametrize(
    ("recorded", "now", "words"),
    [
        ("look in /srv/app please", "look in /home/me/app please", "os.getcwd()"),
        ("/srv/app/data", "/home/me/app/data", "os.getcwd()"),
        ("/home/you/cache", "/home/me/cache", "the home folder"),
        (7665, 7687, "os.getpid()"),
        ("pid 7665", "pid 7687", "os.getpid()"),
        ("pid 7687 of one", "pid 7687 of two", None),
        ("pid 7665", "pid 76871", None),
        ("7687", None, None),
        (["7665"], ["7687"], None),
    ],
)
def test_what_is_found_around_the_process_is_told_by_how_it_is_asked_for(
    recorded: Any, now: Any, words: str | None
) -> None:
    here = {"/home/me/app": "os.getcwd()", "/home/me": "the home folder", "7687": "os.getpid()"}
    told = None if words is None else f'if that is {words}, it has to be a step: run.value("here", …)'
    found = Divergence(Kind.INPUT, 1, "$", recorded, now)
    assert of_here(found, here).hint == told
    assert of_here(replace(found, hint="known"), here).hint == "known"
    assert of_here(replace(found, kind=Kind.ORDER), here).hint is None


@pytest.mark.parametrize(
    ("recorded", "now", "said"),
    [
        ([{"a": (1,)}], [{"a": [1]}], "$[0].a was of type tuple and is of type list"),
        ({"k": b"a"}, {"k": "b'a'"}, "$.k was of type bytes and is of type str"),
        ({"k": {1: 2}}, {"k": {"1": 2}}, "the keys of $.k are of other types"),
        ((1, {2}), (1, frozenset({2})), "$[1] was of type set and is of type frozenset"),
        ([There.Kind.A], [Here.Kind.A], f"$[0] was a {__name__}.There.Kind and is a {__name__}.Here.Kind"),
        (PurePosixPath("a"), PosixPath("a"), "$ is another path"),
    ],
)
def test_what_looks_alike_is_told_apart_by_its_type(recorded: Any, now: Any, said: str) -> None:
    assert shown(recorded) == shown(now)
    assert unlike(held_of(recorded), held_of(now)) == f"they look alike, but {said}"
    assert unlike(held_of(now), held_of(now)) is None


def held_of(value: object) -> object:
    encoded = encode(value)
    return held(encoded.plain, encoded.exact)
