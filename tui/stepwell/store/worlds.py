"""What the world of a step is made of, read in two round trips."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, TupleRow, dict_row

from stepwell.core.past import Instant
from stepwell.core.steps import LLM_CALL, TOOL_CALL, Payload, StepHead, Stored
from stepwell.core.stretches import FROM_THE_BEGINNING, Start, Totals
from stepwell.core.whole import payload
from stepwell.errors import NotFoundError
from stepwell.store.branches import steps_query
from stepwell.store.instants import instant_of, number_of
from stepwell.store.limits import BESIDE, MOVES, Limits
from stepwell.store.reading import Row, step_head, stored_rows


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a world holds."""

    through: int
    """The last step that had begun."""
    order: int | None
    """The last `finished_order` inside; None where the order of finishing is not recorded."""
    number: int
    """The last step inside, for rows without a finishing order."""


class Counters(NamedTuple):
    """How many steps of the run had finished when the step began, and begun when it finished; None if unknown."""

    finished_before: int | None
    started_before: int | None


class Snapshots(NamedTuple):
    """What the step saw of the database before its call and after it; None where that is not recorded."""

    before: Instant | None
    after: Instant | None


class Sight(NamedTuple):
    """What a transaction sees."""

    session: str | None
    """Which session of which server it is in; None where the snapshot does not tell all."""
    snapshot: str
    """`xmin:xmax:` and what was under way."""

    @property
    def bound(self) -> int:
        """All transactions before this one are over, and seen."""
        return int(self.snapshot.partition(":")[0])


class StateRow(NamedTuple):
    """A finished state step: the patch that it was given, else the value that it gave."""

    number: int
    agent: str | None
    name: str | None
    is_patch: bool
    plain: str
    exact: str | None


@dataclass(frozen=True, slots=True)
class Answers:
    """What the finished steps of a world come to, and which others had begun."""

    agents: Mapping[str | None, Totals]
    running: tuple[int, ...]
    unfinished: tuple[int, ...]
    ordered: bool
    kept: int | None
    """See `Start.kept`."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a world shows beside its step, as texts and numbers still to be made sense of."""

    payload: Payload
    """Of the step itself, with the steps that its input is put together with."""
    states: list[StateRow]
    answers: Answers
    prompt: Payload | None
    """Of a model call the prompt before it, of a tool call the prompt after it; of the same agent."""
    reply: Payload | None
    """Of a tool call the reply before it of the same agent, which may have asked for it."""


def read_step(
    connection: psycopg.Connection, run_id: UUID, number: int, limits: Limits = MOVES
) -> tuple[StepHead, Counters, Payload, Snapshots, Sight]:
    """One step, the counters of its row, its input as it is stored, what it saw, and what the transaction sees.

    A payload beyond the limits is not read. Raises NotFoundError where the run has no such step.
    """
    with connection.cursor() as cursor:
        row = cursor.execute(
            steps_query("read_step", run_id),
            {"run_id": run_id, "number": number, **limits._asdict()},
            prepare=False,
        ).fetchone()
    if row is None:
        raise NotFoundError(f"run {str(run_id)[:8]} has no step {number}")
    *head, finished_before, started_before = row[:-20]
    given, gave, seen, sight = row[-20:-14], row[-14:-9], row[-9:-2], row[-2:]
    return (
        step_head(*head),
        Counters(finished_before, started_before),
        payload([Stored(number, *given)], *gave),
        _snapshots(*seen),
        Sight(*sight),
    )


def _snapshots(
    before: str | None,
    own_before: str | None,
    position_before: str | None,
    after: str | None,
    own_after: str | None,
    position_after: str | None,
    backend: str | None,
) -> Snapshots:
    pid = number_of(backend)
    return Snapshots(
        instant_of(before, number_of(own_before), number_of(position_before), pid),
        instant_of(after, number_of(own_after), number_of(position_after), pid),
    )


def read_parts(
    connection: psycopg.Connection,
    run_id: UUID,
    head: StepHead,
    own: Payload,
    bounds: Bounds,
    limits: Limits = MOVES,
    start: Start = FROM_THE_BEGINNING,
) -> Parts:
    """The state steps and answers within `bounds`, the prompt shown with step `head`, and what its input is made of.

    `limits` are for the step's own input, and what it is put together with. What is folded before `start` is not
    folded again.
    """
    inside = {"run_id": run_id, **asdict(bounds)}
    base = own.chain[0].base if own.chain else None
    beside = BESIDE if head.type == TOOL_CALL else MOVES
    step = {"number": head.number, "agent": head.agent, "known": base, **beside._asdict()}
    own_bases = {"number": base, **limits._asdict()}
    folding = _named("states", start.states) | {"after": start.states_after, "here": head.number}
    counting = _named("loose", start.loose) | {"after": start.after, "lasts": list(start.lasts)}
    with _at_once(connection):
        states: psycopg.Cursor[TupleRow] = connection.cursor()
        states.execute(steps_query("fold_state", run_id), inside | folding, prepare=False)
        answers = _send(connection, "fold_answers", run_id, inside | counting)
        bases = _send(connection, "read_bases", run_id, own_bases) if own.chain else None
        prompts = _send(connection, _PROMPTS[head.type], run_id, step) if head.type in _PROMPTS else None
        replies = _send(connection, "read_previous_reply", run_id, step) if head.type == TOOL_CALL else None
    chain = stored_rows(bases) if bases else []
    prompt = stored_rows(prompts) if prompts else []
    if prompt and prompt[0].number == base:
        prompt = chain
    reply = replies.fetchone() if replies else None
    return Parts(
        payload=_whole(own, chain) if own.chain else own,
        states=[StateRow._make(row) for row in states.fetchall()],
        answers=_answers(start, answers.fetchall()),
        prompt=payload(prompt) if prompt else None,
        reply=Payload(reply["step_number"], None, reply["output"], None, reply["output_exact"])
        if reply
        else None,
    )


def _named(name: str, numbers: Sequence[int]) -> dict[str, object]:
    return {name: list(numbers), f"any_{name}": bool(numbers)}


def _answers(start: Start, rows: Sequence[Row]) -> Answers:
    agents = dict(start.agents)
    for row in rows:
        totals = Totals(row["steps"], row["response"], row["result"], row["tokens_in"], row["tokens_out"])
        agents[row["agent"]] = agents.get(row["agent"], Totals()).plus(totals)
    return Answers(
        agents,
        running=tuple(sorted(number for row in rows for number in row["running"] or ())),
        unfinished=tuple(sorted(number for row in rows for number in row["unfinished"] or ())),
        ordered=start.ordered or any(row["ordered"] for row in rows),
        kept=start.kept,
    )


def _whole(own: Payload, bases: list[Stored]) -> Payload:
    return payload(
        [*own.chain, *bases], own.output, own.output_exact, own.error, output_unread=own.output_unread
    )


_PROMPTS = {LLM_CALL: "read_previous_prompt", TOOL_CALL: "read_next_prompt"}


def _send(
    connection: psycopg.Connection, name: str, run_id: UUID, parameters: dict[str, object]
) -> psycopg.Cursor[DictRow]:
    statement = steps_query(name, run_id)
    return connection.cursor(row_factory=dict_row).execute(
        statement, {"run_id": run_id, **parameters}, prepare=False
    )


def _at_once(connection: psycopg.Connection) -> AbstractContextManager[object]:
    """Send what is executed inside without waiting for each answer, where libpq can (from 14 on)."""
    return connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()
