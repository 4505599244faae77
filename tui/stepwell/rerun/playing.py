"""Calling an agent with a `Run` that answers from a recording, in this process."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from stepwell.core.identity import Identities
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.rerun import Leave, Place, Report
from stepwell.core.world import MISSING
from stepwell.errors import UsageError
from stepwell.recorder.calls import in_loop
from stepwell.recorder.failures import type_of
from stepwell.recorder.functions import takes
from stepwell.recorder.replayed import Replayed, replayed
from stepwell.recorder.run import Options, Run
from stepwell.rerun import guards, loop, push
from stepwell.rerun.awaiting import waits_at
from stepwell.rerun.chance import Chance
from stepwell.rerun.clock import Clock, microseconds
from stepwell.rerun.database import Database, Visit
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.ending import at, compare, report_of, words
from stepwell.rerun.executing import Instead
from stepwell.rerun.leaving import Live, leave_of, tail_of
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.playback import Playback
from stepwell.rerun.scripts import as_main, module_of
from stepwell.rerun.stops import BeginAgain, Reached, Refused, Stop, quiet
from stepwell.rerun.temporary import Temporary
from stepwell.rerun.zone import in_zone, is_known

if TYPE_CHECKING:
    from stepwell.rerun.live import LiveBook

Agent = Callable[[Run], Any] | Callable[[], push.PushAgent] | push.PushAgent
"""Takes the run; returns what it has come to, or something to be awaited for that. Or one that is fed, or its class."""


GIVE_INNER = (
    "a replay gives it one: the agent is the function inside of `with recorder.run(…) as run:` that takes it"
)
_ONE = threading.RLock()
"""Held by the thread that replays: the clock, `random` and the environment are there once in a process."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How an agent is replayed."""

    instead: Instead = field(default_factory=Instead)
    """What is called where the recording is not to answer."""
    identities: Identities | None = None
    """Of the recording, where it is replayed more than once."""
    on_step: Callable[[RecordedStep, Place | None], None] = lambda *_: None
    """Called with each step that is asked for, and where."""
    on_end: Callable[[Report], object] = lambda _: None
    """Told what comes of it as soon as that is known, and in which branch it goes on: it may never come to an end."""
    on_again: Callable[[], object] = lambda: None
    """Called before an agent that writes to tables is called for the second time."""
    database: Database | None = None
    """Where `Run.connection` finds the tables of then."""
    connection: Callable[[], Any] | None = None
    """What gives `Run.connection`, where there is no `database`."""
    live: Live | None = None
    """With it the agent goes on for real where the recording has no answer."""


def play(recorded: RecordedRun, agent: Agent, to: int | None = None, terms: Terms | None = None) -> Report:
    """Call the agent, at most to step `to`, and say what came of it.

    One that writes to tables of the database is called a second time, from the beginning, unless the database was
    told that it does. Raises UsageError for what is no agent, and where another thread of this process is replaying.
    """
    push.check(agent)
    if not _ONE.acquire(blocking=False):
        raise UsageError(
            "another thread of this process is replaying, and its clock, random and environment are there once:"
            " replay one run after the other, or each in a process of its own"
        )
    try:
        terms = terms or Terms()
        with as_main(module_of(agent), recorded):
            report = _Play(recorded, to, terms).report(agent)
            if report is None and terms.database is not None:
                terms.database.writing = True
                terms.on_again()
                report = _Play(recorded, to, terms).report(agent)
    finally:
        _ONE.release()
    assert report is not None
    return report


