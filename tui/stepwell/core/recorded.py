"""A whole recorded run, as a replay through the agent's own code needs it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from stepwell.core.steps import Payload, RunHead
from stepwell.errors import EncodingError

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class RecordedStep:
    """One step with what it was given and gave."""

    number: int
    type: str
    name: str | None
    agent: str | None
    parent: int | None
    payload: Payload
    started: datetime | None = None
    finished: datetime | None = None
    finished_order: int | None = None
    lane: int | None = None
    """Which thread or task of the run took it; None where that is not recorded."""
    form: str | None = None
    """How the call handed out its answer, and as what: `stream openai:Stream`; None for the value as it is."""
    random_after: str | None = None
    """What `random` stood at afterwards (`core.chance`), as JSON text; None for what was noted last when it began."""
    drawn: tuple[str, ...] = ()
    """What was drawn since the step before of the same thread or task, in hexadecimal digits: see `draws`."""
    seed: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None
    finished_before: int | None = None
    """How many steps had finished when it began."""
    started_before: int | None = None
    """How many had begun when it finished."""

    @property
    def in_doubt(self) -> bool:
        """Whether it has no outcome."""
        return self.payload.output is None and self.payload.error is None

    def draws(self) -> Iterator[tuple[int, bytes]]:
        """What was drawn, each with the number of the thread or task among those that drew: `2 9f86…`.

        Where there is none it is that of the lane. Raises EncodingError for what is no such thing.
        """
        return (_draw(text, self.lane or 0, f"step {self.number}") for text in self.drawn)


@dataclass(frozen=True)
class RecordedRun:
    """One run and its steps, by their numbers.

    `result` and `result_exact` are what `Run.result` was given last, None where it was given nothing.
    """

    head: RunHead
    steps: tuple[RecordedStep, ...]
    result: str | None = None
    result_exact: str | None = None
    random: str | None = None
    """What `random` stood at when it began, as JSON text."""
    drawn: tuple[str, ...] = ()
    """What was drawn after the last step."""
    seed: int | None = None
    zone: str | None = None
    """The local time of the agent's process, as `TZ` would have it."""
    connection: str | None = None
    """How the connection of the agent's own was set, as JSON."""
    connected: bool = False
    """Whether a step was recorded with what a connection of the agent's own saw."""

    @property
    def complete(self) -> bool:
        """Whether the run came to an end, so that an agent that goes on does otherwise than it did."""
        return self.head.status in ("ok", "failed")

    @property
    def began(self) -> datetime | None:
        """When it did, of a run that was written by hand its first step; None where that is not recorded."""
        return self.head.started or (self.steps[0].started if self.steps else None)

    @cached_property
    def ends(self) -> dict[int, datetime]:
        """When each step ended, for a replay: no two at once, and in the order in which they did.

        The recorded times need not be in that order: each is a beginning and a duration, measured apart.
        """
        found: dict[int, datetime] = {}
        latest: datetime | None = None
        for step in sorted(self.steps, key=lambda step: step.finished_order or 0):
            if step.finished is None:
                continue
            if step.finished_order is not None:
                latest = step.finished if latest is None else max(step.finished, latest + _TICK)
            found[step.number] = step.finished if latest is None else latest
        return found

    @cached_property
    def by_number(self) -> dict[int, RecordedStep]:
        return {step.number: step for step in self.steps}

    def draws(self) -> Iterator[tuple[int, bytes]]:
        """As those of its steps, all in order, with what was drawn after the last."""
        for step in self.steps:
            yield from step.draws()
        yield from (_draw(text, 0, "the end") for text in self.drawn)


def _draw(text: str, lane: int, where: str) -> tuple[int, bytes]:
    number, _, given = text.rpartition(" ")
    try:
        return int(number) if number.isdecimal() else lane, bytes.fromhex(given)
    except ValueError:
        raise EncodingError(f"drawn of {where} is {text!a:.60}: edited by hand?") from None
