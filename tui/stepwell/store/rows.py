"""Rows that a recorder writes."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from stepwell.store.prepared import ID, INT8, MOMENT, TEXT, Kind


class Start(NamedTuple):
    """A step that begins. JSON as text, times as microseconds since 1970.

    With an `output` it has finished too, in the same instant. `known` is the last step number of the run that the
    recorder knows of: where there is a newer one, nothing is written. The `input` of a long prompt may be a difference
    to that of step `input_base`: see `core/deltas.py`. `seen` is what the agent's own connection saw before the call;
    None has the statement take a snapshot itself, and NOT_NOW has it take none. `lane` is the thread or task that takes
    the step, `drawn` what `uuid` gave it before, as a JSON list of hexadecimal digits.
    """

    run_id: UUID
    step_type: str
    agent: str | None
    name: str | None
    parent_step: int | None
    seed: int | None
    started_at: int
    input: str
    input_exact: str | None
    lane: int | None = None
    drawn: str | None = None
    output: str | None = None
    output_exact: str | None = None
    known: int | None = None
    input_base: int | None = None
    input_keep: int | None = None
    input_list: str | None = None
    input_removed: str | None = None
    seen: str | None = None


class Finish(NamedTuple):
    """The outcome of a step. JSON as text, times as microseconds since 1970.

    `seen` is as that of `Start`, after the call. `form` is how the answer was handed out (`core/forms.py`),
    `random_after` what `random` stood at then, where that is not what was noted last when the step began.
    """

    run_id: UUID
    step_number: int
    output: str | None
    output_exact: str | None
    error: str | None
    finished_at: int
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None
    call_hash: int | None = None
    form: str | None = None
    random_after: str | None = None
    loop: str | None = None
    seen: str | None = None


class Opened(NamedTuple):
    """A run that begins. JSON as text, `started_at` in microseconds since 1970.

    `seed` is of its steps that have none of their own, `random` what Python's `random` stands at, `zone` what
    `TZ` would be for its local time, `connection` how the agent's own is set.
    """

    run_id: UUID
    name: str | None
    tags: str | None
    started_at: int
    seed: int | None = None
    random: str | None = None
    zone: str | None = None
    connection: str | None = None


class Resumed(NamedTuple):
    """What the row of a run says that is taken up again."""

    steps: int
    name: str | None
    tags: Mapping[str, object]
    seed: int | None


class Ended(NamedTuple):
    """The end of a run. JSON as text, `finished_at` in microseconds since 1970.

    `keep` is why it is worth keeping, empty if it is not, None if nobody says; `drawn` what `uuid` gave after the
    last step of each lane, as a JSON list of a lane and hexadecimal digits each.
    """

    run_id: UUID
    status: str
    finished_at: int
    error: str | None = None
    keep: str | None = None
    drawn: str | None = None
    result: str | None = None
    result_exact: str | None = None


NOT_NOW = ""
"""What a row has `seen` that is written later than it happened: a snapshot would be of another moment."""
START_KINDS: tuple[Kind, ...] = (
    *(ID, TEXT, TEXT, TEXT, INT8, INT8, MOMENT, TEXT, TEXT, INT8, TEXT),
    *(TEXT, TEXT, INT8, INT8, INT8, TEXT, TEXT, TEXT),
)
FINISH_KINDS: tuple[Kind, ...] = (
    *(ID, INT8, TEXT, TEXT, TEXT, MOMENT, INT8, INT8, TEXT, INT8),
    *(TEXT, TEXT, TEXT, TEXT),
)
"""How their columns are sent."""
