"""The side of whoever asks for replays: a process that is kept ready, and what came of each."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from stepwell.core.rerun import Report
from stepwell.errors import NotFoundError, StepwellError, UsageError
from stepwell.rerun.child.death import Death
from stepwell.rerun.child.finding import check_name
from stepwell.rerun.child.line import Message
from stepwell.rerun.child.setup import WROTE, Setup
from stepwell.rerun.child.started import Child
from stepwell.store.connect import Target, prepare

Edits = Mapping[int, tuple[str, str | None]]
NO_EDITS: Edits = MappingProxyType({})
TIMEOUT = 30.0
"""Seconds that a replay may take, where nothing else is said."""
LIVE_SECONDS = 86_400.0
"""How long an agent may go on for real, where nothing else is said."""
GRACE = 2.0
"""Seconds beyond that in which the process is to have ended itself."""


class AgentProcess:
    """Replays one run through an agent, in a process that is kept ready between replays.

    `agent` is `package.module:callable`, found as Python finds it from `cwd`, the current folder by default. `python`
    is an interpreter or the folder of a virtual environment, this process's by default; Stepwell has to be installed
    there. Tools named in `pure` are executed again. `timeout` is in seconds, for the import of the module and for a
    replay each; `memory` in bytes of address space, without a limit by default. The process starts with the first
    replay, or `start`; it imports the module anew when one of the agent's files has changed. It has no terminal.

    Raises UsageError for an agent, an interpreter or a number that makes no sense. `cancel` and `close` are for any
    thread, as is `replay`, one at a time.
    """

    def __init__(
        self,
        target: Target,
        run_id: UUID | str,
        agent: str,
        *,
        python: str | Path | None = None,
        cwd: str | Path | None = None,
        pure: Collection[str] = (),
        timeout: float = TIMEOUT,
        memory: int | None = None,
    ) -> None:
        check_name(agent)
        if not (0 < timeout < 1e6 and math.isfinite(timeout)):
            raise UsageError("a timeout is a number of seconds above 0")
        if memory is not None and not 0 < memory < 1 << 63:
            raise UsageError("memory is a number of bytes above 0, of 63 bits at most")
        self._target, self._run, self._agent, self._pure = target, str(run_id), agent, tuple(pure)
        self._python, self._cwd = _interpreter(python), _folder(cwd)
        self._timeout, self._memory = timeout, memory
        self._one = threading.Lock()
        self._number = 0
        self._cancelled = False
        self._child: Child | None = None
        self._closed = False
        self.interrupted: Report | None = None
        """What was known by then of a replay that an interrupt has ended: the branch in which it went on."""
        self.milliseconds = 0.0
        """What the last replay took, without what had to be started or imported for it."""

    def __enter__(self) -> AgentProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Have the process begin to load, without waiting for it. Raises UsageError, DatabaseError."""
        with self._one:
            self._started()

    def replay(self, to: int | None = None, edits: Edits = NO_EDITS, *, live: int | None = None) -> Report:
        """Replay up to step `to`, or to the end, and say what came of it.

        With `live` the agent goes on for real where the recording has no answer, in a branch whose first step of then
        has this number, as `Report.leave` says it; not where it would be another.
        `edits` are what steps give in place of what was recorded: JSON, and what that has lost, as they are stored.
        A process that hangs, dies or is told to stop is a report too, `refused`. Raises UsageError where the agent
        cannot be had (no such module, or importing it fails), NotFoundError for no such run, DatabaseError.
        """
        with self._one:
            child = self._started()
            self._number += 1
            self._cancelled = False
            child.clear()
            child.line.send(
                {"do": "replay", "id": self._number, "to": to, "edits": [*edits.items()], "live": live}
            )
            try:
                return self._wait_for(child, self._number)
            except StepwellError:
                raise
            except BaseException:  # such as Ctrl-C: whatever it is, nothing is left running
                self.interrupted = child.report()
                self._drop()
                raise

    def cancel(self) -> None:
        """End the replay that is under way, if one is."""
        child, self._cancelled = self._child, True
        if child is not None:
            child.line.send({"do": "stop", "id": self._number})

    def close(self) -> None:
        """End the process and all that it has started. Nothing can be replayed afterwards."""
        self._closed = True
        self.cancel()
        with self._one:
            self._drop()

    def _started(self) -> Child:
        if self._closed:
            raise UsageError("this process has been closed")
        if self._child is not None and not self._child.alive():
            self._drop()
        if self._child is None:
            prepare(self._target)
            self._child = Child(
                self._python,
                self._cwd,
                lambda report, trace, progress: Setup(
                    _pinned(self._target.conninfo),
                    self._target.label,
                    self._run,
                    self._agent,
                    self._pure,
                    self._timeout,
                    self._memory,
                    report,
                    trace,
                    progress,
                ),
            )
        return self._child

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _wait_for(self, child: Child, number: int) -> Report:
        importing, killed = True, None
        began, limit = time.monotonic(), max(self._timeout, TIMEOUT)  # to start takes no time of the agent's
        deadline = began + limit + GRACE
        while True:
            messages = child.messages(deadline - time.monotonic())
            if messages is None:
                raise UsageError(child.why_gone())
            for message in messages:
                if message.get("id") not in (None, number):
                    continue
                if message["is"] in ("ready", "playing"):
                    importing = importing and message["is"] != "playing"
                    began, limit = time.monotonic(), self._timeout
                    deadline = began + limit + GRACE
                elif message["is"] == "cannot":
                    raise self._cannot(message)
                elif message["is"] in ("ended", "died"):
                    self.milliseconds = (time.monotonic() - began) * 1000
                    return self._report(child, message, importing, killed)
            if time.monotonic() < deadline:
                continue
            if killed is not None:
                self._drop()
                return Report(0, refused=f"{killed}, and does not end")
            killed = f"hangs, after {limit:g} s"
            deadline = time.monotonic() + GRACE
            child.line.send({"do": "stop", "id": number})

    def _cannot(self, message: Message) -> UsageError | NotFoundError:
        if message.get("id") is None:  # it could not even load the recording
            self._drop()
        return (NotFoundError if message.get("status") == 1 else UsageError)(message["why"])

    def _report(self, child: Child, message: Message, importing: bool, killed: str | None) -> Report:
        status, report = message.get("status"), child.report()
        if report is None or status is None or os.waitstatus_to_exitcode(status) not in (0, WROTE):
            why = message.get("why") or self._why(child, status, importing, killed)
            if report is None:
                last, place, served = child.progress()
                if not importing:
                    why += f" ({'before its first step' if last is None else f'last step: {last}'})"
                report = Report(served, last, place, refused=why)
            elif report.branch is not None:
                report = replace(report, refused=why)
            else:  # it did not end when it was told to
                report = replace(report, notes=(*report.notes, f"the agent went on nevertheless: it {why}"))
        return replace(report, output=child.output.take())

    def _why(self, child: Child, status: int | None, importing: bool, killed: str | None) -> str:
        killed = "cancelled" if self._cancelled else killed
        return Death(status, child.trace(), self._timeout, importing, killed).words(child.places)


def _pinned(conninfo: str) -> str:
    """The conninfo with what the environment adds to it here; where it replays, the agent may change that."""
    said = {
        option.keyword.decode(): os.environ.get(option.envvar.decode())
        for option in Conninfo.get_defaults()
        if option.envvar is not None
    }
    environment = {name: value for name, value in said.items() if value}
    found: dict[str, Any] = {**environment, **conninfo_to_dict(conninfo)}
    # What a service file says goes before the environment, and only libpq reads that.
    return conninfo if "service" in found else make_conninfo(**found)


def _folder(given: str | Path | None) -> str:
    """Where it is to run. Raises UsageError where that is the current folder, and is gone."""
    try:
        return os.getcwd() if given is None else str(given)
    except FileNotFoundError:
        raise UsageError("the current folder is gone, and agents are found from it; go to another") from None


def _interpreter(given: str | Path | None) -> str:
    """The interpreter that is named, itself or by its virtual environment. Raises UsageError."""
    if given is None:
        return sys.executable
    path = os.path.abspath(os.path.expanduser(given))
    if os.path.isdir(path):
        path = os.path.join(path, "bin", "python")
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise UsageError(f"{given} is neither a Python interpreter nor the folder of a virtual environment")
    return path
