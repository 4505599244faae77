"""What all views of one run share: where it is written to, and the last state of each scope."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from stepwell.core.codec import Encoded, decode, encode, parse
from stepwell.core.recording import storable
from stepwell.core.redaction import Redactor
from stepwell.core.steps import STATE_UPDATE
from stepwell.errors import RecordingError
from stepwell.recorder import clock, forks
from stepwell.recorder.calls import call
from stepwell.recorder.chance import Dice, Draws
from stepwell.recorder.context import parent_in
from stepwell.recorder.failures import failure, has_ended, is_failure, is_too_large
from stepwell.recorder.intents import EndRun, Errand, StartStep
from stepwell.recorder.keeping import Keep, judge
from stepwell.recorder.lanes import Lanes
from stepwell.recorder.prompts import Prompts
from stepwell.recorder.scopes import Scope
from stepwell.recorder.step import Step
from stepwell.recorder.writer import Writer
from stepwell.store.keeping import Facts, keep_run, read_facts
from stepwell.store.rows import Ended, Start

if TYPE_CHECKING:
    from stepwell.recorder.run import Run

SHARED_NAME = "shared"
"""The `name` of a state update of the scope that all agents share."""


class Trail:
    """One run under way in this process."""

    def __init__(
        self,
        writer: Writer,
        run_id: UUID,
        started_at: int,
        prompts: Prompts,
        redact: Redactor | None = None,
        keep: Keep | None = None,
        *,
        dice: Dice | None = None,
    ) -> None:
        """Without `dice` it is not noted what the run draws."""
        self.writer = writer
        self.prompts = prompts
        self.redact = redact
        """What keeps values from being recorded that must not be."""
        self._keep = keep
        self.dice = dice
        self.run_id = run_id
        self.ended = False
        """Whether somebody has said how the run ended."""
        self.known = True
        """Whether this process began the run, so that no state of it was recorded by another before."""
        self._result: Encoded | None = None
        self._started_at = started_at
        self._tick = clock.tick()
        self._begin()
        forks.register(self)

    def _begin(self, process: int = 0) -> None:
        self._scopes: dict[tuple[str | None, bool], Scope] = {}
        self._lock = threading.Lock()
        self.draws = Draws(Lanes(process))
        self.lanes = Lanes(process)

    def after_fork(self) -> None:
        """In the child: what the parent had under way may never have been recorded, so all begins whole."""
        self._begin(os.getpid())
        self.known = False
        self.dice = None if self.dice is None else Dice()
        self.prompts.forget()

    def call(
        self, run: Run, kind: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return call(self, run, kind, fn, args, kwargs)

    def block(self, run: Run, kind: str, name: str | None, given: object, seed: int | None) -> Step:
        return Step(self, run, kind, name, given, seed)

    def connection(self, given: object) -> Any:
        return given

    def result(self, value: object) -> None:
        """Keep what the run has come to until its end. Raises EncodingError."""
        self._result = encode(value if self.redact is None else self.redact(value))

    def state(self, run: Run, value: object, shared: bool) -> None:
        """Record the state, and wait for its commit. Raises RecordingError, EncodingError."""
        intent = self._submit_state(run, value, shared, waiting=True)
        try:
            self.writer.wait(intent)
        except BaseException:  # an interrupt: it is recorded all the same
            intent.watched = False
            raise

    async def astate(self, run: Run, value: object, shared: bool) -> None:
        intent = self._submit_state(run, value, shared)
        try:
            await intent.wait_async()
        except BaseException:  # an interrupt or a cancel: it is recorded all the same
            intent.watched = False
            raise

    def _submit_state(self, run: Run, value: object, shared: bool, *, waiting: bool = False) -> StartStep:
        """Record how the state has changed. The intent is submitted, `waiting` as for `Writer.submit`.

        Raises EncodingError for a state that cannot be kept, RecordingError after the run's end.
        """
        self.refuse_if_ended(STATE_UPDATE)
        agent, parent, lane = run.agent_name, parent_in(self.run_id), self.lanes.number()
        if self.redact is not None:
            value, agent = self.redact(value), self.redact.label("agent", agent)
        key = (None if shared else agent, shared)
        encoded = encode(value)
        new = decode(parse(encoded.plain), None if encoded.exact is None else parse(encoded.exact))
        with self._lock:  # what is a difference to what has to be the order in which they are submitted
            scope = self._scopes.get(key) or self._scopes.setdefault(key, Scope(self.known))
            given, output = scope.change(new, len(encoded.plain))
            row = Start(
                self.run_id,
                STATE_UPDATE,
                agent,
                SHARED_NAME if shared else None,
                parent,
                None,
                clock.now(),
                given.plain,
                given.exact,
                output=output.plain,
                output_exact=output.exact,
                drawn=self.draws.take(lane),
                lane=lane,
            )
            intent = StartStep(row, scope.base, lambda: Scope(known=False).change(new, 0))
            self.writer.submit(intent, waiting=waiting)
            scope.note(new, intent)
        return intent

    def refuse_if_ended(self, what: str) -> None:
        """Raises RecordingError for a step that is begun after somebody said here how the run ended."""
        if self.ended:
            raise has_ended(self.run_id, what)

    def drew(self, given: bytes) -> None:
        if self.dice is not None:
            self.draws.add(given)

    def keep(self, why: str) -> None:
        """Say that the run is worth keeping. Nobody waits for it."""
        label = storable(why if self.redact is None else self.redact.label("keep", why) or "") or "kept"
        errand = Errand(f"run {self.run_id} was not marked", lambda c: keep_run(c, self.run_id, label))
        errand.watched = False
        self.writer.submit(errand)

    def finish(self, error: BaseException | None) -> None:
        """End the run. Raises RecordingError."""
        ending = self._ending(error)
        if (facts := self._facts()) is not None:
            try:
                self.writer.do(facts)
                self._judge(ending, facts)
            except RecordingError:
                pass  # then it is kept
            except BaseException:  # an interrupt: the run ends all the same
                self.writer.submit(ending)
                raise
        try:
            self.writer.do(ending)
        except RecordingError as refused:
            if is_too_large(refused):
                self.writer.do(_without_result(ending))
            raise

    async def afinish(self, error: BaseException | None) -> None:
        ending = self._ending(error)
        try:
            if (facts := self._facts()) is not None:
                self.writer.submit(facts)
                await facts.wait_async()
                self._judge(ending, facts)
        except RecordingError:
            pass  # then it is kept
        finally:  # after a cancel too
            self.writer.submit(ending)
        try:
            await ending.wait_async()
        except RecordingError as refused:
            if is_too_large(refused):
                instead = _without_result(ending)
                self.writer.submit(instead)
                await instead.wait_async()
            raise

    def _facts(self) -> Errand | None:
        """What is asked before the end, where somebody decides then whether the run is worth keeping."""
        if self._keep is None:
            return None
        return Errand(f"the facts of run {self.run_id} were not read", lambda c: read_facts(c, self.run_id))

    def _judge(self, ending: EndRun, facts: Errand) -> None:
        """Have the end say whether the run is worth keeping."""
        if self._keep is not None and isinstance(facts.result, Facts):
            ending.row = ending.row._replace(keep=judge(self._keep, ending.row, facts.result))

    def _ending(self, error: BaseException | None) -> EndRun:
        """The end of the run, still to be submitted."""
        self.ended = True
        # Not before any of its steps, where the wall clock was put forward or the machine slept meanwhile.
        finished_at = max(self._started_at + clock.since(self._tick), clock.now())
        status, problem = "ok", None
        if error is not None and is_failure(error):
            status, problem = "failed", failure(error, self.redact)
        result = self._result
        return EndRun(
            Ended(
                self.run_id,
                status,
                finished_at,
                problem,
                drawn=self.draws.rest(),
                result=None if result is None else result.plain,
                result_exact=None if result is None else result.exact,
            )
        )


def _without_result(ending: EndRun) -> EndRun:
    return EndRun(ending.row._replace(result=None, result_exact=None))
