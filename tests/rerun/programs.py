"""Programs of several threads of calls, recorded and replayed in any order in which they may take turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

from stepwell.core.codec import encode
from stepwell.core.divergence import Divergence
from stepwell.core.identity import Key, Question
from stepwell.core.matching import Matcher
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.steps import Payload, RunHead

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Call:
    """One call; one that has something inside is a block."""

    name: str
    value: Any
    inside: Sequence[Call] = field(default=())


Lane = Sequence[Call]


def walk(lane: Lane, parent: list[int]) -> Iterator[tuple[Call, list[int]]]:
    """The calls of a lane in order, each with a list for its number and that of its block."""
    for call in lane:
        here = [*parent, 0]
        yield call, here
        yield from walk(call.inside, here)


def interleaved(lanes: Sequence[Lane], random: Random) -> Iterator[tuple[int, Call, list[int]]]:
    """One order in which they may come, with the lane of each."""
    left = {number: walk(lane, []) for number, lane in enumerate(lanes)}
    while left:
        number = random.choice(list(left))
        found = next(left[number], None)
        if found is None:
            del left[number]
        else:
            yield number, *found


def step_of(number: int, call: Call, parent: int | None, lane: int | None, **more: Any) -> RecordedStep:
    encoded = encode(call.value)
    payload = Payload(number, encoded.plain, "null", encoded.exact)
    return RecordedStep(number, "tool_call", call.name, None, parent, payload, lane=lane, **more)


def recorded(steps: Sequence[RecordedStep], status: str = "ok") -> RecordedRun:
    return RecordedRun(RunHead(UUID(int=1), status=status), tuple(steps))


def record(lanes: Sequence[Lane], random: Random) -> tuple[RecordedRun, dict[tuple[int, int], int]]:
    """The run, and the numbers of its steps by lane and place."""
    steps: list[RecordedStep] = []
    numbers: dict[tuple[int, int], int] = {}
    counts = dict.fromkeys(range(len(lanes)), 0)
    for lane, call, path in interleaved(lanes, random):
        path[-1] = len(steps) + 1
        steps.append(step_of(path[-1], call, path[-2] if path[1:] else None, lane))
        numbers[lane, counts[lane]] = path[-1]
        counts[lane] += 1
    return recorded(steps), numbers


def replay(run: RecordedRun, lanes: Sequence[Lane], random: Random) -> Divergence | None:
    matcher = Matcher(run)
    for lane, call, path in interleaved(lanes, random):
        question = Question(Key("tool_call", call.name, None, path[-2] if path[1:] else None), call.value)
        found = matcher.ask(question, 100 - lane)
        if not isinstance(found, RecordedStep):
            assert found is not None
            return found
        path[-1] = found.number
        matcher.open(found.number)
    return matcher.left()
