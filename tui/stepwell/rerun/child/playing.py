"""The process that replays, once. It says what came of it in a file, and ends without any of the agent's last words."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import sys
from dataclasses import replace
from typing import NoReturn

from stepwell.core.codec import encode
from stepwell.core.codec.foreign import said
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.rerun import Place, Report, report_to_json
from stepwell.core.shown import shown
from stepwell.core.world import MISSING
from stepwell.errors import EncodingError, UsageError
from stepwell.rerun.child.exits import leave, trace_exits
from stepwell.rerun.child.setup import WROTE, Setup
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.playing import Agent, Terms, play


def play_and_end(
    setup: Setup,
    recorded: RecordedRun,
    agent: Agent,
    to: int | None,
    terms: Terms,
    notes: tuple[str, ...],
) -> NoReturn:
    """Be that process."""
    progress = Progress(setup.progress)
    try:
        _limit(setup)
        terms = replace(terms, on_step=progress, on_end=lambda found: _say(setup, found))
        report = play(recorded, agent, to, terms)
        report = replace(report, notes=(*notes, *report.notes), result=_shown(report.result))
    except MemoryError as error:
        report = progress.ended("out of memory", error)
    except EncodingError as problem:  # of the recording's: what the agent raises does not come here
        report = Report(0, refused=str(problem))
    except BaseException as error:  # the last place that could say so
        report = progress.ended(f"{type(error).__name__}: {said(error, str)}".removesuffix(": "), error)
    faulthandler.cancel_dump_traceback_later()
    flush()
    _say(setup, report)
    leave(WROTE if terms.database is not None and terms.database.writing else 0)


def flush() -> None:
    """Hand on what was printed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the agent may have put anything there, or closed it
            stream.flush()


def refuse_too_little(memory: int | None) -> None:
    """Raises UsageError for an address space that this process has already, before its agent does anything."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:
        has = int(file.read().split()[0]) * resource.getpagesize()
        if memory is not None and memory <= has:
            raise UsageError(
                f"memory: {memory >> 20} MB are too few: the process has {has >> 20} MB of address space"
                " before the agent does anything"
            )


class Progress:
    """Leaves in a file which step was asked for last, for whoever has to say where the process died."""

    def __init__(self, file: int) -> None:
        self._file = file
        os.ftruncate(file, 0)
        self._count = 0
        self._last: tuple[int | None, Place | None] = None, None

    def __call__(self, step: RecordedStep, place: Place | None) -> None:
        self._count += 1
        self._last = step.number, place
        where = None if place is None else (place.file, place.line, place.function)
        os.pwrite(self._file, f"{json.dumps((self._count, step.number, where))}\n".encode(), 0)

    def ended(self, what: str, error: BaseException) -> Report:
        """That the replay was ended by what the agent raised."""
        place = Places(libraries()).of_error(error)
        return Report(self._count, *self._last, refused=what if place is None else f"{what} at {place}")


def _limit(setup: Setup) -> None:
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # a system that runs out of memory is to take this process, not the debugger
    if setup.memory is not None:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = setup.memory if most == resource.RLIM_INFINITY else min(setup.memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    faulthandler.dump_traceback_later(setup.timeout, exit=True, file=setup.trace)
    trace_exits(setup.trace)


def _shown(result: object) -> object:
    """What the agent returned as JSON has it."""
    if result is MISSING:
        return MISSING
    try:
        return shown(result)
    except EncodingError:
        return MISSING


def _say(setup: Setup, report: Report) -> None:
    """Leave the report, in place of what was left before."""
    encoded = encode(report_to_json(report))
    os.ftruncate(setup.report, 0)
    os.lseek(setup.report, 0, os.SEEK_SET)
    left = memoryview(json.dumps((encoded.plain, encoded.exact)).encode())
    while left:
        left = left[os.write(setup.report, left) :]
