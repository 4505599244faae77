"""Textual's driver, where it expects too much of what is at the other end of the line."""

import asyncio
import contextlib
import os
import selectors
import signal
import termios
import threading
from codecs import getincrementaldecoder
from collections.abc import Iterator

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

TICK_SECONDS = 0.1
"""How often it is looked whether an ESC was a key of its own, and whether to go on reading."""
MOST_BYTES = 4096
"""Read at a time."""
END_SECONDS = 10.0
"""How long the app may take to hear that its terminal is gone."""


class Keys:
    """From bytes to what Textual makes of keys, whatever bytes there are.

    Those that are no UTF-8 (a terminal with another idea of letters, line noise) become U+FFFD.
    """

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._parser = XTermParser()

    def feed(self, data: bytes) -> Iterator[Message]:
        """What has been pressed or pasted with these bytes, and what has waited for its time to be over."""
        # Alt-Enter, which would be taken for Enter alone, is a new line as Ctrl-J is.
        text = self._decode(data).replace("\x1b\r", "\n")
        try:
            if text:
                yield from self._parser.feed(text)
            yield from self._parser.tick()
        except (ValueError, ArithmeticError, LookupError):
            # A number that is no character or no size. What came with it is lost; the next key is a key again.
            self._parser = XTermParser()


class TerminalDriver(LinuxDriver):
    """Lives through bytes of any kind, through SIGCONT at any time, and hears of the end of the terminal."""

    _keeps_the_terminal = False
    """Whether reading stops only to begin again."""

    def _sigcont_application(self, *_: object) -> None:
        """Have the event loop take the terminal again: the signal may have come in the middle of a write to it."""
        with contextlib.suppress(RuntimeError):  # no loop is running: the app is over
            asyncio.get_running_loop().call_soon_threadsafe(self._take_again)

    def _take_again(self) -> None:
        """Take the terminal again after Ctrl-Z, and anew after a SIGSTOP, which gave no time to hand it over.

        To take it twice without handing it over would read keys twice, and remember the settings that it has
        now as those to go back to. A hang-up brings a SIGCONT too; what is gone takes no writes, and would
        have the loop wait for that.
        """
        if not self._auto_restart or not self._is_there():
            return
        if self._key_thread is not None and self._key_thread.is_alive():
            self._keeps_the_terminal = True
            try:
                self.suspend_application_mode()
            finally:
                self._keeps_the_terminal = False
            self._must_signal_resume = True
        if self._must_signal_resume:
            self.resume_application_mode()

    def disable_input(self) -> None:
        """Stop reading. What was typed and not read is for this app or, where that leaves, for nobody."""
        if self._keeps_the_terminal and self._key_thread is not None:
            self.exit_event.set()
            self._key_thread.join()
            self.exit_event.clear()
        else:
            super().disable_input()

    def _is_there(self) -> bool:
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            return False
        return True

    def run_input_thread(self) -> None:
        """Read until the app wants no more. The end of the terminal ends the app as a hang-up does."""
        keys = Keys()
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                data = b""
                if selector.select(TICK_SECONDS):
                    data = self._read()
                    if not data:
                        _end_anyway()
                        os.kill(os.getpid(), signal.SIGHUP)
                        return
                for message in keys.feed(data):
                    self.process_message(message)

    def send_message(self, message: Message) -> None:
        """Hand a message to the app, from the thread that reads, without a task of its own for it."""
        self._app.post_message(message)

    def _read(self) -> bytes:
        """What was typed; nothing where there is no terminal any more."""
        try:
            return os.read(self.fileno, MOST_BYTES)
        except OSError:
            return b""


def _end_anyway() -> None:
    """An event loop that is stuck, as in a write that nobody takes, does not hear of the hang-up."""
    end = threading.Timer(END_SECONDS, os._exit, [128 + signal.SIGHUP])
    end.daemon = True
    end.start()
