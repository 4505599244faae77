"""A value in the user's own pager, while the app stands aside."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from textual.app import App, SuspendNotSupported

from stepwell.app.present import clean

DEFAULT = "less"
FOREVER = 1e9
"""Seconds. Waiting with a limit wakes every 50 ms; without one, a signal that another thread gets is never seen."""


def page(app: App[Any], lines: Iterable[str], env: Mapping[str, str]) -> str:
    """Show lines in `$PAGER` and come back when it ends; words for the status line, or an empty text.

    The lines are cleaned here whatever they are, and written as the pager asks for them. Never raises.
    """
    command = pager_command(env)
    if isinstance(command, str):
        return command
    try:
        with app.suspend():
            return pipe(command, lines, env)
    except SuspendNotSupported:
        return "no pager here: this terminal cannot be handed over"


def pager_command(env: Mapping[str, str]) -> list[str] | str:
    """The words of the command to run, or what is wrong with it in one line."""
    wanted = env.get("PAGER", "").strip() or DEFAULT
    try:
        command = shlex.split(wanted)
    except ValueError as problem:
        return f"PAGER cannot be read: {problem}"
    if not command or shutil.which(command[0], path=env.get("PATH")) is None:
        return f"no pager {clean(command[0] if command else wanted)}: set PAGER, or install less"
    if os.path.basename(command[0]) == "less":
        # With -F, as many have it for git, less ends at once where the text is short.
        command.insert(1, "-+F")
    return command


def pipe(command: list[str], lines: Iterable[str], env: Mapping[str, str]) -> str:
    """Run a pager on lines. It may end before it has read them all."""
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    with _deaf_to_interrupts(), _HangUps() as hang_ups:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, env=dict(env))
        except OSError as problem:
            return f"cannot run {clean(command[0])}: {problem.strerror}"
        hang_ups.pass_on_to(process)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            for line in lines:
                process.stdin.write(clean(line).encode(encoding, "backslashreplace") + b"\n")
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        status = process.wait(FOREVER)
    return f"{clean(command[0])} ended with status {status}" if status > 0 else ""


@contextlib.contextmanager
def attended() -> Iterator[Callable[["subprocess.Popen[bytes]"], int]]:
    """While a program has the terminal; yields what waits for its end and returns its status."""
    with _deaf_to_interrupts(), _HangUps() as hang_ups:

        def wait(process: "subprocess.Popen[bytes]") -> int:
            hang_ups.pass_on_to(process)
            return process.wait(FOREVER)

        yield wait


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C in a pager goes to the whole process group; only the pager is meant.

    A handler and not SIG_IGN, which the pager would inherit.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _HangUps:
    """What ends the app ends its pager: the app hears of it all the same, but waits for the pager.

    Handlers are in place before the pager is, which may be the moment at which the connection breaks.
    """

    def __init__(self) -> None:
        self._early: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    def pass_on_to(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def _take(self, number: int, _: object) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._take) for number in (signal.SIGHUP, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
