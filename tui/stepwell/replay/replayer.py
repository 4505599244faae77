"""One run, replayed: each move reads steps 1..N in a fresh transaction and rolls it back."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

import psycopg

from stepwell.core.changed import ChangedSteps
from stepwell.core.heads import Heads
from stepwell.core.past import Answer, StepChanges
from stepwell.core.search import first_appearances
from stepwell.core.state import Folded, StateStep, fold
from stepwell.core.steps import LLM_CALL, TOOL_CALL, Payload, RunHead, StepHead
from stepwell.core.stretches import number_of, total
from stepwell.core.world import SHARED, Last, Moment, World
from stepwell.errors import NotFoundError
from stepwell.replay.asking import Asking
from stepwell.replay.reports import replay_of
from stepwell.replay.stretches import Stretches
from stepwell.replay.tables import changes_of
from stepwell.replay.values import display_all
from stepwell.replay.written import read_changed_steps
from stepwell.store import reading
from stepwell.store.branches import Whereabouts
from stepwell.store.connect import Target
from stepwell.store.heads import read_heads
from stepwell.store.limits import EVERYTHING, MOVES
from stepwell.store.pulses import Pulse, read_pulses
from stepwell.store.reader import Reader
from stepwell.store.transaction import Report
from stepwell.store.worlds import Bounds, Parts, Snapshots, StateRow, read_parts, read_step

T = TypeVar("T")


class Replayer:
    """Replays one run over one connection, which is opened when first needed and never left in a transaction.

    Not for several threads at once, except `cancel`. `clock` gives the seconds by which moves are timed. What a move
    has folded, in stretches of so many steps, the next one does not fold again where it finds the rows unchanged.
    """

    def __init__(
        self,
        target: Target,
        run_id: UUID,
        clock: Callable[[], float] = time.perf_counter,
        *,
        stretches: Stretches | None = None,
    ) -> None:
        self.run_id = run_id
        self._stretches = stretches or Stretches(run_id)
        self._reader = Reader(target)
        self._asking = Asking(target, run_id, clock)
        self._clock = clock
        self._steps = Whereabouts(run_id)

    def run(self) -> RunHead:
        """The run's row as it is now. Raises NotFoundError where it is gone."""
        try:
            return self._read(lambda c: reading.find_run(c, str(self.run_id)))[0]
        except NotFoundError:
            why = f"run {str(self.run_id)[:8]} is gone: it was deleted from the database"
            raise NotFoundError(why) from None

    def pulse(self) -> Pulse | None:
        """What has become of the run, at a glance; None where it is gone."""
        return self._reader.glance(lambda c: read_pulses(c, [self.run_id])).get(self.run_id)

    def heads(
        self,
        after: int | None = None,
        numbers: Sequence[int] = (),
        unfinished: Sequence[int] = (),
        *,
        details: bool = True,
    ) -> Heads:
        """The steps after step `after`, those in `numbers`, and what of `unfinished` has finished by now.

        Without payloads, and without `details` without what no list of steps on a screen shows.
        """
        return self._read(
            lambda c: read_heads(
                c, self._steps.of(c), after=after, numbers=numbers, unfinished=unfinished, details=details
            )
        )[0]

    def where(self) -> str:
        """Role and database, for people: `agents@db1`."""
        return self._read(reading.where)[0]

    @property
    def caution(self) -> str:
        """A line about a role that may do more than look, once something has been read; else empty."""
        return self._reader.caution

    def payload(self, number: int) -> Payload:
        """What step `number` was given and gave. Raises NotFoundError."""
        return self._read(lambda c: reading.read_payload(c, self._steps.of(c), number))[0]

    def search(self, text: str) -> list[int]:
        """Numbers of the steps where `text` first appears (`core.search`). Reads every payload of the run."""
        return list(
            first_appearances(self._read(lambda c: reading.search_steps(c, self._steps.of(c), text))[0])
        )

    def at(self, number: int, moment: Moment = Moment.AFTER, *, whole: bool = False) -> World:
        """The world of step `number`. Rolled back before it returns. Raises NotFoundError for no such step.

        Unless `whole`, a payload of many megabytes is not read, and says so (`Payload.input_unread`).

        Raises DatabaseError where the database cannot be read even after reconnecting once.
        """
        started = self._clock()
        try:
            (head, parts, seen), report = self._read(
                lambda c: _read_world(c, self._steps.of(c), number, moment, whole, self._stretches)
            )
        except NotFoundError:
            self.run()  # says so where it is the whole run that is gone
            raise
        self._reader.untold = ""  # the world's notes tell it
        # Rolled back by now: what follows keeps no transaction waiting.
        folded = fold(_state_steps(parts.states), number)
        seconds = self._clock() - started
        return _assemble(self.run_id, head, moment, parts, seen, folded, report, seconds)

    def query(self, number: int, moment: Moment, text: str, *, limit: int | None = 500) -> Answer:
        """What a statement of the user's own gives at step `number`, at most `limit` rows.

        Rolled back before it returns.
        Raises StatementError for what is not sent or what the database refuses, NotFoundError for no such step, and
        DatabaseError where the database cannot be read.
        """
        return self._asking.query(number, moment, text, limit)

    def changes(self, number: int, *, limit: int = 200) -> StepChanges:
        """What changed in the watched tables during step `number`, at most `limit` rows of each.

        Rolled back before it returns. Raises NotFoundError for no such step, and DatabaseError where the database
        cannot be read.
        """
        return changes_of(self._reader, self._steps, number, self._clock, limit)

    def changed_steps(self) -> ChangedSteps:
        """The steps of the run during which watched tables were written, as far as that is known.

        Rolled back before it returns. Raises NotFoundError where a step goes meanwhile, and DatabaseError where the
        database cannot be read.
        """
        return self._read(lambda c: read_changed_steps(c, self._steps.of(c)))[0]

    def cancel(self) -> None:
        """Stop what is running, from another thread; the move or the statement then raises DatabaseError."""
        self._reader.cancel()
        self._asking.cancel()

    def close(self) -> None:
        self._reader.close()
        self._asking.close()

    def _read(self, read: Callable[[psycopg.Connection], T]) -> tuple[T, Report]:
        return self._reader.read(read)


