"""What came of a replay through an agent's own code, on its way from the process that ran it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from stepwell.core.divergence import Asked, Divergence, Kind
from stepwell.core.world import MISSING


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the agent's code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class Leave:
    """Where an agent would go on for real, for want of an answer in the recording.

    `step` is the number that its first step of then gets; `then` what the recorded run called from there on, each name
    with how often. `connection` is whether it has used `run.connection`, which ends there.
    """

    step: int
    then: tuple[tuple[str, int], ...] = ()
    connection: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """How far the agent got, and what it did otherwise.

    `served` steps were answered, the last of them step `last`, asked for at `place`. The agent did not come to its end
    where one of three says why: `divergence`; `stopped`, in words, where the replay had reached what it was to reach;
    `refused`, in words, where the recording has no answer that could be handed out or the process died.
    `result` is what the agent returned, JSON-like, MISSING where it did not or where that cannot be shown.
    """

    served: int
    last: int | None = None
    place: Place | None = None
    divergence: Divergence | None = None
    stopped: str | None = None
    refused: str | None = None
    result: object = MISSING
    notes: tuple[str, ...] = ()
    """What a reader should know: redacted answers, what the agent opened by itself, and the like."""
    leave: Leave | None = None
    """Where it would go on for real, None where the recording had all answers or it must not."""
    branch: str | None = None
    """The run in which it did; what it raised there is in `stopped`."""
    output: str = ""
    """What the agent has printed, to either stream."""

    @property
    def same(self) -> bool:
        """Whether the agent did what was recorded, as far as it was to go."""
        return self.divergence is None and self.refused is None


def report_to_json(report: Report) -> dict[str, Any]:
    """JSON-like, for `report_from_json`: what is MISSING is left out."""
    made = asdict(report)
    return {key: _without_missing(value) for key, value in made.items() if value is not MISSING}


def _without_missing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_missing(item) for key, item in value.items() if item is not MISSING}
    return value


def report_from_json(made: Mapping[str, Any]) -> Report:
    """What `report_to_json` was given. Raises KeyError, TypeError or ValueError for anything else."""
    place, found, leave = (made.get(name) for name in ("place", "divergence", "leave"))
    plain = {**made, "place": None, "divergence": None, "leave": None}
    report = Report(**{**plain, "notes": tuple(made.get("notes", ()))})
    return replace(
        report,
        place=None if place is None else Place(**place),
        leave=None if leave is None else Leave(**{**leave, "then": tuple(map(tuple, leave["then"]))}),
        divergence=None if found is None else _divergence(found),
    )


def _divergence(made: Mapping[str, Any]) -> Divergence:
    sides = {side: None if made.get(side) is None else Asked(**made[side]) for side in ("recorded", "asked")}
    given = {"expected": MISSING, "actual": MISSING, **made, **sides}
    return Divergence(**{**given, "kind": Kind(made["kind"]), "others": tuple(made.get("others", ()))})
