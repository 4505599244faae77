"""The process that has the recording, and none of the user's code: it starts the one that has, and outlives it."""

from __future__ import annotations

import gc
import os
import select
import selectors
import signal
import socket
from contextlib import suppress
from importlib.metadata import version
from time import monotonic

from stepwell.core.identity import Identities
from stepwell.errors import StepwellError
from stepwell.replay.recorded import load
from stepwell.rerun.child.line import Line, Message
from stepwell.rerun.child.module import Agency, serve
from stepwell.rerun.child.setup import PROTOCOL, Setup
from stepwell.rerun.database import Database
from stepwell.rerun.places import libraries

LAST_WORDS = 2.0
"""Seconds in which a process that was killed is to be gone."""
ENDS = ("ended", "cannot", "died")
"""Messages after which nothing more comes of what was asked."""


def keep(line: Line) -> int:
    """Serve whoever is at the other end until it is gone; the exit status."""
    told = line.receive()
    if told is None:
        return 0
    line.send({"is": "here", "libraries": libraries(), "folder": os.getcwd()})
    if told.get("protocol") != PROTOCOL:
        line.send({"is": "cannot", "why": f"Stepwell {version('stepwell')} there is not the one here"})
        return 1
    setup = Setup.from_json(told)
    try:
        recorded = load(setup.target, setup.run)
    except StepwellError as problem:
        line.send({"is": "cannot", "why": str(problem), "status": problem.exit_status})
        return 1
    agency = Agency(setup, recorded, Identities(recorded), Database(setup.target))
    gc.enable()
    gc.freeze()  # so that the pages of what is loaded stay shared with those who are forked
    Keeper(line, agency).run()
    return 0


class Keeper:
    """Passes on what is asked for, and knows what to kill."""

    def __init__(self, line: Line, agency: Agency) -> None:
        self._line, self._agency = line, agency
        self._module: int | None = None
        """The process that has the agent's module."""
        self._module_line: Line | None = None
        self._ready = False
        self._playing: int | None = None
        """The process group that replays."""
        self._asked: Message | None = None
        """What is to be done next, or is being done."""
        self._leaving = False
        """Whether that process has said that it ends, and another is to do what is asked for."""
        self._stopped = False
        """Whether that is not to be done any more."""
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)

    def run(self) -> None:
        """Until the other end is gone."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._line, selectors.EVENT_READ, self._told)
        self._selector.register(self._woken, selectors.EVENT_READ, self._reap)
        self._start()
        try:
            for message in self._line.pending():
                self._tell(message)
            while all(key.data() for key, _ in self._selector.select()):
                pass
        finally:
            self._end()

    def _told(self) -> bool:
        """Whether whoever asks is still there."""
        messages = self._line.arrived()
        for message in messages or ():
            self._tell(message)
        return messages is not None

    def _tell(self, message: Message) -> None:
        if message["do"] == "replay":
            self._asked, self._stopped = message, False
            if self._module is None:
                self._start()
            self._pass_on()
        elif self._asked is not None and self._asked["id"] == message["id"]:
            self._stopped = True
            self._kill()

    def _start(self) -> None:
        here, there = socket.socketpair()
        try:
            process = os.fork()
        except OSError as problem:
            self._say({"is": "ended", "why": f"no process can be started: {problem.strerror}"})
            return
        if process == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (here, self._woken, self._waker):
                end.close()
            self._selector.close()
            self._line.close()
            serve(Line(there), self._agency)
        there.close()
        with suppress(OSError):  # it may have done so itself, and be gone
            os.setpgid(process, process)
        self._module, self._module_line = process, (line := Line(here))
        self._ready = self._leaving = False
        # Of the line that had news: the module may be another by the time that it is looked at.
        self._selector.register(
            line, selectors.EVENT_READ, lambda: line is not self._module_line or self._heard()
        )

    def _pass_on(self) -> None:
        if self._ready and self._asked is not None and self._module_line is not None:
            self._ready = False
            self._module_line.send(self._asked)

    def _say(self, message: Message) -> None:
        """Tell whoever asks, if it does, and how it ends."""
        if self._asked is None:
            return
        self._line.send({**message, "id": self._asked["id"]})
        if message["is"] in ENDS:
            self._asked = None

    def _heard(self) -> bool:
        """Goes on in any case: that the process is gone shows elsewhere."""
        if self._module_line is not None:
            messages = self._module_line.arrived()
            if messages is None:
                self._hang_up()
            for message in messages or ():
                self._hear(message)
        return True

    def _hear(self, message: Message) -> None:
        what = message["is"]
        self._leaving = what in ("stale", "cannot")
        if what == "playing" and self._module_line is not None:
            self._playing = message["process"]
            if self._stopped:  # while it was begun again
                self._kill()
            self._module_line.send({"do": "go"})
        elif what in ("ready", "ended"):
            self._playing, self._ready = None, True
        self._say(message)
        self._pass_on()

    def _hang_up(self) -> None:
        if self._module_line is not None:
            self._selector.unregister(self._module_line)
            self._module_line.close()
            self._module_line = None

    def _reap(self) -> bool:
        """Goes on in any case, as a child may have been stopped only."""
        with suppress(BlockingIOError):
            self._woken.recv(4096)
        if self._module is None:
            return True
        process, status = os.waitpid(self._module, os.WNOHANG)
        if process == 0:
            return True
        while self._module_line is not None:  # its last words
            self._heard()
        played = self._playing == self._module
        self._kill(self._module)  # what it may have left behind
        self._agency.learn(status)
        self._module = self._playing = None
        if self._leaving:
            if self._asked is not None:
                self._start()
        else:
            self._say({"is": "ended" if played else "died", "status": status})
        return True

    def _kill(self, *groups: int) -> None:
        """These, and what replays; where nothing does, what imports."""
        for group in {*groups, self._playing or self._module}:
            if group is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)

    def _end(self) -> None:
        """Leave nothing behind: first what replays, which the process with the module then reaps, then that."""
        if self._module is None:
            return
        if self._playing not in (None, self._module):
            self._kill()
            deadline = monotonic() + LAST_WORDS
            while self._playing is not None and self._module_line is not None and monotonic() < deadline:
                if select.select([self._module_line], [], [], LAST_WORDS)[0]:
                    self._heard()
        self._kill(self._module)
        os.waitpid(self._module, 0)
