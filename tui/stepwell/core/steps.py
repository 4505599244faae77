"""Runs and steps as values. A head is what a list needs of them; payloads are read when they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from stepwell.core.past import Origin

LLM_CALL = "llm_call"
TOOL_CALL = "tool_call"
STATE_UPDATE = "state_update"


@dataclass(frozen=True, slots=True)
class StepHead:
    """One step without its payloads.

    Everything after `has_output` is None where the table or the row does not hold it: it is shown as
    missing, never guessed. `number` is the row's own `step_number`: it may have gaps and may not begin at 1.
    """

    number: int
    type: str
    has_output: bool = False
    created: datetime | None = None
    seed: int | None = None
    agent: str | None = None
    name: str | None = None
    parent: int | None = None
    started: datetime | None = None
    finished: datetime | None = None
    finished_order: int | None = None
    error: str | None = None
    """`Type: message`, of any length and content."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None
    call_hash: int | None = None
    """Of a finished tool call: equal for the same name, arguments and result."""

    @property
    def in_doubt(self) -> bool:
        """Recorded before it was applied and never confirmed (or, in a live run, still running)."""
        return not self.has_output and self.error is None and self.finished is None

    @property
    def duration(self) -> timedelta | None:
        if self.started is None or self.finished is None:
            return None
        return self.finished - self.started

    @property
    def time(self) -> datetime | None:
        """When it began, as far as is known."""
        return self.started or self.created


@dataclass(frozen=True, slots=True)
class Loop:
    """The same cycle of `period` tool calls again and again, from step `first` to step `last`."""

    name: str
    first: int
    last: int
    period: int
    laps: int


@dataclass(frozen=True, slots=True)
class RunHead:
    """One row of the list of runs.

    `status` is `running`, `died`, `ok`, `failed`, or `unknown` for a run of which only the bare steps exist, and for a
    branch that was not gone on with.
    """

    run_id: UUID
    status: str
    name: str | None = None
    tags: Mapping[str, object] = field(default_factory=dict)
    steps: int = 0
    unfinished: int = 0
    """Steps that have neither an output nor an error."""
    unfinished_name: str | None = None
    """Of the newest of them, like the next two; None where it could not be found."""
    unfinished_number: int | None = None
    unfinished_started: datetime | None = None
    """A recorder always says when a step began."""
    agents: tuple[str, ...] = ()
    started: datetime | None = None
    finished: datetime | None = None
    error: str | None = None
    loop: Loop | None = None
    source: str | None = None
    origin: Origin | None = None
    """Which server the snapshots of its steps are of; None where that is not recorded."""
    parent: UUID | None = None
    """Of a branch: the run that it leaves, and from which it has its steps below `forked_at`."""
    forked_at: int | None = None

    @property
    def recorded(self) -> bool:
        """Whether the run is from a recorder, as far as its own row tells, and not from a file or by hand."""
        return self.source is None and self.status != "unknown"

    @property
    def unanswered(self) -> bool:
        """Whether a step has no output, and will not get one."""
        return self.unfinished > 0 and self.status != "running"

    @property
    def in_doubt(self) -> bool:
        """Whether that step was begun by a recorder, so that it may or may not have taken effect.

        In rows from a file or written by hand a missing output says nothing but that it is missing.
        """
        begun = self.unfinished_started is not None or self.unfinished_number is None
        return self.unanswered and begun and self.recorded


class Stored(NamedTuple):
    """The input of a row: whole where `base` is None, else the difference to the input of step `base` (`core.deltas`).

    JSON as the text that Postgres holds.
    """

    number: int
    plain: str | None
    exact: str | None
    base: int | None = None
    keep: int | None = None
    list: str | None = None
    removed: str | None = None
    unread: int | None = None
    """Bytes as stored, where that was too much to be read; `plain` is None then."""


@dataclass(frozen=True, slots=True)
class Payload:
    """What a step was given and gave, as the JSON text that Postgres holds.

    `output` None is the SQL NULL of a step that never finished; the text `null` is a call that returned None.
    The `…_exact` texts hold what JSONB could not keep (`core.codec`).
    """

    number: int
    input: str | None = None
    output: str | None = None
    input_exact: str | None = None
    output_exact: str | None = None
    error: str | None = None
    chain: tuple[Stored, ...] = ()
    """Of an input that is stored as a difference: its row, then the base of each one before."""
    problem: str | None = None
    """Why `input` is not the whole of such an input, in words; None where it is."""
    input_unread: int | None = None
    """Bytes as stored of an input that was too large to be read, and is None for that; None where it was read."""
    output_unread: int | None = None
