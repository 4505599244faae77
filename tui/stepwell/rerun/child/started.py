"""The process that replays, as whoever has started it sees it."""

from __future__ import annotations

import json
import os
import selectors
import shlex
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from stepwell.core.codec import decode, parse
from stepwell.core.rerun import Place, Report, report_from_json
from stepwell.errors import UsageError
from stepwell.rerun.child.death import signal_name
from stepwell.rerun.child.line import Line, Message
from stepwell.rerun.child.output import Output
from stepwell.rerun.child.setup import Setup
from stepwell.rerun.places import Places

MODULE = "stepwell.rerun.child"
LAST_WORDS = 5.0
"""Seconds in which it is to end once it is told to."""


class Child:
    """Not for several threads at once, but for `line.send`.

    `python` is run in the folder `cwd`. `setup` makes what it is told, of three descriptors. Raises UsageError where
    it cannot be run.
    """

    def __init__(self, python: str, cwd: str, setup: Callable[[int, int, int], Setup]) -> None:
        self.places = Places(())
        self._python = python
        self._playing: int | None = None
        """The process group that replays."""
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(3)]
            self._report, self._trace, self._progress = (os.dup(file.fileno()) for file in files)
        here, there = socket.socketpair()
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                [python, "-m", MODULE, str(there.fileno())],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                pass_fds=(there.fileno(), self._report, self._trace, self._progress),
                start_new_session=True,
            )
        except OSError as problem:
            here.close()
            os.close(reading)
            self._close_files()
            raise UsageError(f"{python} cannot be run in {cwd}: {problem.strerror}") from problem
        finally:
            there.close()
            os.close(writing)
        self.line, self.output = Line(here), Output(reading)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.line, selectors.EVENT_READ)
        self._selector.register(self.output, selectors.EVENT_READ)
        self.line.send(setup(self._report, self._trace, self._progress).to_json())

    def alive(self) -> bool:
        """Whether it can be asked for anything."""
        return self._process.poll() is None

    def clear(self) -> None:
        """Forget what came of the replay before."""
        self.output.read()
        self.output.take()
        for file in (self._report, self._trace, self._progress):
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)  # for the other side too, which writes on where the last has ended

    def messages(self, seconds: float) -> list[Message] | None:
        """What it says within this time, which may be nothing; None once it has gone."""
        found: list[Message] = []
        for key, _ in self._selector.select(max(0.0, seconds)):
            if key.fileobj is self.output:
                if not self.output.read():
                    self._selector.unregister(self.output)
                continue
            arrived = self.line.arrived()
            if arrived is None:
                return None
            found += arrived
        for message in found:
            if message["is"] == "here":
                self.places = Places(message["libraries"], message["folder"])
            elif message["is"] in ("playing", "ended", "died"):
                self._playing = message.get("process")
        self.output.read()
        return found

    def report(self) -> Report | None:
        """What came of the replay, None where it has not come to say that."""
        text = _content(self._report)
        try:
            plain, exact = json.loads(text)
        except ValueError:  # it was ended while it said that, or before
            return None
        made: Any = decode(parse(plain), None if exact is None else parse(exact))
        return report_from_json(made)

    def trace(self) -> str:
        """What `faulthandler` wrote."""
        return _content(self._trace).decode(errors="replace")

    def progress(self) -> tuple[int | None, Place | None, int]:
        """The step that was asked for last, where, and how many were."""
        text = _content(self._progress).partition(b"\n")[0]
        if not text:
            return None, None, 0
        count, number, place = json.loads(text)
        return number, None if place is None else Place(*place), count

    def why_gone(self) -> str:
        """In one line, of a process that has ended by itself."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS)
        if (status := self._process.returncode or 0) < 0:
            return f"the process that is kept ready for replays was ended by {signal_name(-status)}"
        self.output.read()
        said = self.output.take().strip().splitlines()
        last = said[-1] if said else f"exit status {self._process.returncode}"
        if f"No module named {MODULE}" in last or "No module named stepwell." in last:
            return f"{self._python} has a Stepwell that is too old to replay; {self._remedy()}"
        if "No module named" in last and "stepwell" in last:
            return f"{self._python} has no Stepwell; {self._remedy()}"
        return f"{self._python} cannot replay: {last}"

    def _remedy(self) -> str:
        return f"install this one there: {shlex.quote(self._python)} -m pip install {shlex.quote(_origin())}"

    def close(self) -> None:
        """End it, and all that it has started."""
        self.line.close()
        self._selector.close()
        try:
            self._process.wait(LAST_WORDS)
        except subprocess.TimeoutExpired:
            for group in (self._playing, self._process.pid):
                if group is not None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(group, signal.SIGKILL)
            self._process.wait()
        self.output.close()
        self._close_files()

    def _close_files(self) -> None:
        for file in (self._report, self._trace, self._progress):
            os.close(file)


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _origin() -> str:
    """Where the Stepwell that runs here was installed from, as pip takes it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution("stepwell")
    except PackageNotFoundError:  # it is used as it stands in its checkout
        return str(Path(__file__).parents[4])
    text = found.read_text("direct_url.json")
    if text is None:  # it came from an index
        return f"stepwell=={found.version}"
    made = json.loads(text)
    if "vcs_info" in made:
        return f"{made['vcs_info']['vcs']}+{made['url']}@{made['vcs_info']['commit_id']}"
    url = urlsplit(made["url"])
    return unquote(url.path) if url.scheme == "file" else str(made["url"])
