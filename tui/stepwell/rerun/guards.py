"""What keeps code that forgot to use `run` from doing harm while a replay lasts, and names it.

No socket of Python's reaches out and no process is started: either raises `Forbidden`, an OSError, as where there is no
network, so that what can do without goes on. A connection that libpq opens is read-only. Files are written as ever, and
what a library does beside Python, with sockets of its own or through `ctypes`, is not seen.
"""

from __future__ import annotations

import _posixsubprocess
import contextlib
import errno
import ipaddress
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg._connection_base import BaseConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stepwell.rerun.places import OWN, Places, callers, libraries
from stepwell.store.connect import GUARD

NETWORK = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"}
LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
PROCESSES = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}
FORKS = {"os.fork", "os.forkpty"}
_EVENTS = NETWORK | LOOK_UPS | PROCESSES | FORKS
_CONNECTION = "opened a connection of its own, which is read-only"
_OPENS = "_connect_gen"
"""The one method of psycopg's by which each connection is made, whoever asks for it."""
_RERUN = os.path.join(OWN, "rerun", "")
_BETWEEN = (OWN, os.path.join(os.path.dirname(psycopg.__file__), ""), contextlib.__file__)
"""Where the code is that may stand between what replays and what it asks the system for."""

Note = Callable[[str], object]


class Forbidden(PermissionError):  # noqa: N818 it says what a replay has to say, and is no bug
    """A replay does not do that."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EACCES, what)


class Hook:
    """An audit hook. Python never takes one out again, so it looks at nothing unless somebody has armed it."""

    def __init__(self) -> None:
        self._added = False
        self.lifted = False
        """Whether it lets everything pass until somebody arms it anew."""
        self.options: str | None = None
        """What PGOPTIONS was before anybody armed it."""
        self._notes: list[Note] = []
        self._hosts: list[str] = []
        self._places = Places(())
        self._here = threading.local()

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._notes or self.lifted or event not in _EVENTS or getattr(self._here, "busy", False):
            return
        if event in NETWORK:
            if _is_of_replay():  # which looks whether its embedded server is there
                return
            self._refuse(f"reached out to {_address(args[-1])}", "opens no connection")
        elif event in LOOK_UPS:
            if _is_name(args[0]) and args[0] not in self._hosts:
                self._refuse(f"looked up {_address(args[0])}", "asks no network")
        elif event in PROCESSES:
            self._refuse(f"started {_command(args)}", "starts no process")
        elif not _is_of_replay():
            self.note("forked a process, in which nothing is seen")

    def note(self, what: str) -> None:
        """Say what the code that is running does, and where."""
        place = self._places.of_caller()
        self._notes[-1](what if place is None else f"{place.file}:{place.line} {what}")

    def opening(self, conninfo: str) -> str:
        """A conninfo of psycopg's, as it is to be used: read-only, unless it is the replay's own."""
        if self.lifted:
            return conninfo
        usual = os.environ.get("PGOPTIONS", "").replace(GUARD, "")
        options = str(conninfo_to_dict(conninfo).get("options") or usual).strip()
        if _is_of_replay():
            return make_conninfo(conninfo, options=options)
        self.note(_CONNECTION)
        return make_conninfo(conninfo, options=f"{options} {GUARD}".strip())

    @contextmanager
    def armed(self, note: Note, hosts: Collection[str]) -> Iterator[None]:
        if not self._added:
            self._added = True
            self._places = Places(libraries())
            sys.addaudithook(self)
        count = len(self._hosts)
        if not self._notes:
            self.lifted = False
            self.options = os.environ.get("PGOPTIONS")
        self._notes.append(note)
        self._hosts.extend(hosts)
        try:
            yield
        finally:
            self._notes.remove(note)
            del self._hosts[count:]

    def _refuse(self, what: str, why: str) -> None:
        self._here.busy = True
        try:
            self.note(f"{what}: refused")
        finally:
            self._here.busy = False
        raise Forbidden(f"a replay {why}: it {what}")


_HOOK = Hook()


@contextmanager
def armed(note: Note, hosts: Collection[str] = ()) -> Iterator[None]:
    """As long as this lasts the process is guarded, all its threads; `note` is told what was refused, and where.

    `hosts` may be looked up: those of the replay's own database. Of one inside the other the inner one's `note` is
    told.
    """
    with _HOOK.armed(note, hosts), _read_only(), _told_of_starts():
        yield


def lift() -> None:
    """Let everything pass from now on, for an agent that goes on for real; until somebody arms it anew."""
    _HOOK.lifted = True
    _set_options(_HOOK.options)


def is_about_connection(note: str) -> bool:
    """Whether a note says that a connection was opened."""
    return _CONNECTION in note


@contextmanager
def _read_only() -> Iterator[None]:
    before = os.environ.get("PGOPTIONS")
    original = vars(BaseConnection)[_OPENS]

    def open_guarded(cls: Any, /, conninfo: str = "", **options: Any) -> Any:
        return original.__func__(cls, _HOOK.opening(conninfo), **options)

    if before is None or GUARD not in before:
        setattr(BaseConnection, _OPENS, classmethod(open_guarded))
        os.environ["PGOPTIONS"] = f"{before or ''} {GUARD}".strip()
    try:
        yield
    finally:
        setattr(BaseConnection, _OPENS, original)
        _set_options(before)


@contextmanager
def _told_of_starts() -> Iterator[None]:
    """As long as this lasts, `multiprocessing` too says that it starts a process, before it does."""
    start = _posixsubprocess.fork_exec

    def told(words: Any, *rest: Any) -> int:
        sys.audit("subprocess.Popen", words[0], words, None, None)
        return start(words, *rest)

    vars(_posixsubprocess)["fork_exec"] = told
    try:
        yield
    finally:
        vars(_posixsubprocess)["fork_exec"] = start


def _set_options(options: str | None) -> None:
    if options is None:
        os.environ.pop("PGOPTIONS", None)
    else:
        os.environ["PGOPTIONS"] = options


def _is_of_replay() -> bool:
    """Whether what is under way was asked for by what replays, rather than by the agent."""
    for frame in callers():
        file = frame.f_code.co_filename
        if file.startswith(_RERUN) and file != __file__:
            return True
        if not file.startswith(_BETWEEN):
            return False
    return False


def _is_name(host: object) -> bool:
    if isinstance(host, tuple):  # of getnameinfo
        host = host[0]
    if not host:
        return False
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host).partition("%")[0])
    except ValueError:
        return True
    return False


def _address(address: object) -> str:
    if isinstance(address, tuple) and len(address) > 1:
        return f"{address[0]}:{address[1]}"
    return address.decode(errors="replace") if isinstance(address, bytes) else str(address)


def _command(args: tuple[Any, ...]) -> str:
    """What was to be started, as far as its first line goes."""
    words = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) and args[1] else args[:1]
    text = " ".join(word.decode(errors="replace") if isinstance(word, bytes) else str(word) for word in words)
    return " ".join(text.split())[:80]
