"""What re-executed code asks, one question at a time, until something ends the replay."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from stepwell.core.causes import COPY
from stepwell.core.divergence import Divergence, Kind
from stepwell.core.hints import hinted, of_here
from stepwell.core.identity import Identities, Question
from stepwell.core.matching import Matcher
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.rerun import Place
from stepwell.core.steps import STATE_UPDATE
from stepwell.errors import StepwellError
from stepwell.recorder.calls import in_loop
from stepwell.recorder.context import current_frame
from stepwell.recorder.lanes import Lanes, in_pool
from stepwell.rerun.places import OWN, Places, callers, libraries
from stepwell.rerun.stops import Diverged, Reached, Refused, Stop, WentLive
from stepwell.rerun.surroundings import cached, here

QUIET = 1.0
"""Seconds without any question after which nobody is expected to ask for what a replay still waits for."""
_monotonic = time.monotonic


class Dialogue:
    """Usable from any thread. After its first end every further question ends the same.

    Without `to` it goes on to the end of the run; else nothing after step `to` is answered.
    """

    def __init__(
        self,
        run: RecordedRun,
        identities: Identities | None = None,
        to: int | None = None,
        on_step: Callable[[RecordedStep, Place | None], None] = lambda *_: None,
    ) -> None:
        self.run = run
        self.lanes = Lanes()
        self.stop: Stop | None = None
        """Why it has ended, None as long as it has not."""
        self.on_end: Callable[[], object] = lambda: None
        """Called once it has: what runs may go on nevertheless, for ever."""
        self.notes: dict[str, None] = {}
        """What a reader of the report should know, each once."""
        self.asked: set[int] = set()
        """The steps that have been asked for."""
        self.places: dict[int, Place] = {}
        """Where each step was asked for."""
        self.last: int | None = None
        """The step that was answered last."""
        self.goes_live: Callable[[Stop], bool] | None = None
        """Asked where the recording has no answer: whether the agent goes on for real from there."""
        self.unanswered = False
        """Whether it has ended for want of an answer."""
        self.live = False
        """Whether it has done so: nothing more is asked of the recording then."""
        self.on_live: Callable[[], object] = lambda: None
        """Called by each thread that learns so, while it holds nothing of the dialogue's."""
        self._to = to
        self._on_step = on_step
        self._matcher = Matcher(run, identities)
        self.executed: set[int] = set()
        """Those of them that are executed again."""
        self.inside: set[int] = set()
        """Those of these that have not ended."""
        self._under_way: set[int] = set()
        self._waiting = 0
        self._changed = threading.Condition()
        self._thread = threading.current_thread()
        self._askers = {threading.get_ident()}

    @property
    def ended(self) -> bool:
        return self.stop is not None

    def ask(self, question: Question, place: Place | None = None) -> RecordedStep:
        """The step that is asked for, at `place` if that is not where the call comes from. Raises Stop."""
        try:
            return self._ask(question, place or caller())
        except WentLive:
            self.on_live()
            raise

    def _ask(self, question: Question, place: Place | None) -> RecordedStep:
        lane = self.lanes.number()
        with self._changed:
            self._askers.add(threading.get_ident())
            self._go_on()
            found = self._found(question, lane)
            if found is not None and self._is_after(found):
                self._beyond()
            if isinstance(found, Divergence):
                raise self._beyond_recording(Diverged(self._told(found, place)))
            if found is None:
                raise self._beyond_recording(Reached("the recording ends here"))
            if found.in_doubt and found.type != STATE_UPDATE:
                raise self._beyond_recording(Reached(f"step {found.number} was recorded without an outcome"))
            if place is not None:
                self.places[found.number] = place
            self.asked.add(found.number)
            self._under_way.add(found.number)
            self._changed.notify_all()
            self._on_step(found, place)
            return found

    def _told(self, found: Divergence, place: Place | None) -> Divergence:
        """With the line that asks, and what may be the cause."""
        if found.hint is None and found.step is None and current_frame() is None:
            found = replace(found, hint=f"this thread is inside of no step; {COPY}")
        found = of_here(hinted(replace(found, where=str(place) if place else None), self.run), here())
        if found.hint is None and found.kind in (Kind.OTHER, Kind.NOT_RECORDED) and found.asked is not None:
            found = replace(found, hint=cached(found.asked.name))
        if found.hint is None and found.step is not None:
            found = replace(found, hint=self._matcher.missed(found.step))
        return found

    def _found(self, question: Question, lane: int) -> RecordedStep | Divergence | None:
        """What it is. One of several threads that share their work may be early: then it waits for the others."""
        wanders = self._wanders()
        found = self._matcher.ask(question, lane, wanders)
        while wanders and isinstance(found, Divergence) and found.kind is Kind.ORDER:
            if not self._changed.wait(QUIET):
                break
            self._go_on()
            found = self._matcher.ask(question, lane, wanders)
        return found

    def _wanders(self) -> bool:
        return threading.current_thread() is not self._thread and not in_loop() and not in_pool()

    def is_aside(self) -> bool:
        """Whether the thread that calls is one in the background that has never asked for anything."""
        return threading.current_thread().daemon and threading.get_ident() not in self._askers

    def answered(self, step: RecordedStep) -> None:
        """The agent has what the step gave."""
        with self._changed:
            self._under_way.discard(step.number)
            self.inside.discard(step.number)
            self.last = step.number
            self._changed.notify_all()

    def open(self, step: RecordedStep) -> None:
        """What the step did inside is done again, so its steps are asked for."""
        with self._changed:
            self._matcher.open(step.number)
            self.executed.add(step.number)
            self.inside.add(step.number)

    def end(self, stop: Stop) -> Stop:
        """End it, for all threads. Returns why it has ended, which may be something earlier."""
        with self._changed:
            if self.stop is None:
                self.stop = stop
                self.on_end()
            self._changed.notify_all()
            return self.stop

    def lane_then(self) -> int | None:
        """The lane of the recording that the code which calls this has been, None for none yet."""
        lane = self._matcher.lane_of(self.lanes.number())
        return lane if isinstance(lane, int) else None

    def left(self) -> Divergence | None:
        """What has never been asked for; where all of that comes after what it goes to, it ends."""
        with self._changed:
            found = self._matcher.left()
            if found is not None and self._is_after(found):
                self.end(self._reached())
            return found

    def note(self, text: str) -> None:
        """Add to what a reader of the report should know."""
        self.notes.setdefault(text)

    def _beyond_recording(self, stop: Stop) -> Stop:
        """What is raised where there is no answer."""
        self.unanswered = True
        try:
            self.live = self.goes_live is not None and self.goes_live(stop)
        except StepwellError as problem:
            return self.end(Refused(f"{stop}; and it cannot go on for real: {problem}"))
        if not self.live:
            return self.end(stop)
        self._changed.notify_all()
        return WentLive()

    def _go_on(self) -> None:
        if self.live:
            raise WentLive
        if self.stop is not None:
            raise self.stop

    def _is_after(self, found: RecordedStep | Divergence) -> bool:
        """Whether a step, or what is otherwise, comes after all that the replay goes to."""
        if self._to is None:
            return False
        number = found.step if isinstance(found, Divergence) else found.number
        return number > self._to if number is not None else all(n > self._to for n in self._matcher.pending)

    def _beyond(self) -> None:
        """Wait until all that the replay goes to has been asked and answered. Raises Reached."""
        deadline = _monotonic() + QUIET
        while self.stop is None and self._awaited():
            before = len(self.places), len(self._under_way)
            if not self._changed.wait(max(0.0, deadline - _monotonic())):
                self.note(f"not asked for by then: {', '.join(map(str, self._awaited()))}")
                break
            if before != (len(self.places), len(self._under_way)):
                deadline = _monotonic() + QUIET
        raise self.end(self._reached())

    def _reached(self) -> Reached:
        return Reached(f"step {self._to}")

    def _awaited(self) -> list[int]:
        assert self._to is not None
        return sorted(n for n in {*self._matcher.pending, *self._under_way} if n <= self._to)


def caller() -> Place | None:
    """The line of the user's own code that has led here, else of a library's."""
    of_library: Place | None = None
    for frame in callers():
        file = frame.f_code.co_filename
        if file.startswith((OWN, "<")):
            continue
        if not _is_of_library(file):
            return Place(file, frame.f_lineno, frame.f_code.co_qualname)
        if of_library is None and "contextlib" not in file:
            of_library = Place(file, frame.f_lineno, frame.f_code.co_qualname)
    return of_library


@cache
def _is_of_library(file: str) -> bool:
    return not Places(libraries()).is_users(file)
