"""A run that is recorded without a database: what would be its rows is kept in this process."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from uuid import UUID

from stepwell.core.chance import drawn_in
from stepwell.core.codec import parse
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.steps import RunHead, Stored
from stepwell.core.whole import payload, with_bases
from stepwell.errors import RecordingError, UsageError
from stepwell.recorder import clock
from stepwell.recorder.chance import Dice, own_uuid, watch
from stepwell.recorder.intents import EndRun, FinishStep, Intent, StartStep
from stepwell.recorder.prompts import Prompts
from stepwell.recorder.redaction import Redact, redactor
from stepwell.recorder.run import Options, Run
from stepwell.recorder.trail import Trail
from stepwell.recorder.zone import local_zone
from stepwell.rerun.push import PushAgent, begin, check
from stepwell.store.rows import Ended, Finish, Start
from stepwell.store.writing import moment

if TYPE_CHECKING:
    from stepwell.recorder.writer import Writer
    from stepwell.rerun.playing import Agent


@dataclass
class _Row:
    """A step, with how many had begun or finished at its ends."""

    start: Start
    finished_before: int
    finish: Finish | None = None
    finished_order: int | None = None
    started_before: int | None = None


class Memory:
    """In place of a `Writer`: does at once what it is asked, in memory. Usable from any thread."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.ended: Ended | None = None
        self._finished = 0
        self._lock = threading.Lock()

    def submit(self, intent: Intent, *, waiting: bool = False) -> None:  # noqa: ARG002 there is nothing to wait for
        with self._lock:
            self._note(intent)
        intent.settle()

    def wait(self, intent: Intent) -> None:
        """Nobody has to."""

    def do(self, intent: Intent) -> None:
        self.submit(intent)

    def _note(self, intent: Intent) -> None:
        match intent:
            case StartStep():
                self.rows.append(_Row(intent.row, self._finished))
                intent.number = len(self.rows)
                if intent.row.output is not None:
                    self._finish(self.rows[-1])
            case FinishStep() if self.rows[intent.row.step_number - 1].finish is None:
                self._finish(self.rows[intent.row.step_number - 1])
                self.rows[intent.row.step_number - 1].finish = intent.row
            case EndRun():
                self.ended = intent.row

    def _finish(self, row: _Row) -> None:
        self._finished += 1
        row.finished_order, row.started_before = self._finished, len(self.rows)


def record(
    agent: Agent, like: RecordedRun, redact: Redact | None
) -> tuple[RecordedRun, BaseException | None]:
    """Run the agent for real, under the name, tags and seed of a run; what it did, and what it raised.

    Raises UsageError for what `redact` cannot be, for what is no agent, and for one that is fed, which makes no calls.
    """
    if isinstance(agent, PushAgent):
        raise UsageError("an agent that is fed makes no calls by itself, so nothing can be recorded of it")
    check(agent)
    watch()
    memory, started, dice = Memory(), clock.now(), Dice()
    random, zone = dice.note(), local_zone()
    # A trail asks for no more of its writer than Memory does.
    trail = Trail(cast("Writer", memory), own_uuid(), started, Prompts(), redactor(redact), dice=dice)
    error: BaseException | None = None
    try:
        with Run(trail, Options(run_seed=like.seed, run_name=like.head.name, run_tags=like.head.tags)) as run:
            result = begin(agent, run)
            if inspect.isawaitable(result):
                asyncio.run(_wait(result))
    except BaseException as raised:  # it is part of what was recorded; the caller raises it
        error = raised
    return _recorded(trail.run_id, memory, like, started, random, zone), error


async def _wait(result: object) -> None:
    await result  # type: ignore[misc]  # it was seen to be awaitable


def _recorded(
    run_id: UUID, memory: Memory, like: RecordedRun, started: int, random: str | None, zone: str | None
) -> RecordedRun:
    ended = memory.ended
    if ended is None:
        raise RecordingError(f"run {run_id} was not ended, so it is not recorded")
    stored = {number: _stored(number, row.start) for number, row in enumerate(memory.rows, 1)}
    steps = tuple(_step(number, row, stored) for number, row in enumerate(memory.rows, 1))
    head = RunHead(
        run_id,
        ended.status,
        like.head.name,
        like.head.tags,
        len(steps),
        agents=tuple(dict.fromkeys(step.agent for step in steps if step.agent is not None)),
        started=moment(started),
        finished=moment(ended.finished_at),
        error=_error(ended.error),
    )
    drawn = _drawn(ended.drawn)
    return RecordedRun(head, steps, ended.result, ended.result_exact, random, drawn, like.seed, zone)


def _stored(number: int, row: Start) -> Stored:
    difference = row.input_base, row.input_keep, row.input_list, row.input_removed
    return Stored(number, row.input, row.input_exact, *difference)


def _step(number: int, row: _Row, stored: Mapping[int, Stored]) -> RecordedStep:
    start, finish = row.start, row.finish
    gave = (start.output, start.output_exact, None) if finish is None else finish[2:5]
    finished = start.started_at if finish is None else finish.finished_at
    return RecordedStep(
        number,
        start.step_type,
        start.name,
        start.agent,
        start.parent_step,
        payload(with_bases(stored[number], stored), *gave),
        moment(start.started_at),
        None if row.finished_order is None else moment(finished),
        row.finished_order,
        start.lane,
        None if finish is None else finish.form,
        None if finish is None else finish.random_after,
        _drawn(start.drawn),
        start.seed,
        None if finish is None else finish.tokens_in,
        None if finish is None else finish.tokens_out,
        None if finish is None else finish.finish_reason,
        row.finished_before,
        row.started_before,
    )


def _error(text: str | None) -> str | None:
    """As the list of runs has it."""
    made = None if text is None else parse(text)
    if not isinstance(made, dict):
        return None
    return ": ".join(str(made[key]) for key in ("type", "message") if made.get(key))


def _drawn(text: str | None) -> tuple[str, ...]:
    return () if text is None else drawn_in(parse(text))
