"""JSON objects, one a line, over a socket."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from typing import Any

Message = dict[str, Any]


class Line:
    """One end. Sending is for any thread, receiving for one."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._read = b""
        self._sending = threading.Lock()

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, message: Message) -> bool:
        """Whether the other end is still there to take it."""
        text = json.dumps(message).encode() + b"\n"
        with self._sending, contextlib.suppress(OSError):
            self._end.sendall(text)
            return True
        return False

    def receive(self) -> Message | None:
        """Wait for the next message; None once the other end is gone."""
        while b"\n" not in self._read:
            if not self._fill():
                return None
        return self._next()

    def arrived(self) -> list[Message] | None:
        """What one read gives, which may be no whole message; None once the other end is gone, or without news."""
        return self.pending() if self._fill(socket.MSG_DONTWAIT) else None

    def pending(self) -> list[Message]:
        """What has been read already."""
        found = []
        while b"\n" in self._read:
            found.append(self._next())
        return found

    def has_news(self) -> bool:
        """Whether there is something to receive."""
        return bool(self._read or select.select([self._end], [], [], 0)[0])

    def close(self) -> None:
        self._end.close()

    def _fill(self, flags: int = 0) -> bool:
        try:
            data = self._end.recv(65536, flags)
        except OSError:
            return False
        self._read += data
        return bool(data)

    def _next(self) -> Message:
        text, _, self._read = self._read.partition(b"\n")
        message: Message = json.loads(text)
        return message
