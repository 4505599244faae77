"""The process that has the agent's module: it imports it, and forks for each replay."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from stepwell.core.identity import Identities
from stepwell.core.recorded import RecordedRun
from stepwell.core.restated import with_payload
from stepwell.errors import EncodingError, StepwellError, UsageError
from stepwell.recorder.replayed import replayed
from stepwell.rerun import guards
from stepwell.rerun.child.exits import leave, trace_exits
from stepwell.rerun.child.finding import find_agent
from stepwell.rerun.child.line import Line, Message
from stepwell.rerun.child.playing import flush, play_and_end, refuse_too_little
from stepwell.rerun.child.setup import AGAIN, MARK, WROTE, Setup
from stepwell.rerun.child.sources import Sources
from stepwell.rerun.clock import shortly_before
from stepwell.rerun.database import Database
from stepwell.rerun.executing import Instead
from stepwell.rerun.leaving import Live
from stepwell.rerun.loop import await_replays
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.playing import GIVE_INNER, Agent, Terms
from stepwell.rerun.scripts import as_main
from stepwell.rerun.zone import in_zone


@dataclass(frozen=True)
class Agency:
    """What a replay needs but for the agent."""

    setup: Setup
    recorded: RecordedRun
    identities: Identities
    database: Database

    def learn(self, status: int) -> None:
        """From how a replay has ended: that the agent writes, so that the next need not find that out."""
        if os.waitstatus_to_exitcode(status) in (WROTE, AGAIN):
            self.database.writing = True


def serve(line: Line, agency: Agency) -> NoReturn:
    """Be that process until the keeper is gone, or wants none of it any more."""
    try:
        _prepare(agency.setup)
        notes: dict[str, None] = {}
        with guards.armed(lambda text: notes.setdefault(f"{text} (while it was imported)")):
            _serve(line, agency, notes)
    except StepwellError as problem:
        line.send({"is": "cannot", "why": str(problem), "status": problem.exit_status})
    except BaseException as problem:  # the last place that could say so
        line.send({"is": "cannot", "why": f"{type(problem).__name__}: {problem}", "status": 2})
    flush()
    leave(0)


def _prepare(setup: Setup) -> None:
    os.setpgid(0, 0)
    # A file that is edited twice in a second without growing would be taken for its former self.
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    sys.argv = [setup.agent.partition(":")[0]]
    faulthandler.enable(setup.trace)
    trace_exits(setup.trace)
    for stream in (sys.stdout, sys.stderr):
        # Whoever reads it takes it for UTF-8, and the locale of here is not that of where the agent ran.
        stream.reconfigure(line_buffering=True, encoding="utf-8", errors=stream.errors)  # type: ignore[union-attr]  # both are ordinary files here
    if sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())


def _serve(line: Line, agency: Agency, notes: dict[str, None]) -> None:
    setup = agency.setup
    faulthandler.dump_traceback_later(setup.timeout, exit=True, file=setup.trace)
    recorded = agency.recorded
    await_replays()
    with replayed(_refuse_run), in_zone(recorded.zone), shortly_before(recorded.began):
        agent = find_agent(setup.agent)
    faulthandler.cancel_dump_traceback_later()
    refuse_too_little(setup.memory)
    with as_main(sys.modules[setup.agent.partition(":")[0]], recorded):
        _replay_on_demand(line, agency, agent, notes)


def _refuse_run() -> UsageError:
    return UsageError(f'it begins a run, which goes under if __name__ == "__main__"; {GIVE_INNER}')


def _replay_on_demand(line: Line, agency: Agency, agent: Agent, notes: dict[str, None]) -> None:
    """Until nobody asks any more, or a file of the agent's has changed."""
    sources = Sources(Places(libraries()).is_users)
    once = _once(notes)
    gc.collect()
    line.send({"is": "ready"})
    _work_ahead(line, agency)
    gc.freeze()
    while (asked := line.receive()) is not None:
        if asked["do"] == "go":  # for one that was killed before it could hear it
            continue
        if sources.changed():
            line.send({"is": "stale"})
            return
        if once is not None:
            _take_turn(line, agency, agent, asked, (*notes, once))
        _fork(line, agency, agent, asked, tuple(notes))


def _work_ahead(line: Line, agency: Agency) -> None:
    """As long as nobody asks for anything, work out what every replay needs."""
    with suppress(EncodingError):  # the replay will meet it where it matters
        for step in agency.recorded.steps:
            if line.has_news():
                return
            agency.identities.digest(step)


def _once(notes: dict[str, None]) -> str | None:
    """Why the module has to be imported anew for each replay, None where it need not."""
    threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if threads:
        return f"imported anew for each replay: importing starts a thread ({', '.join(threads)})"
    if any(guards.is_about_connection(note) for note in notes):
        return "imported anew for each replay: importing opens a connection"
    return None


def _fork(line: Line, agency: Agency, agent: Agent, asked: Message, notes: tuple[str, ...]) -> None:
    try:
        status = _forked(line, agency, agent, asked, notes)
        while os.waitstatus_to_exitcode(status) == AGAIN:
            _mark()
            status = _forked(line, agency, agent, asked, notes)
    except OSError as problem:
        line.send({"is": "ended", "why": f"no process can be started: {problem.strerror}"})
        return
    line.send({"is": "ended", "status": status})


def _forked(line: Line, agency: Agency, agent: Agent, asked: Message, notes: tuple[str, ...]) -> int:
    """How the process that replays has ended. Raises OSError where none can be started."""
    flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads, of which there are none
        process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        _take_turn(line, agency, agent, asked, notes, forked=True)
    with suppress(OSError):  # it may have done so itself, and be gone
        os.setpgid(process, process)
    line.send({"is": "playing", "process": process})
    _, status = os.waitpid(process, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)  # what it may have left behind
    agency.learn(status)
    return status


def _take_turn(
    line: Line, agency: Agency, agent: Agent, asked: Message, notes: tuple[str, ...], forked: bool = False
) -> NoReturn:
    """Replay in this process, and end it."""
    if not forked:
        line.send({"is": "playing", "process": os.getpid()})
    go = line.receive()
    line.close()
    if go is None:
        leave(0)
    recorded = _edited(agency.recorded, asked["edits"])
    terms = Terms(
        instead=Instead(agency.setup.pure),
        identities=agency.identities,
        database=agency.database,
        on_again=_go_away if forked else _mark,
        live=_live(agency.setup, recorded, asked),
    )
    play_and_end(agency.setup, recorded, agent, asked["to"], terms, notes)


def _go_away() -> None:
    """What the first call of an agent has done to its modules is gone with the process."""
    flush()
    leave(AGAIN)


def _mark() -> None:
    flush()
    os.write(1, MARK)


def _edited(recorded: RecordedRun, edits: list[tuple[int, tuple[str, str | None]]]) -> RecordedRun:
    """The run in which steps gave something else. What they were given, which identities are of, is the same."""
    others = dict(edits)
    steps = (
        with_payload(step, output=others[step.number][0], output_exact=others[step.number][1], error=None)
        if step.number in others
        else step
        for step in recorded.steps
    )
    return replace(recorded, steps=tuple(steps)) if others else recorded


def _live(setup: Setup, recorded: RecordedRun, asked: Message) -> Live | None:
    """Leave to go on for real from just that step on."""
    if asked["live"] is None:
        return None
    edited = next((recorded.by_number[number] for number, _ in asked["edits"]), None)
    return Live(setup.target, lambda leave: leave.step == asked["live"], edited)