class _Play:
    """One call of an agent."""

    def __init__(self, recorded: RecordedRun, to: int | None, terms: Terms) -> None:
        self._dialogue = dialogue = Dialogue(recorded, terms.identities, to, terms.on_step)
        self._on_end, dialogue.on_end = terms.on_end, self._known
        for name in terms.instead.unknown(step.name for step in recorded.steps):
            dialogue.note(f"no step of the run is called {name}: pure tools and stand-ins go by these names")
        if recorded.zone is not None and not is_known(recorded.zone):
            dialogue.note(
                f"the time zone {recorded.zone} is not known here: its local time is UTC; install tzdata"
            )
        self._clock = Clock(microseconds(recorded.began) or 0, dialogue.is_aside)
        self._chance = Chance(recorded)
        self._temporary = Temporary(self._chance.bytes, dialogue.note)
        database = terms.database
        self._visit = (
            None if database is None else Visit(database, dialogue, self._clock, terms.instead.stand_ins)
        )
        self._hosts: Collection[str] = () if database is None else database.hosts
        self._playback = Playback(
            dialogue, self._clock, self._chance, terms.instead, terms.connection, self._visit
        )
        self._thread = threading.get_ident()
        self._replayed: Replayed | None = None
        self._guarded = ExitStack()
        """What holds as long as the agent does not go on for real."""
        if self._visit is not None:  # nothing is to hold a snapshot as long as an agent may go on
            dialogue.on_live = self._visit.close
        self._going = None if terms.live is None else self._may_leave(terms.live)
        head = recorded.head
        options = Options(run_seed=recorded.seed, run_name=head.name, run_tags=head.tags)
        self._run = Run(self._going or self._playback, options)

    def _may_leave(self, live: Live) -> LiveBook:
        from stepwell.rerun.live import LiveBook  # with the recorder, which no other replay needs

        return LiveBook(self._playback, live, self._leave, self._left)

    def report(self, agent: Agent) -> Report | None:
        """What came of it; None where it has to be done again with what the agent writes."""
        result, error = self._call(agent)
        dialogue, given, timed = self._dialogue, self._playback.given, self._clock.was_read
        if isinstance(dialogue.stop, BeginAgain):
            return None
        if self._chance.missing:
            dialogue.note("uuid or tempfile was drawn from more often than was recorded")
        if dialogue.stop is None and not dialogue.live:
            if not dialogue.asked and callable(agent) and not takes(agent, 1):
                dialogue.note(
                    f"{push.name_of(agent)} takes no run, and has asked for nothing: is it the agent?"
                )
            last = result if given is MISSING else given
            compare(dialogue, last, error, said=self._playback.ending, timed=timed)
        report = report_of(dialogue, result)
        branch = None if self._going is None else self._going.branch
        if branch is None:
            return replace(report, leave=self._would_leave())
        ended = None if error is None else words(error)
        return replace(report, branch=str(branch), stopped=report.stopped or ended)

    def _would_leave(self) -> Leave | None:
        if not self._dialogue.unanswered:
            return None
        connected = self._playback.connected
        return leave_of(self._dialogue, tail_of(self._dialogue), connected=connected)

    def _call(self, agent: Agent) -> tuple[object, BaseException | None]:
        with ExitStack() as stack:
            stack.callback(self._remove_files)
            stack.enter_context(self._guarded)
            if self._going is not None:
                stack.callback(self._going.close)
            self._guarded.enter_context(guards.armed(self._dialogue.note, self._hosts))
            if self._visit is not None:
                stack.callback(self._visit.close)
            stack.enter_context(in_zone(self._dialogue.run.zone))
            stack.enter_context(self._clock.installed())
            self._guarded.enter_context(self._chance.installed())
            self._guarded.enter_context(self._temporary.installed())
            stack.enter_context(loop.installed(self._clock, self._stuck))
            stack.enter_context(quiet())
            self._replayed = stack.enter_context(replayed(self._refuse_run))
            return _outcome(agent, self._run, self._dialogue)

    def _remove_files(self) -> None:
        if not self._dialogue.live:
            self._temporary.remove()

    def _known(self) -> None:
        if not isinstance(self._dialogue.stop, BeginAgain):
            self._on_end(report_of(self._dialogue))

    def _refuse_run(self) -> Stop:
        place = Places(libraries()).of_caller()
        return self._dialogue.end(Refused(f"{place or 'the agent'} begins a run of its own; {GIVE_INNER}"))

    def _leave(self) -> None:
        if self._replayed is not None:
            self._replayed.over = True
        self._guarded.close()
        guards.lift()
        self._clock.go_live()

    def _left(self, branch: UUID) -> None:
        self._on_end(replace(report_of(self._dialogue), branch=str(branch)))

    def _stuck(self) -> None:
        # A loop in the background waits for what the agent asks of it.
        if threading.get_ident() != self._thread:
            return
        words = f"the agent waits for what never comes{waits_at()}"
        stop: Stop = Refused(words) if self._dialogue.run.complete else Reached(words)
        raise self._dialogue.end(stop)


def _outcome(agent: Agent, run: Run, dialogue: Dialogue) -> tuple[object, BaseException | None]:
    """What the agent returned and raised, as far as a stop did not end it."""
    try:
        with run:
            result = push.begin(agent, run)
            if inspect.isawaitable(result):
                _refuse_in_loop(result)
                result = asyncio.run(_wait(result))
    except Stop as stop:
        dialogue.end(stop)
        return None, None
    except MemoryError as error:
        if "MemoryError" not in (dialogue.run.head.error or ""):
            dialogue.end(Refused(f"out of memory{at(error)}"))
        return None, error
    except BaseException as error:  # whatever ends the agent is compared with what ended it then
        if isinstance(error, KeyboardInterrupt) and type_of(error) not in (dialogue.run.head.error or ""):
            raise  # whoever replays it wants it to end
        return None, error
    return result, None


def _refuse_in_loop(result: object) -> None:
    if not in_loop():
        return
    if inspect.iscoroutine(result):
        result.close()  # it is never awaited
    raise Refused(
        "the agent is to be awaited in an event loop of the replay's own, and one is running in this thread:"
        " await asyncio.to_thread(stepwell.replay, …)"
    )


async def _wait(result: Any) -> Any:
    return await result
