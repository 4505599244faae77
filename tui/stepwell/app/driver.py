"""Textual's driver, where it expects too much of what is at the other end of the line."""

import os
import selectors
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterator

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

TICK_SECONDS = 0.1
"""How often it is looked whether an ESC was a key of its own, and whether to go on reading."""
MOST_BYTES = 4096
"""Read at a time."""


class Keys:
    """From bytes to what Textual makes of keys, whatever bytes there are.

    Those that are no UTF-8 (a terminal with another idea of letters, line noise) become U+FFFD.
    """

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._parser = XTermParser()

    def feed(self, data: bytes) -> Iterator[Message]:
        """What has been pressed or pasted with these bytes, and what has waited for its time to be over."""
        text = self._decode(data)
        try:
            if text:
                yield from self._parser.feed(text)
            yield from self._parser.tick()
        except (ValueError, ArithmeticError, LookupError):
            # A number that is no character or no size. What came with it is lost; the next key is a key again.
            self._parser = XTermParser()


class TerminalDriver(LinuxDriver):
    """Lives through bytes of any kind, through SIGCONT at any time, and hears of the end of the terminal."""

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again after Ctrl-Z, and anew after a SIGSTOP, which gave no time to hand it over.

        To take it twice without handing it over would read keys twice, and remember the settings that it has
        now as those to go back to.
        """
        if not self._auto_restart:
            return
        if self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()
            self._must_signal_resume = True
        if self._must_signal_resume:
            self.resume_application_mode()

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
                        os.kill(os.getpid(), signal.SIGHUP)
                        return
                for message in keys.feed(data):
                    self.process_message(message)

    def _read(self) -> bytes:
        """What was typed; nothing where there is no terminal any more."""
        try:
            return os.read(self.fileno, MOST_BYTES)
        except OSError:
            return b""