def _read_world(
    connection: psycopg.Connection,
    run_id: UUID,
    number: int,
    moment: Moment,
    whole: bool,
    stretches: Stretches,
) -> tuple[StepHead, Parts, Snapshots]:
    limits = EVERYTHING if whole else MOVES
    head, counters, payload, seen, sight = read_step(connection, run_id, number, limits)
    done = moment is Moment.AFTER and not head.in_doubt
    bounds = Bounds(
        through=max(number, counters.started_before or 0) if done else number,
        order=head.finished_order if done else counters.finished_before,
        number=number if done else number - 1,
    )
    start = stretches.start(connection, sight, bounds, number)
    return head, read_parts(connection, run_id, head, payload, bounds, limits, start), seen


def _assemble(
    run_id: UUID,
    head: StepHead,
    moment: Moment,
    parts: Parts,
    seen: Snapshots,
    folded: Folded,
    report: Report,
    seconds: float,
) -> World:
    answers = parts.answers
    return World(
        run_id=run_id,
        number=head.number,
        moment=moment,
        step=head,
        payload=parts.payload,
        states=folded.states,
        set_at=folded.set_at,
        changed=folded.changed,
        last={
            agent: Last(number_of(of.response), number_of(of.result)) for agent, of in answers.agents.items()
        },
        running=_others(answers.running, head.number),
        tokens_in=total(*(of.tokens_in for of in answers.agents.values())),
        tokens_out=total(*(of.tokens_out for of in answers.agents.values())),
        clock=(head.finished if moment is Moment.AFTER else head.started) or head.time,
        replay=replace(
            replay_of(report, seconds),
            steps=sum(of.steps for of in answers.agents.values()),
            state_steps=folded.count,
            ordered_by="finish" if answers.ordered else "number",
            kept=answers.kept,
        ),
        previous_prompt=parts.prompt if head.type == LLM_CALL else None,
        next_prompt=parts.prompt if head.type == TOOL_CALL else None,
        previous_reply=parts.reply,
        unfinished=_others(answers.unfinished, head.number),
        odd=folded.odd,
        before=seen.before,
        after=seen.after,
    )


def _others(numbers: tuple[int, ...], own: int) -> tuple[int, ...]:
    return tuple(number for number in numbers if number != own) if own in numbers else numbers


def _state_steps(rows: Sequence[StateRow]) -> list[StateStep]:
    values = display_all([(row.plain, row.exact) for row in rows])
    return [
        StateStep(
            number=row.number,
            scope=SHARED if row.name == "shared" else row.agent,
            input=value if row.is_patch else None,
            output=None if row.is_patch else value,
        )
        for row, value in zip(rows, values, strict=True)
    ]
