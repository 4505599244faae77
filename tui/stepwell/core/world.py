"""What replaying steps 1..N yields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from stepwell.core.past import Instant
from stepwell.core.steps import Payload, StepHead


class Moment(StrEnum):
    """Steps may overlap, so a step has two worlds."""

    ASKED = "asked"
    """When it began: what had finished by then."""
    AFTER = "after"
    """When it had finished, its own effect included."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The truth about one move: what was folded, how, and how long it took."""

    isolation: str
    """`SERIALIZABLE READ ONLY DEFERRABLE`, or what it fell back to."""
    milliseconds: float
    steps: int
    """How many steps the world holds."""
    state_steps: int
    """How many of them were folded into the state: of each scope those from the last whole state on."""
    ordered_by: str
    """`finish` where the order in which steps finished is recorded, else `number`."""
    retries: int = 0
    notes: tuple[str, ...] = ()
    """Retries, reconnections, fallbacks: each in a few words for the status line."""
    rolled_back: bool = True
    kept: int | None = None
    """The steps up to this one had been folded by an earlier move, and this one has found their rows unchanged."""


@dataclass(frozen=True, slots=True)
class Last:
    """The newest finished answers of one agent: step numbers, None where there is none yet."""

    response: int | None = None
    result: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The run as of step `number`, at `moment`. Equal to itself only: to compare two may be to compare megabytes.

    `states` maps a scope (an agent's name, None for the only agent, `SHARED`) to its state as a JSON value;
    `set_at` maps scope to {top-level key: the step that last changed it}; `changed` are the paths that this
    step itself changed, with their old and new values.
    """

    run_id: UUID
    number: int
    moment: Moment
    step: StepHead
    payload: Payload
    states: Mapping[str | None, object]
    set_at: Mapping[str | None, Mapping[str, int]]
    changed: tuple["Change", ...]
    last: Mapping[str | None, Last]
    running: tuple[int, ...]
    """Numbers of the other steps that had begun, and finished later."""
    tokens_in: int | None
    tokens_out: int | None
    clock: datetime | None
    replay: Replay
    previous_prompt: Payload | None = None
    """Of a model call: the prompt before it of the same agent, to tell what is new."""
    next_prompt: Payload | None = None
    """Of a tool call: the prompt after it of the same agent, to tell what the model saw of the result."""
    previous_reply: Payload | None = None
    """Of a tool call: the reply before it of the same agent, which may have asked for it."""
    unfinished: tuple[int, ...] = ()
    """Numbers of the other steps that had begun and have no outcome: under way while the run is, else in doubt."""
    odd: Mapping[int, str] = field(default_factory=dict)
    """State steps that could not be taken for what they claim, and why (step number to a few words)."""
    before: Instant | None = None
    """Of the database, before the step's call was made; None where that is not recorded."""
    after: Instant | None = None
    """After it had returned."""

    @property
    def instant(self) -> Instant | None:
        """Of the database, at the moment of this world; of a step without an outcome when it began."""
        return self.before if self.moment is Moment.ASKED or self.step.in_doubt else self.after


@dataclass(frozen=True, slots=True)
class Change:
    """One changed path of a state. `MISSING` stands for "not there"."""

    scope: str | None
    path: tuple[str | int, ...]
    old: object
    new: object


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        """Copies are the thing itself."""
        return "MISSING"


MISSING = _Missing()
SHARED = "(shared)"
"""Scope of the state that all agents of a run have in common."""
