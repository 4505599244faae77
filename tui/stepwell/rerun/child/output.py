"""What a process prints, as far as it is kept."""

from __future__ import annotations

import os

from stepwell.rerun.child.setup import MARK

MOST = 1_000_000
"""Bytes of one replay that are kept."""
NOT_KEPT = "bytes more were printed, and are not kept)\n"
"""How the text ends where there were more."""


class Output:
    """Reads from a descriptor that is not waited for."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._kept: list[bytes] = []
        self._count = 0
        self._end = b""
        """Of what was read, as much as may be the beginning of a mark."""
        os.set_blocking(file, False)

    def fileno(self) -> int:
        return self._file

    def read(self) -> bool:
        """Take what is there; whether more may come."""
        while True:
            try:
                data = os.read(self._file, 65536)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        _, mark, after = (self._end + data).rpartition(MARK)
        if mark:
            self._kept, self._count, data = [], 0, after
        self._end = (after if mark else self._end + data)[1 - len(MARK) :]
        if self._count < MOST:
            self._kept.append(data[: MOST - self._count])
        self._count += len(data)

    def take(self) -> str:
        """The text since it was taken last. Its end says where the rest was left out."""
        text = b"".join(self._kept).decode(errors="replace")
        more = self._count - MOST
        self._kept, self._count = [], 0
        return text if more <= 0 else f"{text}\n({more:,} {NOT_KEPT}"

    def close(self) -> None:
        os.close(self._file)
