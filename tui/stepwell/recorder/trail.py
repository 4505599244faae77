"""What all views of one run share: where it is written to, and the last state of each scope."""

import threading
from uuid import UUID

from stepwell.core.codec import decode, encode, parse
from stepwell.core.recording import storable
from stepwell.core.redaction import Redactor
from stepwell.core.steps import STATE_UPDATE
from stepwell.errors import RecordingError
from stepwell.recorder import clock, forks
from stepwell.recorder.failures import failure
from stepwell.recorder.intents import EndRun, Errand, StartStep
from stepwell.recorder.keeping import Keep, judge
from stepwell.recorder.prompts import Prompts
from stepwell.recorder.scopes import Scope
from stepwell.recorder.writer import Writer
from stepwell.store.keeping import Facts, keep_run, read_facts
from stepwell.store.rows import Start

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
    ) -> None:
        self.writer = writer
        self.prompts = prompts
        self.redact = redact
        """What keeps values from being recorded that must not be."""
        self._keep = keep
        self.run_id = run_id
        self.ended = False
        """Whether somebody has said how the run ended."""
        self.known = True
        """Whether this process began the run, so that no state of it was recorded by another before."""
        self._started_at = started_at
        self._tick = clock.tick()
        self._begin()
        forks.register(self)

    def _begin(self) -> None:
        self._scopes: dict[tuple[str | None, bool], Scope] = {}
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """In the child: what the parent had under way may never have been recorded, so all begins whole."""
        self._begin()
        self.known = False
        self.prompts.forget()

    def submit_state(
        self, agent: str | None, parent: int | None, value: object, shared: bool, *, waiting: bool = False
    ) -> StartStep:
        """Record how the state has changed. The intent is submitted, `waiting` as for `Writer.submit`.

        Raises EncodingError for a state that cannot be kept, RecordingError after the run's end.
        """
        self.refuse_if_ended(STATE_UPDATE)
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
                output.plain,
                output.exact,
            )
            intent = StartStep(row, scope.base, lambda: Scope(known=False).change(new, 0))
            self.writer.submit(intent, waiting=waiting)
            scope.note(new, intent)
        return intent

    def refuse_if_ended(self, what: str) -> None:
        """Raises RecordingError for a step that is begun after somebody said here how the run ended."""
        if self.ended:
            raise RecordingError(
                f"run {self.run_id} has ended, so {what} was neither made nor recorded;"
                f" go on with it: recorder.resume('{self.run_id}')"
            )

    def mark(self, why: str) -> Errand:
        """Say that the run is worth keeping. To be submitted; nobody waits for it."""
        label = storable(why if self.redact is None else self.redact.label("keep", why) or "") or "kept"
        errand = Errand(f"run {self.run_id} was not marked", lambda c: keep_run(c, self.run_id, label))
        errand.watched = False
        return errand

    def facts(self) -> Errand | None:
        """What is asked before the end, where somebody decides then whether the run is worth keeping."""
        if self._keep is None:
            return None
        return Errand(f"the facts of run {self.run_id} were not read", lambda c: read_facts(c, self.run_id))

    def judge(self, ending: EndRun, facts: Errand) -> None:
        """Have the end say whether the run is worth keeping."""
        if self._keep is not None and isinstance(facts.result, Facts):
            ending.keep = judge(self._keep, ending, facts.result)

    def ending(self, error: BaseException | None) -> EndRun:
        """The end of the run, still to be submitted. Leaving the program with status 0 is no failure."""
        self.ended = True
        finished_at = self._started_at + clock.since(self._tick)
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            return EndRun(self.run_id, "ok", finished_at, None)
        return EndRun(self.run_id, "failed", finished_at, failure(error, self.redact))
